"""Whether the first bytes of a text are UTF-8, of another encoding, or of both."""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

_MIN_RUN = 16
"""Characters of UTF-8 one after another that no text in another encoding has by chance."""
_MIN_TWICE = 4
"""Characters that are bytes of UTF-8, from which on a text was encoded twice."""
_INVALID = re.compile("[\udc80-\udcff]")


class Utf8Evidence(NamedTuple):
    """What the first bytes of a text hold beyond ASCII.

    characters: of valid UTF-8. invalid: bytes that are not UTF-8. first_invalid: where the first of them stands.
    longest_run: the most valid characters without an invalid byte between them.
    """

    characters: int
    invalid: int
    first_invalid: int | None
    longest_run: int

    @property
    def is_mixed(self) -> bool:
        """Whether a text with bytes that are not UTF-8 has UTF-8 as well.

        In Latin-1, KOI8-R, Shift JIS and others, two or three bytes form a character of UTF-8 now and then by chance.
        """
        return self.characters > 0 and (self.longest_run >= _MIN_RUN or self.characters >= self.invalid)


def utf8_evidence(head: bytes) -> Utf8Evidence:
    """What the first bytes of a text hold; they may end inside a character."""
    text = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode(head)
    first, *rest = parts = _INVALID.split(text)
    runs = [len(part) - len(part.encode("ascii", "ignore")) for part in parts]
    return Utf8Evidence(sum(runs), len(rest), len(first.encode()) if rest else None, max(runs))


def misread_utf_8(head: bytes) -> str | None:
    """The encoding in which UTF-8 was misread, where all characters of this text beyond ASCII are its bytes; or None.

    A text that is meant has two letters or signs in the order of bytes of UTF-8 rarely, and all of them never.
    """
    for name in ("latin1", "cp1252"):
        try:
            text = codecs.getincrementaldecoder("utf-8")().decode(head)
            original = text.encode(name)
            codecs.getincrementaldecoder("utf-8")().decode(original)
        except UnicodeError:
            continue
        beyond = len(text) - len(text.encode("ascii", "ignore"))
        return name if beyond >= _MIN_TWICE else None
    return None
