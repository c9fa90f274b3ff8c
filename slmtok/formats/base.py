"""The interface of an export format: its library, its files, its limits, and reading it back."""

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
"""Encodes texts with another library, special tokens treated as text."""


@dataclass(frozen=True)
class Target:
    """One format that `slmtok export` writes.

    check raises `Inexpressible` before any work; files returns path -> content; open loads the written export with the
    library.
    """

    name: str
    summary: str
    library: str
    check: Callable[[Tokenizer], None]
    files: Callable[..., dict[str, bytes]]
    open: Callable[[Path, str], Encode]
    notes: tuple[str, ...] = ()
    """Notes in the receipt."""

    def library_version(self) -> str | None:
        """The installed version; None if it is not installed."""
        return installed(self.library)


def installed(library: str) -> str | None:
    """The installed version of a library; None if it is not installed."""
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
            fix=f"pip install {name}; or verify=False writes without comparing, on your own risk",
            library=name,
        ) from None
