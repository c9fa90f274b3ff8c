"""Texts and vocabularies: shared corpora, texts derived from them, and generated texts that are hostile to encoders.

Documents, text files and trained vocabularies are cached in a temporary folder.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import random
import re
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from slmtok.bench.source import Source, ends_path, load_documents, save_documents, write_source

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = Path(__file__).with_name("definitions") / "left_out.yaml"
SHARED = ("books", "docs_en", "multi", "code")
DERIVED = ("cjk", "sentences", "stories")
_CJK = re.compile(
    r"[\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3100-\u318f\u31f0-\u31ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]"
)
_SENTENCE = re.compile(r"(?<=[.!?] )[A-Z][^.!?\n]{40,}[.!?](?= )")
SENTENCE_BYTES, SENTENCE_TOLERANCE = 60, 2


class MissingCorpusError(Exception):
    """The shared data is missing."""


def _cjk_run(size: int) -> bytes:
    """Chinese without spaces; frequencies fall as 1 / rank, so that pairs repeat."""
    source = random.Random(0)
    characters = [chr(0x4E00 + index) for index in range(3000)]
    weights = [1 / (rank + 10) for rank in range(len(characters))]
    return "".join(source.choices(characters, weights, k=size // 3)).encode()


HOSTILE: dict[str, Callable[[int], bytes]] = {
    "letter": lambda size: b"a" * size,
    "spaces": lambda size: b" " * size,
    "caret": lambda size: b"^" * size,
    "digits": lambda size: bytes(random.Random(0).choices(b"0123456789", k=size)),
    "random-bytes": lambda size: random.Random(0).randbytes(size),
    "base64": lambda size: base64.encodebytes(random.Random(0).randbytes(size))[:size],
    "cjk-run": _cjk_run,
}
"""Name -> function from size in bytes to a text on which encoders with quadratic cases take minutes."""


def is_corpus(corpus: str) -> bool:
    """Whether a corpus has this name; hostile texts that are UTF-8 are corpora too."""
    return corpus in (*SHARED, *DERIVED, *HOSTILE) and corpus != "random-bytes"


def shared() -> Path:
    """The folder with `data/corpora` and `data/tiktoken-cache`: SLMTOK_SHARED, by default beside the project."""
    return Path(os.environ.get("SLMTOK_SHARED") or ROOT.parent / "shared").resolve()


def ranks(encoding: str) -> Path:
    """The rank file of a public encoding. Sets TIKTOKEN_CACHE_DIR to the shared folder if it is unset."""
    from slmtok.formats.tiktoken import find_ranks

    os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(shared() / "data" / "tiktoken-cache"))
    return find_ranks(encoding)


def documents(corpus: str, *, piece: int = 0, limit: int = 0) -> list[str]:
    """The documents of a corpus, without those of `left_out`.

    piece: characters of each document that a longer one is cut into, so that small inputs cover a large text.
    limit: characters of all documents.
    """
    path = _cache_folder() / f"{corpus}-{limit}.documents"
    if not path.is_file():
        whole = _build(corpus, limit)
        partial = path.with_name(f"{path.name}.{os.getpid()}")
        save_documents(partial, _truncate(whole, limit) if limit else whole)
        ends_path(partial).replace(ends_path(path))
        partial.replace(path)
    whole = load_documents(path)
    if not piece:
        return whole
    return [text[start : start + piece] for text in whole for start in range(0, len(text), piece)]


def text_file(corpus: str, *, limit: int = 0) -> Path:
    """All documents as one text file, separated by line feeds; cached."""
    path = _cache_folder() / f"{corpus}-{limit}.txt"
    if not path.is_file():
        partial = path.with_name(f"{path.name}.{os.getpid()}")
        partial.write_bytes("\n".join(documents(corpus, limit=limit)).encode())
        partial.replace(path)
    return path


def vocabulary(encoding: str, corpus: str, *, limit: int = 0, vocab: int = 0, pattern: str = "") -> Source:
    """A public encoding, or for "own" a vocabulary trained on the corpus, in all formats that peers load; cached."""
    import slmtok

    name = f"own-{corpus}-{limit}-{vocab}-{pattern}" if encoding == "own" else encoding
    folder = _cache_folder() / name
    if not (folder / "source.json").is_file():
        folder.mkdir(exist_ok=True)
        if encoding == "own":
            file = str(text_file(corpus, limit=limit))
            source = write_source(slmtok.train(file, vocab_size=vocab, pattern=pattern, allow_smaller=True), folder)
        else:
            ranks(encoding)
            source = write_source(slmtok.from_tiktoken(encoding), folder, name=encoding)
        (folder / "source.json").write_text(json.dumps(source.to_dict()), encoding="utf-8")
    return Source(**json.loads((folder / "source.json").read_text(encoding="utf-8")))


@cache
def left_out(corpus: str) -> frozenset[int]:
    """Numbers of the documents that a peer's newer Unicode tables split otherwise; no engine gets them."""
    import yaml

    content = yaml.safe_load(LEFT_OUT.read_text(encoding="utf-8")) or {}
    return frozenset(content.get(corpus, ()))


def records(corpus: str) -> list[str]:
    """All documents of a shared corpus."""
    import zstandard

    path = shared() / "data" / "corpora" / f"{corpus}.jsonl.zst"
    if not path.is_file():
        raise MissingCorpusError(f"{path} does not exist; set SLMTOK_SHARED to the folder with the shared data")
    with path.open("rb") as file:
        lines = zstandard.ZstdDecompressor().stream_reader(file).read().split(b"\n")
    return [json.loads(line)["text"] for line in lines if line]


def _build(corpus: str, limit: int) -> list[str]:
    if corpus == "stories":
        return _stories(limit or 5_000_000)
    if corpus == "cjk":
        return [text for text in documents("multi") if 2 * len(_CJK.findall(text)) >= len(text) > 0]
    if corpus == "sentences":
        matches = (match for text in documents("books") for match in _SENTENCE.findall(text))
        return [sentence for sentence in matches if abs(len(sentence.encode()) - SENTENCE_BYTES) <= SENTENCE_TOLERANCE]
    if corpus in HOSTILE:
        return [HOSTILE[corpus](limit or 1_000_000).decode()]
    excluded = left_out(corpus)
    return [text for number, text in enumerate(records(corpus)) if number not in excluded]


def _cache_folder() -> Path:
    # The excluded documents are part of the name, so that a change of them invalidates the cache.
    stamp = hashlib.sha256(LEFT_OUT.read_bytes()).hexdigest()[:8]
    folder = Path(tempfile.gettempdir()) / f"slmtok-benchmarks-{os.getuid()}" / stamp
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _stories(limit: int) -> list[str]:
    from slmtok.stories import stories

    found: list[str] = []
    size = 0
    for story in stories():
        found.append(story)
        size += len(story)
        if size >= limit:
            break
    return found


def _truncate(whole: list[str], limit: int) -> list[str]:
    kept: list[str] = []
    for text in whole:
        if limit <= 0:
            break
        kept.append(text[:limit])
        limit -= len(text)
    return kept
