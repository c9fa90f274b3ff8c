"""Counting and packing on many machines, with Ray (extra `ray`). The work is done by the functions that do it locally.

A corpus is cut into partitions, runs of neighbouring files. Each is a task; a task whose worker dies is run again on
another one. Results are put together in the order of the corpus, so that they equal the local ones to the byte. All
machines must see the files of the corpus under the same paths; outputs are written by the machine that asked.
"""

from __future__ import annotations

from slmtok.cluster.counting import count_on
from slmtok.cluster.packing import pack_on
from slmtok.cluster.partition import Partition, partitions
from slmtok.cluster.session import connected, in_order

__all__ = ["Partition", "connected", "count_on", "in_order", "pack_on", "partitions"]
