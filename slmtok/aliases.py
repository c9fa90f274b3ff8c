"""Names of types that several modules use. For annotations; importing this costs nothing at run time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Text: TypeAlias = str | bytes | bytearray | memoryview
"""What can be encoded."""
Ids: TypeAlias = "NDArray[np.uint16] | NDArray[np.uint32]"
"""Arrays of ids: uint16 where n_vocab <= 65536, else uint32."""
Progress: TypeAlias = Callable[[str, int, int], object]
"""Called with (stage, done, total) at coarse steps; an exception that it raises ends the work."""
Token: TypeAlias = bytes
"""The bytes of a token or a piece."""
