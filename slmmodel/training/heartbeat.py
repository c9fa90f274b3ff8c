"""`heartbeat.json`: what the process that trains a run was doing a few seconds ago, for readers on any host.

A thread of the main rank replaces the file every `INTERVAL` seconds, so it also tells a process that makes no progress
(an old `progress_time`) from one that was killed (an old `time`). A run that finishes removes it.
"""

from __future__ import annotations

import json
import os
import platform
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmmodel.errors import SlmmodelError
from slmmodel.files import remove_file, rename
from slmmodel.folder_lock import LOCK, FolderHandle, is_locked, locked
from slmmodel.json_files import load
from slmmodel.run_files import FINAL_REASONS
from slmmodel.run_files import Heartbeat as Content

if TYPE_CHECKING:
    from slmmodel.checkpoint import RunFolder

FILE = "heartbeat.json"
INTERVAL = 5.0
"""Seconds between two writes."""


class Heartbeat:
    """Written from `start` to `end`, in a `with` block. With `folder` None (other ranks) it writes nothing.

    `handle`: the folder, open; nothing is written where another one is in its place.
    """

    def __init__(self, folder: Path | None, handle: FolderHandle | None = None) -> None:
        self._path, self._handle = None if folder is None else folder / FILE, handle
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._content: dict[str, Any] = {"host": platform.node(), "pid": os.getpid(), "ended": None}

    def start(self, step: int, steps: int) -> None:
        """Begins to write, with the present step and the planned number of steps."""
        self.progress("preparing", step, steps)
        if self._path is not None and self._thread is None:
            thread = threading.Thread(target=self._beat, name="slm-heartbeat", daemon=True)
            # It fails where the system starts no more threads; nothing is then written, or joined.
            thread.start()
            self._thread = thread
            self._write()

    def progress(self, phase: str, step: int, steps: int) -> None:
        """Records that a phase has begun (preparing, training, validation, saving) or a step is done; written with the
        next beat."""
        # One assignment, because the thread reads the whole table.
        self._content = {**self._content, "stage": phase, "step": step, "steps": steps, "progress_time": time.time()}

    def __enter__(self) -> Heartbeat:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.end("" if error is None else f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")

    def end(self, reason: str) -> None:
        """Stops, and writes why the process leaves the run; a finished run has `result.json` instead."""
        self._stopped.set()
        if self._thread is not None and self._path is not None:
            self._thread.join()
            self._thread = None
            self._content = {**self._content, "ended": reason}
            self._write()
            if reason in FINAL_REASONS:
                # It must not fail a run that has finished.
                with suppress(OSError):
                    remove_file(self._path, self._handle)

    def _beat(self) -> None:
        while not self._stopped.wait(INTERVAL):
            self._write()

    def _write(self) -> None:
        """Replaces the file. A full disk or an unreachable file server must not end the training."""
        assert self._path is not None
        if self._handle is not None and not self._handle.is_in_place:
            return
        part = self._path.with_name(f".{FILE}.{os.getpid()}.part")
        try:
            part.write_text(json.dumps({**self._content, "time": time.time()}) + "\n", encoding="utf-8")
            rename(part, self._path, self._handle)
        except OSError:
            with suppress(OSError):
                part.unlink(missing_ok=True)


def remove_traces(run: RunFolder) -> None:
    """Removes what a process that ended at the end of training, killed or by an error, has left in a finished run."""
    names = [path.name for path in run.path.iterdir()]
    if any(name in (FILE, LOCK) or name.endswith(".part") for name in names) and not is_locked(run.path):
        with locked(run.path):
            run.remove_leftovers()
            with suppress(OSError):
                remove_file(run.path / FILE)


def read_heartbeat(folder: Path) -> dict[str, Any] | None:
    """The newest heartbeat of a run; None where no process has trained it, or where it is not readable."""
    try:
        return load(folder / FILE, kind=Content).model_dump()
    except SlmmodelError:
        return None
