"""For all tests: no network, tiktoken's rank files from the shared data, and a clean environment."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator, Mapping

import pytest
from disk_flushes import unflushed
from forked_commands import forked_commands
from hypothesis import settings
from pytest_socket import disable_socket, enable_socket
from shared_data import shared_folder

# OpenMP reads it when torch is imported. Its threads then wait without spinning: on a busy machine a spinning one takes
# the core that the other needs.
os.environ["OMP_WAIT_POLICY"] = "passive"

# Modules and tests are made, and no garbage to speak of, until all tests are collected.
gc.disable()

# An example that takes long on a busy machine is no fault.
settings.register_profile("slmtok", deadline=None)
settings.load_profile("slmtok")


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Takes modules and tests out of all later collections of garbage: each would visit 600,000 objects in 0.4 s."""
    gc.enable()
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test that opens a connection fails. Unix sockets stay: an event loop or a process pool may need them.

    A test marked `cluster` talks to processes that it starts on this machine.
    """
    if item.get_closest_marker("cluster") is None:
        disable_socket(allow_unix_socket=True)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    enable_socket()


@pytest.fixture(autouse=True, scope="session")
def tiktoken_files() -> Iterator[None]:
    """Peers find their rank files offline; child processes inherit it."""
    with pytest.MonkeyPatch.context() as patch:
        folder = shared_folder() / "data" / "tiktoken-cache"
        if folder.is_dir():
            patch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
        yield


@pytest.fixture(autouse=True, scope="session")
def no_disk_flushes() -> Iterator[None]:
    """Not on Windows, which refuses to flush what is open for reading."""
    with pytest.MonkeyPatch.context() as patch:
        if os.name == "posix":
            patch.setattr(os, "fsync", unflushed(os.fsync))
        yield


@pytest.fixture(autouse=True, scope="session")
def children_hear_ctrl_c() -> None:
    """A shell starts what it puts into the background with SIGINT ignored, and children would inherit that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """The environment of a shell whose `slm`, `slmtok` and `torchrun` start without the seconds of importing torch."""
    with forked_commands(tmp_path_factory.mktemp("bin")) as environment:
        yield environment


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Output is judged without colour, at one width."""
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "PY_COLORS"):
        monkeypatch.delenv(name, raising=False)
