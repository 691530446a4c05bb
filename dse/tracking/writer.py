"""One background thread that writes to a slow or absent recipient without ever delaying the search."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

E = TypeVar("E")
Event = TypeVar("Event", contravariant=True)
Beat = Callable[[], None]


class Abandoned(Exception):
    """Nobody waits for the writer any more: it must not go on behind the back of whoever records next."""


class Sink(Protocol[Event]):
    """Where events go. Runs on the writer thread only."""

    def write(self, events: Sequence[Event], beat: Beat) -> int:
        """Record some of the first `events`, in order; how many are done.

        Must be idempotent: what failed half-way is handed over again. Calls `beat` before each change it makes: that tells of
        progress, and raises `Abandoned` once the writer has been given up.
        """


class Writer(Generic[E]):
    """Hands events to a sink, in order. A failing sink is tried again, later and later; nothing is ever dropped before `close`.

    Args:
        sink: where events go.
        retry_s: pause after the first failure; doubles with each further one.
        retry_max_s: longest pause between two tries.
        clock: seconds, monotonic.
    """

    def __init__(
        self,
        sink: Sink[E],
        *,
        retry_s: float = 2.0,
        retry_max_s: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sink, self._retry_s, self._retry_max_s, self._clock = sink, retry_s, retry_max_s, clock
        self._events: deque[E] = deque()
        self._changed = threading.Condition()
        self._closing = self._abandoned = False
        self._error: Exception | None = None
        self._beat_at = clock()
        self._thread = threading.Thread(target=self._run, name="tracking", daemon=True)
        self._thread.start()

    def put(self, event: E) -> None:
        """Queue an event; returns at once."""
        with self._changed:
            self._events.append(event)
            self._changed.notify()

    def close(self, patience_s: float, limit_s: float) -> tuple[list[E], Exception | None]:
        """Let the thread finish what is queued, with one more try if it was failing.

        Gives up when nothing moved for `patience_s`, or after `limit_s`; an interrupt gives up at once.

        Returns:
            What was not recorded, and the last failure if there was one.
        """
        with self._changed:
            self._closing = True
            self._changed.notify()
        start = self._clock()
        self._beat_at = start
        try:
            while self._thread.is_alive():
                self._thread.join(0.05)
                now = self._clock()
                if now - self._beat_at > patience_s or now - start > limit_s:
                    break
        except KeyboardInterrupt:
            pass
        with self._changed:
            self._abandoned = self._thread.is_alive()
            return list(self._events), self._error

    def _beat(self) -> None:
        if self._abandoned:
            raise Abandoned
        self._beat_at = self._clock()

    def _run(self) -> None:
        failures = 0
        while True:
            with self._changed:
                while not self._events and not self._closing:
                    self._changed.wait()
                if not self._events:
                    return
                last_try, batch = self._closing, list(self._events)
            try:
                done = self._sink.write(batch, self._beat)
            except Exception as error:
                with self._changed:
                    self._error = error
                if last_try or self._abandoned:
                    return
                self._pause(min(self._retry_s * 2**failures, self._retry_max_s))
                failures += 1
                continue
            failures = 0
            self._beat_at = self._clock()
            with self._changed:
                self._error = None
                for _ in range(done):
                    self._events.popleft()

    def _pause(self, seconds: float) -> None:
        until = self._clock() + seconds
        with self._changed:
            while not self._closing and (left := until - self._clock()) > 0:
                self._changed.wait(left)
