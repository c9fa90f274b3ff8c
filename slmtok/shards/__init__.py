"""Token shards: a corpus as ids on disk, ready to be memory-mapped, in a folder that describes itself.

`pack` writes a folder and can resume at any moment; `open_shards` reads one. The format is specified in
docs/formats/shards.md; `slmmodel` reads it without this package.
"""

from __future__ import annotations

from slmtok.shards.packing import Packed, pack
from slmtok.shards.reader import Shard, Shards, open_shards

__all__ = ["Packed", "Shard", "Shards", "open_shards", "pack"]
