"""Errors for arguments of the look-alike of CS336 that are in each other's place."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from slmtok.calls import argument_text, call_text
from slmtok.compat._shared import check_iterable, check_spelling, read_bytes
from slmtok.errors import InvalidSpecials, WrongType
from slmtok.file_kinds import TOKENIZER, kind_of_file


def refuse_swapped_parts(vocab: object, merges: object, specials: object) -> None:
    """Raises `WrongType` for the parts of a `Tokenizer` in each other's place, their names, or a vocab turned round."""
    fix = None
    if isinstance(vocab, (str, os.PathLike)) and isinstance(merges, (str, os.PathLike)):
        fix = call_text("Tokenizer.from_files", [vocab, merges], {})
    elif isinstance(merges, Mapping):
        fix = "Tokenizer(vocab, merges)"
    elif isinstance(merges, (list, tuple)) and merges and all(isinstance(each, str) for each in merges):
        fix = f"Tokenizer(vocab, merges, {argument_text(list(merges), 'special_tokens')})"
    elif isinstance(vocab, Mapping) and vocab and all(isinstance(key, bytes) for key in vocab):
        fix = "Tokenizer({id: token for token, id in vocab.items()}, merges)"
    if fix is not None:
        names = ", ".join(type(each).__name__ for each in (vocab, merges, specials) if each is not None)
        limit = "a dict from id to bytes, a list of pairs of bytes, special tokens"
        raise WrongType(
            f"Tokenizer() takes vocab and merges as train_bpe returns them, not {names}", limit=limit, fix=fix
        )


def check_merges(merges: object) -> list[tuple[bytes, bytes]]:
    """The merges as a list. Raises `WrongType` unless they are pairs of bytes."""
    found: list[Any] = list(merges) if isinstance(merges, Iterable) else [merges]
    for pair in found:
        is_pair = isinstance(pair, (list, tuple)) and len(pair) == 2
        if not is_pair or not all(isinstance(each, bytes) for each in pair):
            raise WrongType("merges must be a list of pairs of bytes", fix="merges=[(b't', b'h'), (b'th', b'e')]")
    return found


def fix_of_files(vocab: str | os.PathLike[str], merges: str | os.PathLike[str]) -> str:
    """The remedy for files of another form: their places exchanged where only the second one holds JSON."""
    for path in map(str, (vocab, merges)):
        if kind_of_file(path) == TOKENIZER:
            return f"slmtok.load({path!r})"
    if read_bytes(merges).lstrip()[:1] == b"{" and read_bytes(vocab).lstrip()[:1] != b"{":
        return call_text("Tokenizer.from_files", [merges, vocab], {})
    return "name a vocab.json and a merges.txt of that form"


def check_specials(tokens: Iterable[str] | None) -> list[str]:
    """The special tokens, each once. Raises `WrongType` for one `str`, `InvalidSpecials` for an empty one."""
    if isinstance(tokens, str):
        raise WrongType("special_tokens is one str", fix=f"special_tokens=[{tokens!r}]")
    found = list(dict.fromkeys(map(check_spelling, check_iterable(tokens or (), "special_tokens"))))
    if "" in found:
        raise InvalidSpecials("a special token is empty", limit="at least one character", fix="leave it out")
    return found
