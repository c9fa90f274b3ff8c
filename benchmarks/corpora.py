"""The texts that are measured: shared corpora, what is made of them, and made-up texts that are hostile to encoders.

What takes time to make (unpacked documents, text files, trained vocabularies) is kept in a temporary folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from functools import cache
from pathlib import Path

from benchmarks.hostile import HOSTILE
from slmtok.bench import texts
from slmtok.bench.source import Source, prepare

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = Path(__file__).with_name("definitions") / "left_out.yaml"
SHARED = ("books", "docs_en", "multi", "code")
DERIVED = ("cjk", "sentences", "stories")
_CJK = re.compile(
    r"[\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3100-\u318f\u31f0-\u31ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]"
)
_SENTENCE = re.compile(r"(?<=[.!?] )[A-Z][^.!?\n]{40,}[.!?](?= )")
SENTENCE_BYTES, SLACK = 60, 2


class MissingCorpusError(Exception):
    """The shared data is not there."""


def known(corpus: str) -> bool:
    """Whether there is a corpus of this name; hostile texts that are UTF-8 are corpora too."""
    return corpus in (*SHARED, *DERIVED, *HOSTILE) and corpus != "random-bytes"


def shared() -> Path:
    """The folder with `data/corpora` and `data/tiktoken-cache`: SLMTOK_SHARED, by default beside the project."""
    return Path(os.environ.get("SLMTOK_SHARED") or ROOT.parent / "shared").resolve()


def ranks(encoding: str) -> Path:
    """The rank file of a public encoding; tells tiktoken of its folder by the way."""
    from slmtok.formats.tiktoken import find_ranks

    os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(shared() / "data" / "tiktoken-cache"))
    return find_ranks(encoding)


def documents(corpus: str, *, piece: int = 0, limit: int = 0) -> list[str]:
    """The documents of a corpus, without those of `left_out`.

    piece: cut into documents of so many characters, so that small inputs rotate through a large text.
    limit: characters.
    """
    path = _kept() / f"{corpus}-{limit}.documents"
    if not path.is_file():
        whole = _made(corpus, limit)
        partial = path.with_name(f"{path.name}.{os.getpid()}")
        texts.save(partial, _first(whole, limit) if limit else whole)
        partial.with_name(partial.name + ".ends.npy").replace(path.with_name(path.name + ".ends.npy"))
        partial.replace(path)
    whole = texts.load(path)
    if not piece:
        return whole
    return [text[start : start + piece] for text in whole for start in range(0, len(text), piece)]


def text_file(corpus: str, *, limit: int = 0) -> Path:
    """All documents as one text file, a line feed between them; made once."""
    path = _kept() / f"{corpus}-{limit}.txt"
    if not path.is_file():
        partial = path.with_name(f"{path.name}.{os.getpid()}")
        partial.write_bytes("\n".join(documents(corpus, limit=limit)).encode())
        partial.replace(path)
    return path


def vocabulary(encoding: str, corpus: str, *, limit: int = 0, vocab: int = 0, pattern: str = "") -> Source:
    """A public encoding; or, for "own", what slmtok learns from the corpus. Made once, in all forms that peers want."""
    import slmtok

    name = f"own-{corpus}-{limit}-{vocab}-{pattern}" if encoding == "own" else encoding
    folder = _kept() / name
    if not (folder / "source.json").is_file():
        folder.mkdir(exist_ok=True)
        if encoding == "own":
            file = str(text_file(corpus, limit=limit))
            learned = slmtok.train(file, vocab=vocab, pattern=pattern, allow_smaller=True)
            source = prepare(learned, folder)
        else:
            ranks(encoding)
            source = prepare(slmtok.from_tiktoken(encoding), folder, name=encoding)
        (folder / "source.json").write_text(json.dumps(source.to_dict()), encoding="utf-8")
    return Source(**json.loads((folder / "source.json").read_text(encoding="utf-8")))


@cache
def left_out(corpus: str) -> frozenset[int]:
    """Numbers of the documents that a peer's newer Unicode tables split otherwise: nobody gets them."""
    import yaml

    content = yaml.safe_load(LEFT_OUT.read_text(encoding="utf-8")) or {}
    return frozenset(content.get(corpus, ()))


def records(corpus: str) -> list[str]:
    """All documents of a shared corpus."""
    import zstandard

    path = shared() / "data" / "corpora" / f"{corpus}.jsonl.zst"
    if not path.is_file():
        raise MissingCorpusError(f"{path} is not there; SLMTOK_SHARED names the folder with the shared data")
    with path.open("rb") as file:
        lines = zstandard.ZstdDecompressor().stream_reader(file).read().split(b"\n")
    return [json.loads(line)["text"] for line in lines if line]


def _made(corpus: str, limit: int) -> list[str]:
    if corpus == "stories":
        return _stories(limit or 5_000_000)
    if corpus == "cjk":
        return [text for text in documents("multi") if 2 * len(_CJK.findall(text)) >= len(text) > 0]
    if corpus == "sentences":
        found = (match for text in documents("books") for match in _SENTENCE.findall(text))
        return [sentence for sentence in found if abs(len(sentence.encode()) - SENTENCE_BYTES) <= SLACK]
    if corpus in HOSTILE:
        return [HOSTILE[corpus](limit or 1_000_000).decode()]
    out = left_out(corpus)
    return [text for number, text in enumerate(records(corpus)) if number not in out]


def _kept() -> Path:
    # What is left out is part of the name, so that nothing made before a change is taken for what is made after.
    stamp = hashlib.sha256(LEFT_OUT.read_bytes()).hexdigest()[:8]
    folder = Path(tempfile.gettempdir()) / f"slmtok-benchmarks-{os.getuid()}" / stamp
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _stories(limit: int) -> list[str]:
    from slmtok.stories import stories

    made: list[str] = []
    size = 0
    for story in stories():
        made.append(story)
        size += len(story)
        if size >= limit:
            break
    return made


def _first(whole: list[str], limit: int) -> list[str]:
    kept: list[str] = []
    for text in whole:
        if limit <= 0:
            break
        kept.append(text[:limit])
        limit -= len(text)
    return kept
