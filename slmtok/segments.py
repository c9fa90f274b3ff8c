"""Typed segments: how trusted special tokens enter an encoding without being strings.

Plain `str` and `bytes` are always text, whatever they spell. `Special(role)` is one control id. `Trusted(text,
allow=…)` is the only text in which the spellings named by it become control ids. No merge crosses a segment.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from slmtok.errors import WrongType

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok.aliases import Ids


@dataclass(frozen=True)
class Special:
    """One special token, by role (or by spelling); a reserved one without name by its id."""

    name: str | int

    def __post_init__(self) -> None:
        if isinstance(self.name, bool) or not (isinstance(self.name, (str, int)) or hasattr(self.name, "__index__")):
            raise WrongType(
                f"Special({self.name!r}) is named by {type(self.name).__name__}",
                limit="a role, a spelling, or an id",
                fix="slmtok.Special('bos')",
            )


@dataclass(frozen=True)
class Trusted:
    """Text in which the specials in `allow` (roles, spellings or "all") are found, leftmost first, then longest."""

    text: str | bytes
    allow: Iterable[str] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.text, (str, bytes, bytearray, memoryview)):
            raise WrongType(
                f"Trusted holds text, not {type(self.text).__name__}", fix="slmtok.Trusted('<s>', allow={'bos'})"
            )
        if isinstance(self.allow, str):
            if self.allow != "all":
                raise WrongType(f"allow={self.allow!r} is one string", fix=f"allow={{{self.allow!r}}}")
        elif isinstance(self.allow, (bytes, bytearray)) or not isinstance(self.allow, Iterable):
            raise WrongType(f"allow is {type(self.allow).__name__}, not names of specials", fix="allow={'bos'}")
        else:
            # A generator would be empty the second time.
            object.__setattr__(self, "allow", tuple(self.allow))


Segment: TypeAlias = Special | Trusted | str | bytes


@dataclass(frozen=True, eq=False)
class Segments:
    """What `encode_segments` returns, one row an id.

    ids: shape (n,), uint16 or uint32, read-only.
    spans: shape (n, 2), int64: bytes of the id's own segment, end exclusive; (0, 0) for a `Special`.
    segments: shape (n,), int64: index of the segment that the id came from, which is what a loss mask needs.
    """

    ids: Ids
    spans: NDArray[np.int64]
    segments: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.ids)
