"""Imports that a fork waits for: a child would wait for ever for a module that another thread of its parent imports.

The file of `slmtok` and that of `slmmodel` are the same. Cost: 5 microseconds for a fork.
"""

from __future__ import annotations

import os
import sys
import time

MAX_SECONDS = 30.0
"""The import may wait for the thread that forks, so that the fork goes on after this time."""


def finish_imports_before_fork(*packages: str) -> None:
    """From now on a fork waits until no other thread imports a module of these packages."""
    if hasattr(os, "register_at_fork"):
        # Lazy names of a package need `importlib` at first.
        os.register_at_fork(before=lambda: _wait((*packages, "importlib")))


def _wait(packages: tuple[str, ...]) -> None:
    if not _are_imported_elsewhere(packages):
        return
    until = time.monotonic() + MAX_SECONDS
    # Functions that the modules register meanwhile run after this fork, so that those before it run here.
    missed, register = list[object](), os.register_at_fork

    def record(**functions: object) -> None:
        missed.append(functions.get("before"))
        register(**functions)  # type: ignore[arg-type]

    # `logging` may hold its lock for this fork by now, and modules that are imported take it.
    lock = getattr(sys.modules.get("logging"), "_lock", None)
    held = [lock] if lock is not None and lock._is_owned() else []
    os.register_at_fork = record
    for each in held:
        each.release()
    try:
        while _are_imported_elsewhere(packages) and time.monotonic() < until:
            time.sleep(0.001)
    finally:
        os.register_at_fork = register
        for each in held:
            each.acquire()
        for function in reversed(missed):
            if callable(function):
                function()


def _are_imported_elsewhere(packages: tuple[str, ...]) -> bool:
    """Whether other threads import modules of `packages`, and this one, for which they may wait, does not."""
    # Of modules that are being imported: some of them are not yet in `sys.modules`.
    locks: dict[str, object] = getattr(sys.modules["_frozen_importlib"], "_module_locks", {})
    if not locks:
        return False
    from _thread import get_ident

    found = [find() for name, find in list(locks.items()) if name.partition(".")[0] in packages]  # type: ignore[operator]
    owners = {getattr(lock, "owner", None) for lock in found} - {None}
    return bool(owners) and get_ident() not in owners
