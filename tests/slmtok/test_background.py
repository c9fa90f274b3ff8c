"""Work in a thread: its result, its error, and its end before that of the block."""

from __future__ import annotations

import threading

import pytest

from slmtok.background import in_background


def test_the_result_is_that_of_another_thread():
    with in_background(threading.get_ident) as result:
        assert result() == result() != threading.get_ident()


def test_the_error_is_raised_where_the_result_is_asked_for():
    with in_background(lambda: 1 // 0) as result, pytest.raises(ZeroDivisionError):
        result()


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_the_block_ends_after_the_work(error):
    may_end, ended = threading.Event(), []

    def work() -> None:
        may_end.wait(60)
        ended.append(True)

    with pytest.raises(error), in_background(work):
        threading.Timer(0.05, may_end.set).start()
        raise error
    assert ended
