"""What an export format is: which library reads it, what it cannot say, its files, and how to read them back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, TypeAlias

from slmtok.errors import MissingExtra

if TYPE_CHECKING:
    from pathlib import Path

    from slmtok.tokenizer import Tokenizer

Encode: TypeAlias = "Callable[[list[str]], list[list[int]]]"
"""Texts to ids by another library: ordinary text, in which nothing is special."""


@dataclass(frozen=True)
class Target:
    """One format that `slmtok export` writes.

    check raises `Inexpressible` before any work. files gives the content of each file by its path in the folder. open
    loads what was written, with the library that it is for.
    """

    name: str
    summary: str
    library: str
    check: Callable[[Tokenizer], None]
    files: Callable[..., dict[str, bytes]]
    open: Callable[[Path, str], Encode]
    notes: tuple[str, ...] = ()
    """What a reader of the receipt must know."""

    def library_version(self) -> str | None:
        """The version that is installed; None where it is not."""
        return installed(self.library)


def installed(library: str) -> str | None:
    """The version of a library that is installed; None where it is not."""
    try:
        import_module(library)
        return version(library)
    except ImportError:
        return None


def module(name: str) -> Any:
    """A library's module, which has no types that we could rely on. Raises `MissingExtra` with the pip line."""
    try:
        return import_module(name)
    except ImportError:
        raise MissingExtra(
            f"{name} is not installed, and ids must be compared with it",
            fix=f"pip install {name}; or unverified=True writes without comparing, on your own risk",
            library=name,
        ) from None
