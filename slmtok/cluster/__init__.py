"""Counting and packing on many machines with Ray (extra `ray`), by the same functions as on one.

A task whose worker dies runs again on another one, and results are put together in the order of the corpus, so they
equal local results to the byte. All machines must see the files of the corpus under the same paths; the calling machine
writes the output.
"""

from __future__ import annotations

from slmtok.cluster.session import connected, ordered_map
from slmtok.cluster.tasks import Partition, count_on, pack_on, partitions

__all__ = ["Partition", "connected", "count_on", "ordered_map", "pack_on", "partitions"]
