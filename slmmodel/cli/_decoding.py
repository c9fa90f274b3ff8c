"""Bytes of generated ids to text as they come: whole characters only, and stop strings looked for in bytes.

Bytes that may still become a character wait, three at most; so do those that may still become a stop string. What is
ill-formed becomes U+FFFD. All pieces joined are what decoding all bytes at once would give.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence


class TextStream:
    """The text of one row. `stopped` tells that a stop string came; it and what follows are dropped."""

    def __init__(self, stops: Sequence[str] = ()) -> None:
        self._stops = [stop.encode() for stop in stops if stop]
        self._hold = max(map(len, self._stops), default=1) - 1
        self._waiting = b""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.stopped = False

    def push(self, data: bytes) -> str:
        """The text that is certain with these bytes."""
        if self.stopped:
            return ""
        waiting = self._waiting + data
        found = [at for at in (waiting.find(stop) for stop in self._stops) if at >= 0]
        if found:
            self.stopped, self._waiting = True, b""
            return self._decoder.decode(waiting[: min(found)], final=True)
        sure = max(0, len(waiting) - self._hold)
        self._waiting = waiting[sure:]
        return self._decoder.decode(waiting[:sure])

    def finish(self) -> str:
        """What is left when no more bytes come."""
        rest, self._waiting = self._waiting, b""
        return "" if self.stopped else self._decoder.decode(rest, final=True)
