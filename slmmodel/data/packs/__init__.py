"""Packing strategies: ways to fill rows of T slots with documents. One file each; `PACKS` names them.

To add one, write its file with a `Plan` whose constructor takes pair counts, context and `order=`, and its line here;
the tests over the registry then prove conservation, counts and purity.
"""

from __future__ import annotations

from collections.abc import Callable

from slmmodel.data.packs.concat import Concat
from slmmodel.data.spans import Plan

PACKS: dict[str, Callable[..., Plan]] = {
    "concat": Concat,
}
