"""Grouping a stream of items by their size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

_Item = TypeVar("_Item")


def batched(items: Iterable[_Item], max_size: int, size: Callable[[Any], int] = len) -> Iterator[list[_Item]]:
    """The items in lists; each ends with the item with which its sizes reach `max_size` in sum."""
    batch: list[_Item] = []
    left = max_size
    for item in items:
        batch.append(item)
        left -= size(item)
        if left <= 0:
            yield batch
            batch, left = [], max_size
    if batch:
        yield batch
