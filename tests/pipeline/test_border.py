"""The border between Python and Rust: a panic is an ordinary exception, and the GIL is free while the engine works."""

from __future__ import annotations

import threading
import time
from importlib import import_module

import pytest

from slmtok._engine import Counter, Pattern
from slmtok.errors import InternalError, SlmtokError


@pytest.mark.filterwarnings("ignore")
def test_a_panic_is_an_ordinary_exception(capfd: pytest.CaptureFixture[str]) -> None:
    native = import_module("slmtok._native")
    with pytest.raises(InternalError, match="the engine failed: on purpose") as caught:
        native.provoke_panic("on purpose")
    assert isinstance(caught.value, SlmtokError)
    assert isinstance(caught.value, RuntimeError)
    assert caught.value.fix is not None
    assert "report" in caught.value.fix
    # What Rust prints of a panic goes to stderr; nothing may reach stdout.
    assert capfd.readouterr().out == ""
    # The engine works on.
    assert len(Pattern("slm").split("two words")) == 3


def test_another_thread_runs_while_the_engine_works() -> None:
    text = b"the cat sat on the mat and the dog sat on the log, " * 600_000
    working, ticks = threading.Event(), []

    def tick() -> None:
        working.wait()
        while working.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    ticking = threading.Thread(target=tick)
    ticking.start()
    counter = Counter(Pattern("slm"), threads=1)
    working.set()
    begun = time.perf_counter()
    counter.feed([text])
    ended = time.perf_counter()
    working.clear()
    ticking.join()
    during = [moment for moment in ticks if begun + 0.002 < moment < ended - 0.002]
    assert ended - begun > 0.01, "too short to tell"
    assert len(during) >= 3
