"""Whether another library gives our ids: text by text, with the first difference where it does not."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from slmtok.errors import NotEqual

if TYPE_CHECKING:
    from slmtok.aliases import Progress
    from slmtok.formats.base import Encode
    from slmtok.formats.probes import Probe
    from slmtok.ragged import Ragged
    from slmtok.tokenizer import Tokenizer


@dataclass(frozen=True)
class Checked:
    """What was compared under one name, all of it equal."""

    name: str
    strings: int
    bytes: int
    ids: int


@dataclass(frozen=True)
class Compared:
    """All that was compared. `ids_sha256` is over our ids, u32 little-endian, in the order of the probes."""

    checks: tuple[Checked, ...]
    ids_sha256: str


def compare(
    tokenizer: Tokenizer, encode: Encode, probes: Iterable[Probe], *, library: str, progress: Progress | None = None
) -> Compared:
    """Encodes every probe on both sides. Raises `NotEqual` at the first difference, with text, position and ids."""
    import numpy as np

    digest = hashlib.sha256()
    checks = []
    for probe in probes:
        strings = size = ids = 0
        for batch in probe.batches:
            ours, theirs = tokenizer.encode_batch(batch), encode(batch)
            if not same(ours, theirs):
                raise difference(batch, ours, theirs, library=library, probe=probe.name)
            digest.update(ours.ids.astype(np.dtype("<u4")).tobytes())
            strings += len(batch)
            size += sum(len(text.encode()) for text in batch)
            ids += len(ours.ids)
            if progress is not None:
                progress(f"compare {probe.name.replace('_', ' ')}", size, 0)
        checks.append(Checked(probe.name, strings, size, ids))
    return Compared(tuple(checks), digest.hexdigest())


def same(ours: Ragged, theirs: Sequence[Sequence[int]]) -> bool:
    """Whether all documents have the same ids."""
    import numpy as np

    lengths = np.fromiter(map(len, theirs), dtype=np.int64, count=len(theirs))
    if not np.array_equal(lengths, ours.lengths()):
        return False
    flat = np.fromiter(chain.from_iterable(theirs), dtype=np.int64, count=int(lengths.sum()))
    return bool(np.array_equal(flat, ours.ids))


def difference(
    batch: Sequence[str], ours: Ragged, theirs: Sequence[Sequence[int]], *, library: str, probe: str
) -> NotEqual:
    """The error for the first text of a batch whose ids differ."""
    for text, mine, other in zip(batch, ours, theirs, strict=False):
        left, right = mine.tolist(), list(other)
        if left != right:
            pairs = enumerate(zip(left, right, strict=False))
            at = next((index for index, (a, b) in pairs if a != b), min(len(left), len(right)))
            return NotEqual(
                f"{library} gives other ids for {text[:40]!r}{'…' if len(text) > 40 else ''}: "
                f"{right[at : at + 4]} where ours are {left[at : at + 4]}",
                where=f"id {at} of the text; {probe.replace('_', ' ')}; nothing was written",
                limit="equal ids for every text that is compared",
                fix="report it with the tokenizer file; unverified=True writes without comparing, on your own risk",
                probe=probe,
                text=text,
                position=at,
            )
    return NotEqual(
        f"{library} gives {len(theirs)} rows of ids for {len(batch)} texts",
        where=probe,
        fix="report it with the tokenizer file",
    )
