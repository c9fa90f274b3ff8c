"""Packing strategies: ways to fill rows of T slots with documents. One file each; `PACKS` names them.

To add one, write its file with a `Plan` whose constructor takes pair counts, context and `order=`, and its line here;
the tests over the registry then prove conservation, counts and purity.
"""

from __future__ import annotations

from collections.abc import Callable

from slmmodel.data.packs.best_fit import BestFit
from slmmodel.data.packs.best_fit_crop import BestFitCrop
from slmmodel.data.packs.bucket import Bucket
from slmmodel.data.packs.concat import Concat
from slmmodel.data.packs.first_fit import FirstFit
from slmmodel.data.packs.lanes import Lanes
from slmmodel.data.spans import Plan

PACKS: dict[str, Callable[..., Plan]] = {
    "concat": Concat,
    "first_fit": FirstFit,
    "best_fit": BestFit,
    "best_fit_crop": BestFitCrop,
    "bucket": Bucket,
    "lanes": Lanes,
}
