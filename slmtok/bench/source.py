"""A vocabulary as peers take it: a rank file with its regex, and the same as a Hugging Face `tokenizer.json`.

`prepare` writes both into a folder, outside any measured time. Ranks begin at 0: the sixteen specials of our layout
have no place in them, so a rank is our id less `shift`.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok.errors import InvalidOption
from slmtok.specials import FIRST_BYTE

if TYPE_CHECKING:
    from slmtok.tokenizer import Tokenizer


@dataclass(frozen=True, kw_only=True)
class Source:
    """Paths and facts of one vocabulary; all plain values, so that it can be handed to another process."""

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
        """For another process."""
        return asdict(self)


def prepare(tokenizer: Tokenizer, folder: Path, *, name: str = "own") -> Source:
    """Writes the files of a tokenizer into `folder`. Raises `InvalidOption` for a scheme that is not `bpe`."""
    from slmtok.bench.hf_json import tokenizer_json
    from slmtok.formats.tiktoken import write_ranks

    if tokenizer.scheme != "bpe":
        raise InvalidOption(
            f"only the scheme bpe can be compared with others, not {tokenizer.scheme}",
            fix="give a tokenizer that was trained with --scheme bpe",
            option="tokenizer",
        )
    foreign = tokenizer.vocabulary.layout == "foreign"
    shift = 0 if foreign else FIRST_BYTE
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
    """Token to rank, as peers that take a mapping want it."""
    from binascii import a2b_base64

    pairs = (line.split() for line in Path(path).read_bytes().splitlines())
    return {a2b_base64(token): int(rank) for token, rank in pairs}
