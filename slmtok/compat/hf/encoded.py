"""`Encoded`: what a call of the façade gives. A dict whose entries are attributes, too."""

from __future__ import annotations

from typing import Any


class Encoded(dict[str, Any]):
    """Column name to values: lists, numpy arrays or torch tensors, as the call asked.

    `dropped` is the number of ids that the call left out (`chunk` alone leaves any out); it is no column.
    """

    dropped: int = 0

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no column {name!r}; there are {', '.join(self) or 'none'}") from None

    def to(self, device: Any) -> Encoded:
        """The same with every torch tensor on `device`; other columns stay as they are."""
        moved = Encoded((name, value.to(device) if hasattr(value, "to") else value) for name, value in self.items())
        moved.dropped = self.dropped
        return moved
