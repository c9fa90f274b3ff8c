"""What a measured process reads from files: a vocabulary in the formats that peers load, and documents.

A vocabulary is a rank file with its regex and the same as a Hugging Face `tokenizer.json`. Ranks begin at 0, without
the 16 special tokens of our layout, so rank = id - `shift`.
"""

from __future__ import annotations

import json
from binascii import a2b_base64
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok.errors import OptionError
from slmtok.specials import FIRST_BYTE

if TYPE_CHECKING:
    from slmtok.tokenizer import Tokenizer


@dataclass(frozen=True, kw_only=True)
class Source:
    """The files of one vocabulary. Plain values only, so that it can be sent to another process as JSON."""

    name: str
    """A public encoding of tiktoken, or "own"."""
    pattern: str
    """Our name of the split pattern, empty for a custom one."""
    regex: str
    ranks: str
    json: str
    tokenizer: str
    """Our own file; empty for a public encoding, which is loaded from its ranks."""
    shift: int

    def to_dict(self) -> dict[str, Any]:
        """The fields, for another process."""
        return asdict(self)


def write_source(tokenizer: Tokenizer, folder: Path, *, name: str = "own") -> Source:
    """Writes the files of a tokenizer into `folder`. Raises `OptionError` for a scheme that is not `bpe`."""
    from slmtok.formats.hf import tokenizer_json
    from slmtok.formats.tiktoken import write_ranks

    if tokenizer.scheme != "bpe":
        raise OptionError(
            f"only the scheme bpe can be compared with other tokenizers, not {tokenizer.scheme}",
            fix="give a tokenizer that was trained with --scheme bpe",
            option="tokenizer",
        )
    shift = 0 if tokenizer.vocabulary.layout == "foreign" else FIRST_BYTE
    ranks = {token: id - shift for id, token in tokenizer.vocabulary.items()}
    (folder / f"{name}.tiktoken").write_bytes(write_ranks(ranks))
    own = folder / f"{name}.slmtok.json"
    own.write_bytes(tokenizer.to_bytes())
    (folder / f"{name}.json").write_text(json.dumps(tokenizer_json(tokenizer, shift)), encoding="utf-8")
    return Source(
        name=name,
        pattern=tokenizer.pattern.name or "",
        regex=tokenizer.pattern.regex,
        ranks=str(folder / f"{name}.tiktoken"),
        json=str(folder / f"{name}.json"),
        tokenizer="" if name != "own" else str(own),
        shift=shift,
    )


def read_ranks(path: str) -> dict[bytes, int]:
    """The token -> rank mapping of a rank file."""
    pairs = (line.split() for line in Path(path).read_bytes().splitlines())
    return {a2b_base64(token): int(rank) for token, rank in pairs}


def save_documents(path: Path, documents: Sequence[str]) -> None:
    """Writes the UTF-8 of all documents to `path` and their ends to `path` + `.ends.npy`, a format that opens fast."""
    import numpy as np

    encoded = [document.encode() for document in documents]
    path.write_bytes(b"".join(encoded))
    np.save(ends_path(path), np.cumsum([len(part) for part in encoded], dtype=np.int64))


def load_documents(path: Path) -> list[str]:
    """The documents that `save_documents` wrote."""
    import numpy as np

    data = memoryview(path.read_bytes())
    start = 0
    documents: list[str] = []
    for end in np.load(ends_path(path)).tolist():
        documents.append(str(data[start:end], "utf-8"))
        start = end
    return documents


def ends_path(path: Path) -> Path:
    """The file with the ends of the documents in `path`."""
    return path.with_name(path.name + ".ends.npy")
