"""Windowing strategies: ways to slide a window of C slots over documents. One file each; `WINDOWS` names them.

A window is the pair in its first slot; slot `t` holds the pair `t` further on, or padding outside the document. Compare
strategies at equal scored targets, never at equal windows. To add one, write its file and its line here.
"""

from __future__ import annotations

from collections.abc import Callable

from slmmodel.data.spans import Plan
from slmmodel.data.windows.full_only import FullOnly
from slmmodel.data.windows.left_pad import LeftPad
from slmmodel.data.windows.right_pad_once import RightPadOnce
from slmmodel.data.windows.slide_through import SlideThrough
from slmmodel.data.windows.stream import Stream

WINDOWS: dict[str, Callable[..., Plan]] = {
    "stream": Stream,
    "right_pad_once": RightPadOnce,
    "full_only": FullOnly,
    "left_pad": LeftPad,
    "slide_through": SlideThrough,
}
