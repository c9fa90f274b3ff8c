"""`CachedStream`: ids that were made once, kept in files (`data.cache`).

A file holds the documents of one range of a stream, as safetensors, with a digest of its content; a damaged one is made
again. When the folder has reached its limit nothing is added: a training reads its blocks in a circle, so replacing the
oldest would never find one again.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slmmodel.data.mixture import DocumentStream
from slmmodel.data.source import Shard
from slmmodel.errors import Argument, DiskFull, InvalidConfig, OutputExists, Unreadable
from slmmodel.files import remove_parts, translated_errors, write_file
from slmmodel.folder_lock import locked

_Arrays = dict[str, NDArray[Any]]
_END = "n_bytes.safetensors"
_DIGEST = "sha256"
_MAX_WAIT_SECONDS = 1.0
"""For another process, often a rank with the same range, that writes into the cache."""
_POLL_SECONDS = 0.01
_FOLDERS = "[0-9a-f]" * 32
"""The names of folders in the cache, one of each key."""


class CachedStream(DocumentStream):
    """A stream whose ranges are kept below `folder`, up to `limit` bytes of all files there.

    `key` identifies the documents and their ids. `note` is called with the reason why nothing more is kept.
    """

    def __init__(
        self,
        stream: DocumentStream,
        folder: Path,
        limit: int,
        key: str,
        note: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.vocab, self.delimiters, self.digest = stream.vocab, stream.delimiters, stream.digest
        self._stream, self._root, self._limit, self._note = stream, folder, limit, note
        self._folder = folder / hashlib.sha256(key.encode()).hexdigest()[:32]
        if (end := _read(self._folder / _END, {"n_bytes"})) is not None:
            self.n_bytes = int(end["n_bytes"])

    def between(self, start: int, stop: int) -> list[Shard]:
        """See `DocumentStream`. Raises what the stream raises; `InvalidConfig` where the cache is a file."""
        if (found := _read(self._file(start, stop), {"ids", "bounds", "nbytes"})) is not None:
            bounds = found["bounds"]
            return [Shard(found["ids"], bounds[:-1], bounds[1:], found["nbytes"])] if len(bounds) > 1 else []
        shards = self._stream.between(start, stop)
        if self.n_bytes is None and self._stream.n_bytes is not None:
            self.n_bytes = self._stream.n_bytes
            self._keep(self._folder / _END, {"n_bytes": np.array(self.n_bytes)})
        self._keep(self._file(start, stop), _joined(shards))
        return shards

    def _file(self, start: int, stop: int) -> Path:
        stop = stop if self.n_bytes is None else min(stop, self.n_bytes)
        return self._folder / f"{start}-{stop}.safetensors"

    def _keep(self, file: Path, arrays: _Arrays) -> None:
        from safetensors.numpy import save

        if not self._limit:
            return
        content = save({**arrays, _DIGEST: np.frombuffer(_digest(arrays), np.uint8)})
        deadline = time.monotonic() + _MAX_WAIT_SECONDS
        while self._is_refused(file, content) and not file.exists() and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)

    def _is_refused(self, file: Path, content: bytes) -> bool:
        """Writes a file where there is room for it; whether another process, which writes just then, refuses it."""
        try:
            with locked(self._root) as handle, translated_errors(file):
                if handle is None:
                    self._refuse_file()
                for folder in self._root.glob(_FOLDERS):
                    remove_parts(folder)
                if self._used() + len(content) <= self._limit:
                    file.parent.mkdir(exist_ok=True)
                    write_file(file, content)
        except OutputExists:
            return True
        except (DiskFull, Unreadable) as error:
            self._limit = 0
            self._note(f"data.cache: {error.fact}; ids that {str(self._root)!r} lacks are encoded again")
        return False

    def _used(self) -> int:
        used = 0
        for path in self._root.rglob("*.safetensors"):
            with suppress(FileNotFoundError):
                used += path.stat().st_size
        return used

    def _refuse_file(self) -> None:
        raise InvalidConfig(
            f"data.cache names {str(self._root)!r}, which is a file",
            limit="a folder",
            fix=(Argument("data.cache", f"{self._root}-cache"),),
            option="data.cache",
        )


def _read(file: Path, names: set[str]) -> _Arrays | None:
    """The arrays of a file; None where it is missing or damaged."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        arrays: _Arrays = load_file(file)
    except (OSError, SafetensorError):
        return None
    recorded = arrays.pop(_DIGEST, np.empty(0)).tobytes()
    return arrays if set(arrays) == names and recorded == _digest(arrays) else None


def _joined(shards: list[Shard]) -> _Arrays:
    """The documents of all, as a file has them."""
    empty = [np.empty(0, shards[0].ids.dtype if shards else np.uint16)]
    ids = [shard.ids[low:high] for shard in shards for low, high in zip(shard.starts, shard.stops, strict=True)]
    return {
        "ids": np.concatenate(empty + ids),
        "bounds": np.cumsum([0, *map(len, ids)], dtype=np.int64),
        "nbytes": np.concatenate([np.empty(0, np.int64), *(shard.nbytes.astype(np.int64) for shard in shards)]),
    }


def _digest(arrays: _Arrays) -> bytes:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(arrays[name].tobytes())
    return digest.digest()
