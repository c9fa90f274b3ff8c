"""The texts that are measured: shared corpora, and made-up texts that are hostile to encoders."""

from __future__ import annotations

import json
import os
import random
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


class MissingCorpusError(Exception):
    """The shared data is not there."""


def shared() -> Path:
    """The folder with `data/corpora` and `data/tiktoken-cache`: SLMTOK_SHARED, by default beside the project."""
    return Path(os.environ.get("SLMTOK_SHARED") or ROOT.parent / "shared").resolve()


def ranks(encoding: str) -> Path:
    """The rank file of a public encoding; tells tiktoken of its folder by the way."""
    from slmtok.formats.tiktoken import find_ranks

    os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(shared() / "data" / "tiktoken-cache"))
    return find_ranks(encoding)


def documents(corpus: str, *, piece: int = 0, limit: int = 0) -> list[str]:
    """The documents of a corpus, `stories` being those that slmtok makes.

    piece: cut into documents of so many characters, so that small inputs rotate through a large text.
    limit: characters.
    """
    whole = _stories(limit or 5_000_000) if corpus == "stories" else _records(corpus)
    if limit:
        whole = _first(whole, limit)
    if not piece:
        return whole
    return [text[start : start + piece] for text in whole for start in range(0, len(text), piece)]


def text_file(corpus: str, *, limit: int = 0) -> Path:
    """All documents as one text file in a temporary folder, a line feed between them; made once."""
    folder = Path(tempfile.gettempdir()) / f"slmtok-benchmarks-{os.getuid()}"
    path = folder / f"{corpus}-{limit}.txt"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write("\n".join(documents(corpus, limit=limit)).encode())
        Path(file.name).replace(path)
    return path


def _records(corpus: str) -> list[str]:
    import zstandard

    path = shared() / "data" / "corpora" / f"{corpus}.jsonl.zst"
    if not path.is_file():
        raise MissingCorpusError(f"{path} is not there; SLMTOK_SHARED names the folder with the shared data")
    with path.open("rb") as file:
        lines = zstandard.ZstdDecompressor().stream_reader(file).read().split(b"\n")
    return [json.loads(line)["text"] for line in lines if line]


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


def _first(texts: list[str], limit: int) -> list[str]:
    kept: list[str] = []
    for text in texts:
        if limit <= 0:
            break
        kept.append(text[:limit])
        limit -= len(text)
    return kept


def _cjk(size: int) -> bytes:
    """Chinese without spaces: characters drawn with frequencies that fall as 1 / rank, so that pairs repeat."""
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
    "cjk": _cjk,
}
"""Name to a function from size in bytes to text."""
