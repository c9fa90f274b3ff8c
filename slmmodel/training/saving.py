"""`CheckpointWriter`: writes checkpoints in a thread, one at a time, while the training goes on.

A step waits for the copy in main memory alone. A failed write is raised at the end of the next step, or before the next
checkpoint; a process that is killed leaves a folder `.tmp`, which the next one removes.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from slmmodel.checkpoint import Checkpoints, Snapshot
from slmmodel.config import RunSection
from slmmodel.run_entries import BAD


class CheckpointWriter:
    """Writes snapshots, marks the best and removes old ones, as `keep` and `keep_every` of a run say."""

    def __init__(self, checkpoints: Checkpoints, options: RunSection) -> None:
        self._checkpoints, self._options = checkpoints, options
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="slm-checkpoint")
        self._cancelled = threading.Event()
        self._writing: Future[Path | None] | None = None

    def start(self, snapshot: Snapshot, step: int, *, is_best: bool) -> None:
        """Begins to write; `finished` has told of the one before."""
        self._writing = self._thread.submit(self._write, snapshot, step, is_best)

    def finished(self, *, wait: bool = False) -> Path | None:
        """The checkpoint that was completed since the last call, which `wait` waits for. Raises what writing raised."""
        if self._writing is None or not (wait or self._writing.done()):
            return None
        writing, self._writing = self._writing, None
        return writing.result()

    def close(self) -> None:
        """Waits for the files of this rank, not for those of others."""
        self._cancelled.set()
        self._thread.shutdown()

    def mark_and_prune(self, step: int, *, is_best: bool) -> None:
        """Marks the newest checkpoint, and removes old ones; for the main rank."""
        self._checkpoints.mark(step, is_best=is_best)
        self._checkpoints.prune(self._options.keep, self._options.keep_every)

    def _write(self, snapshot: Snapshot, step: int, is_best: bool) -> Path | None:
        if not snapshot.write(self._cancelled) or snapshot.train_state is None:
            return None
        if not snapshot.target.name.endswith(BAD):
            self.mark_and_prune(step, is_best=is_best)
        return snapshot.target
