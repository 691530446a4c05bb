"""The background writer: order, patience, nothing dropped."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from dse.tracking.writer import Beat, Writer


class Memory:
    """A sink that takes two events at a time and fails the first `failures` times."""

    def __init__(self, failures: int = 0) -> None:
        self.failures, self.calls = failures, 0
        self.taken: list[int] = []
        self.released = threading.Event()
        self.released.set()

    def write(self, events: Sequence[int], beat: Beat) -> int:
        self.calls += 1
        self.released.wait()
        if self.failures:
            self.failures -= 1
            raise ConnectionError("away")
        self.taken += events[:2]
        return len(events[:2])


def test_everything_arrives_in_order() -> None:
    sink = Memory()
    writer: Writer[int] = Writer(sink)
    for i in range(25):
        writer.put(i)
    assert writer.close(5, 5) == ([], None)
    assert sink.taken == list(range(25))


def test_a_failing_sink_is_tried_again_and_loses_nothing() -> None:
    sink = Memory(failures=3)
    writer: Writer[int] = Writer(sink, retry_s=0.001)
    for i in range(5):
        writer.put(i)
        time.sleep(0.01)
    assert writer.close(5, 5) == ([], None)
    assert sink.taken == list(range(5))


def test_a_dead_sink_is_tried_once_more_at_the_end_and_the_rest_handed_back() -> None:
    sink = Memory(failures=10**6)
    writer: Writer[int] = Writer(sink, retry_s=1000)
    writer.put(1)
    while sink.calls == 0:
        time.sleep(0.001)
    writer.put(2)
    missing, error = writer.close(5, 5)
    assert missing == [1, 2]
    assert isinstance(error, ConnectionError)
    assert sink.calls == 2


def test_a_hanging_sink_delays_neither_put_nor_close() -> None:
    sink = Memory()
    sink.released.clear()
    writer: Writer[int] = Writer(sink)
    start = time.monotonic()
    for i in range(1000):
        writer.put(i)
    assert time.monotonic() - start < 0.5
    missing, error = writer.close(0.2, 5)
    assert time.monotonic() - start < 2
    assert missing == list(range(1000)) and error is None
    sink.released.set()


def test_a_slow_sink_is_waited_for_while_it_moves() -> None:
    class Slow(Memory):
        def write(self, events: Sequence[int], beat: Beat) -> int:
            for _ in range(6):
                time.sleep(0.05)
                beat()
            return super().write(events, beat)

    writer: Writer[int] = Writer(Slow())
    writer.put(1)
    assert writer.close(0.15, 5) == ([], None)


def test_a_limit_ends_the_wait_for_a_sink_that_never_ends() -> None:
    class Endless(Memory):
        def write(self, events: Sequence[int], beat: Beat) -> int:
            while not self.released.is_set():
                time.sleep(0.01)
                beat()
            return super().write(events, beat)

    sink = Endless()
    sink.released.clear()
    writer: Writer[int] = Writer(sink)
    writer.put(1)
    start = time.monotonic()
    assert writer.close(1, 0.3) == ([1], None)
    assert time.monotonic() - start < 1
    sink.released.set()
