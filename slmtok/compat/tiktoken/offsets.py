"""Where tokens begin in decoded text, in characters, also where their bytes are no UTF-8."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

# What `bytes.decode("utf-8", "replace")` makes one character of: a well-formed sequence, the longest start of one, or a
# stray byte. The second byte's range depends on the first (The Unicode Standard, table 3-7).
_CHARACTER = re.compile(
    rb"[\x00-\x7f]"
    rb"|[\xc2-\xdf][\x80-\xbf]?"
    rb"|(?:\xe0(?=[\xa0-\xbf])|[\xe1-\xec\xee\xef](?=[\x80-\xbf])|\xed(?=[\x80-\x9f]))[\x80-\xbf]{1,2}"
    rb"|(?:\xf0(?=[\x90-\xbf])|[\xf1-\xf3](?=[\x80-\xbf])|\xf4(?=[\x80-\x8f]))[\x80-\xbf]{1,3}"
    rb"|[\x80-\xff]"
)


def character_starts(tokens: Sequence[bytes]) -> list[int]:
    """For each token the index of the first character of the text that has bytes of it."""
    starts = [match.start() for match in _CHARACTER.finditer(b"".join(tokens))]
    found, position = [], 0
    for token in tokens:
        found.append(max(0, bisect_right(starts, position) - 1) if token else len(starts))
        position += len(token)
    return found
