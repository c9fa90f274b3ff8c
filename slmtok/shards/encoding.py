"""Documents to ids with their frames, one unit at a time. The GIL is free while the engine works."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slmtok.shards.header import FRAMES
from slmtok.shards.vocabulary_of import special_id

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok._engine import Documents
    from slmtok.shards.units import Unit
    from slmtok.tokenizer import Tokenizer


@dataclass(frozen=True)
class Encoded:
    """The documents of a unit as they go into shards.

    ids: all documents with their frames, one after another. offsets: int64[n + 1]. nbytes: uint64[n], raw bytes.
    digests: uint8[n, 32], the sha256 of each.
    """

    ids: NDArray[Any]
    offsets: NDArray[np.int64]
    nbytes: NDArray[np.uint64]
    digests: NDArray[np.uint8]

    def since(self, index: int) -> Encoded:
        """The same from document `index` on."""
        bounds = self.offsets[index:] - self.offsets[index]
        return Encoded(self.ids[int(self.offsets[index]) :], bounds, self.nbytes[index:], self.digests[index:])


class Encode:
    """Encodes with one tokenizer and frame. `content` is the content of the folder's `vocab.json`."""

    def __init__(self, tokenizer: Tokenizer, content: dict[str, Any], frame: str) -> None:
        self._tokenizer, self._threads = tokenizer, 1
        begin, end = FRAMES[frame]
        # Roles that were appended to a foreign table are unknown to its encoder.
        bos, eos = "bos" in tokenizer.specials, "eos" in tokenizer.specials
        self._bos = tokenizer.specials["bos"] if begin and bos else None
        self._eos = tokenizer.specials["eos"] if end and eos else None
        self._added_bos = special_id(content, "bos") if begin and not bos else None
        self._added_eos = special_id(content, "eos") if end and not eos else None
        self._dtype = "<u2" if int(content["n_vocab"]) <= 65536 else "<u4"

    def on(self, threads: int) -> Encode:
        """The same, with so many threads at work on one unit."""
        other = copy(self)
        other._threads = threads
        return other

    def __call__(self, documents: Documents) -> Encoded:
        """Their ids."""
        import numpy as np

        encoder = self._tokenizer._encoder
        ids, offsets = encoder.encode_documents(documents, threads=self._threads, bos=self._bos, eos=self._eos)
        framed, bounds = _framed(ids.astype(self._dtype, copy=False), offsets, self._added_bos, self._added_eos)
        return Encoded(
            ids=framed,
            offsets=bounds,
            nbytes=np.diff(documents.offsets).astype(np.uint64),
            digests=np.frombuffer(documents.digests, dtype=np.uint8).reshape(-1, 32),
        )


def _framed(
    ids: NDArray[Any], offsets: NDArray[np.int64], bos: int | None, eos: int | None
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The same documents with these ids around each."""
    import numpy as np

    if eos is not None:
        ids = np.insert(ids, offsets[1:], eos)
        offsets = offsets + np.arange(len(offsets))
    if bos is not None:
        ids = np.insert(ids, offsets[:-1], bos)
        offsets = offsets + np.arange(len(offsets))
    return ids, offsets


def domains_of(unit: Unit, domains: Sequence[int]) -> NDArray[np.uint16]:
    """The domain of each document of a unit, given that of each source."""
    import numpy as np

    found = np.zeros(len(unit), dtype=np.uint16)
    for source, first, end in unit.runs():
        found[first:end] = domains[source]
    return found
