"""The interface of another library's format: how it is written, read, and opened with the library for comparing ids."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

from slmtok.errors import Inexpressible, MissingExtra, Setting

if TYPE_CHECKING:
    from pathlib import Path

    from slmtok.tokenizer import Tokenizer

Encode: TypeAlias = "Callable[[list[str]], list[list[int]]]"
"""Encodes texts with another library, special tokens treated as text."""


@dataclass(frozen=True)
class Target:
    """One format that `slmtok export` writes.

    check raises `Inexpressible` before any work; files returns path -> content; open loads the folder of an export, by
    its name, with the library; notes are those of the receipt.
    """

    name: str
    summary: str
    library: str
    check: Callable[[Tokenizer], None]
    files: Callable[..., dict[str, bytes]]
    open: Callable[[Path, str], Encode]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Origin:
    """One format that `slmtok import` reads: detection, reader, and the library that encodes with the file.

    notes: what the file does not record, for the receipt.
    """

    name: str
    summary: str
    library: str
    looks_like: Callable[[bytes], bool]
    read: Callable[..., Tokenizer]
    open: Callable[[Path, Tokenizer], Encode]
    notes: Callable[..., tuple[str, ...]] | None = None


def refuse_silent_merges(tokenizer: Tokenizer, target: str) -> None:
    """Raises `Inexpressible` for a merge that took the id of a special token (tie-break rule `hf`)."""
    for index, merge in enumerate(tokenizer.vocabulary.merges):
        if len(merge) == 3:
            raise Inexpressible(
                f"merge {index} spells the special token {tokenizer.specials.tokens[merge[2]].text!r}, "
                "which encoding never emits",
                where=f"export to {target}",
                limit="every merge makes an id of its own",
                fix=("train with ", Setting("tie_break", "rank")),
                index=index,
            )


def installed(library: str) -> str | None:
    """The installed version of a library; None if it is not installed."""
    # Importing it takes as long as loading a small vocabulary.
    from importlib.metadata import version

    try:
        import_module(library)
        return version(library)
    except ImportError:
        return None


def module(name: str) -> Any:
    """A library's module, which has no types. Raises `MissingExtra` with the pip line."""
    try:
        return import_module(name)
    except ImportError:
        raise MissingExtra(
            f"{name} is not installed, and ids must be compared with it",
            fix=(f"pip install {name}; or ", Setting("verify", False), ", which writes without comparing"),
            library=name,
        ) from None
