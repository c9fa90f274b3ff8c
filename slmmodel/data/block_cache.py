"""`CachedStream`: ids that were made once, kept in files (`data.cache`).

A file holds the documents of one range of a stream, as safetensors, with a digest of its content; a damaged one is made
again. When the folder has reached its limit nothing is added: a training reads its blocks in a circle, so replacing the
oldest would never find one again.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slmmodel.data.mixture import DocumentStream
from slmmodel.data.source import Shard

_END = "n_bytes"
_DIGEST = "sha256"


class CachedStream(DocumentStream):
    """A stream whose ranges are kept below `folder`, up to `limit` bytes of all files there.

    `key` names everything that decides the documents and their ids.
    """

    def __init__(self, stream: DocumentStream, folder: Path, limit: int, key: str) -> None:
        self.vocab, self.delimiters, self.digest = stream.vocab, stream.delimiters, stream.digest
        self._stream, self._root, self._limit = stream, folder, limit
        self._folder = folder / hashlib.sha256(key.encode()).hexdigest()[:32]
        with suppress(OSError, ValueError):
            self.n_bytes = int((self._folder / _END).read_text(encoding="ascii"))

    def between(self, start: int, stop: int) -> list[Shard]:
        """See `DocumentStream`. Raises what the stream raises, and `OSError` where the folder cannot be written."""
        if (found := self._read(self._file(start, stop))) is not None:
            return found
        shards = self._stream.between(start, stop)
        if self.n_bytes is None and self._stream.n_bytes is not None:
            self.n_bytes = self._stream.n_bytes
            self._write(self._folder / _END, str(self.n_bytes).encode())
        self._keep(self._file(start, stop), shards)
        return shards

    def _file(self, start: int, stop: int) -> Path:
        stop = stop if self.n_bytes is None else min(stop, self.n_bytes)
        return self._folder / f"{start}-{stop}.safetensors"

    def _read(self, file: Path) -> list[Shard] | None:
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        try:
            arrays = load_file(file)
        except (OSError, SafetensorError):
            return None
        recorded = arrays.pop(_DIGEST, np.empty(0)).tobytes()
        if set(arrays) != {"ids", "bounds", "nbytes"} or recorded != _digest(arrays):
            return None
        bounds = arrays["bounds"]
        return [Shard(arrays["ids"], bounds[:-1], bounds[1:], arrays["nbytes"])] if len(bounds) > 1 else []

    def _keep(self, file: Path, shards: list[Shard]) -> None:
        from safetensors.numpy import save

        empty = [np.empty(0, shards[0].ids.dtype if shards else np.uint16)]
        ids = [shard.ids[low:high] for shard in shards for low, high in zip(shard.starts, shard.stops, strict=True)]
        arrays: dict[str, NDArray[Any]] = {
            "ids": np.concatenate(empty + ids),
            "bounds": np.cumsum([0, *map(len, ids)], dtype=np.int64),
            "nbytes": np.concatenate([np.empty(0, np.int64), *(shard.nbytes.astype(np.int64) for shard in shards)]),
        }
        content = save({**arrays, _DIGEST: np.frombuffer(_digest(arrays), np.uint8)})
        used = 0
        for path in self._root.rglob("*.safetensors"):
            with suppress(FileNotFoundError):  # other ranks and runs share the folder
                used += path.stat().st_size
        if used + len(content) <= self._limit:
            self._write(file, content)

    def _write(self, file: Path, content: bytes) -> None:
        """Writes beside and renames: several ranks may write the same content at once."""
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary = file.with_name(f".{file.name}.{os.getpid()}")
        temporary.write_bytes(content)
        temporary.replace(file)


def _digest(arrays: dict[str, NDArray[Any]]) -> bytes:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(arrays[name].tobytes())
    return digest.digest()
