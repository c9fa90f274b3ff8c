"""Threads take units from the corpus and encode them in any order; results come out in the order of the corpus.

At most `2 x threads` units are in memory, so that it stays flat however long the corpus is. A unit comes out once no
thread can still get an earlier one: the engine hands units of a file out in ascending order, so a thread that began to
ask after unit k was given away gets a later one.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from slmtok.errors import SlmtokError

if TYPE_CHECKING:
    from slmtok._engine import Documents
    from slmtok.shards.sources import Stretch, Taken
    from slmtok.shards.units import Unit

T = TypeVar("T")
_PATIENCE = 10.0
"""Seconds that the end of a run waits for its threads, each of which is at most a unit away from it."""


class _Key(NamedTuple):
    """Where a result belongs. Faults sort behind results, and among themselves by their line."""

    stretch: int
    order: int
    fault: int = 0
    ticket: int = 0


class _Result(NamedTuple):
    key: _Key
    taken: Taken | None
    encoded: object
    error: BaseException | None


class _Pipeline:
    """What the threads share; everything is guarded by `self.changed`."""

    def __init__(self, stretches: Iterator[Stretch], encode: Callable[[Documents], object], threads: int) -> None:
        self.changed = threading.Condition()
        self.stretches = stretches
        self.opened: list[Stretch] = []
        self.current = -1
        """The stretch that threads take from."""
        self.given = -1
        """The last unit of it that was given away."""
        self.asking: dict[int, _Key] = {}
        """For each thread that waits for a unit, the earliest that it may get."""
        self.ready: list[_Result] = []
        self.room = 2 * threads
        self.tickets = 0
        self.ended = self.stopped = False
        self.encode = encode

    # --- threads ------------------------------------------------------------------------------------------------------

    def work(self, number: int) -> None:
        """The life of one thread."""
        while self._ask(number):
            taken: Taken | None = None
            error: BaseException | None = None
            encoded: object = None
            stretch = self.asking[number].stretch
            try:
                taken = self.opened[stretch].take()
            except BaseException as fault:
                error = fault
            self._answered(number, stretch, taken, error)
            if taken is None:
                continue
            try:
                encoded = self.encode(taken.documents)
            except BaseException as fault:
                error = fault
            self._done(stretch, taken, encoded, error)

    def _ask(self, number: int) -> bool:
        """Waits for room, then notes what this thread may get. False once there is nothing more to do."""
        with self.changed:
            while not self.room and not (self.stopped or self.ended):
                self.changed.wait()
            if self.current < 0 and not self.ended:
                self._advance(-1)
            if self.stopped or self.ended:
                return False
            self.room -= 1
            self.asking[number] = _Key(self.current, self.given + 1)
            return True

    def _answered(self, number: int, stretch: int, taken: Taken | None, error: BaseException | None) -> None:
        with self.changed:
            bound = self.asking.pop(number)
            if taken is not None:
                # Noted while it is encoded, so that nothing behind it is let past.
                if stretch == self.current:
                    self.given = max(self.given, taken.order)
                self.asking[-1 - taken.order - (stretch << 40)] = _Key(stretch, taken.order)
            elif error is not None:
                self._fail(bound, error)
            else:
                self.room += 1
                self._advance(stretch)
            self.changed.notify_all()

    def _advance(self, stretch: int) -> None:
        """Goes on to the next stretch, unless another thread has."""
        if stretch != self.current:
            return
        try:
            self.opened.append(next(self.stretches))
        except StopIteration:
            self.ended = True
        except BaseException as error:
            self._fail(_Key(stretch, self.given + 1), error)
        else:
            self.current, self.given = self.current + 1, -1

    def _fail(self, bound: _Key, error: BaseException) -> None:
        line = error.fields.get("line") if isinstance(error, SlmtokError) else None
        self.tickets += 1
        key = _Key(bound.stretch, bound.order, line if isinstance(line, int) else 1 << 62, self.tickets)
        heapq.heappush(self.ready, _Result(key, None, None, error))
        self.ended = True

    def _done(self, stretch: int, taken: Taken, encoded: object, error: BaseException | None) -> None:
        with self.changed:
            del self.asking[-1 - taken.order - (stretch << 40)]
            key = _Key(stretch, taken.order)
            if error is not None:
                self._fail(key, error)
            else:
                heapq.heappush(self.ready, _Result(key, taken, encoded, None))
            self.changed.notify_all()

    # --- the committer ------------------------------------------------------------------------------------------------

    def next(self) -> _Result | None:
        """The next result in order; None at the end."""
        with self.changed:
            while True:
                if self.ready and self._certain(self.ready[0].key):
                    self.room += 1
                    self.changed.notify_all()
                    return heapq.heappop(self.ready)
                if self.ended and not self.asking and not self.ready:
                    return None
                self.changed.wait()

    def _certain(self, key: _Key) -> bool:
        """Whether nothing earlier can still come: a thread that may get unit k when k is here gets a later one."""
        if key.fault:
            return all((bound.stretch, bound.order) > (key.stretch, key.order) for bound in self.asking.values())
        return all((bound.stretch, bound.order) >= (key.stretch, key.order) for bound in self.asking.values())

    def stop(self) -> None:
        """Lets the threads end."""
        with self.changed:
            self.stopped = True
            self.changed.notify_all()


def in_order(
    stretches: Iterator[Stretch], encode: Callable[[Documents], T], threads: int
) -> Generator[tuple[Unit, T], None, None]:
    """(unit, what `encode` made of its documents), in the order of the corpus.

    Raises what reading and encoding raise, behind everything that comes before it.
    """
    pipeline = _Pipeline(stretches, encode, threads)
    workers = [
        threading.Thread(target=pipeline.work, args=(number,), name=f"slmtok-pack-{number}", daemon=True)
        for number in range(threads)
    ]
    for worker in workers:
        worker.start()
    try:
        while (result := pipeline.next()) is not None:
            if result.error is not None:
                raise result.error
            assert result.taken is not None
            unit = pipeline.opened[result.key.stretch].place(result.taken)
            if unit is not None:
                yield unit, result.encoded  # type: ignore[misc]  # made by `encode`
    finally:
        pipeline.stop()
        for worker in workers:
            worker.join(_PATIENCE)
