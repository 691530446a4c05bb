"""Ctrl-C and SIGTERM during a search: the first asks it to end after what is under way, the second ends it at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopping:
    """True once the search was asked to stop. Use as a context; outside the main thread signals are left alone."""

    def __init__(self) -> None:
        self._asked = 0
        self._shielded = False
        self._before: dict[signal.Signals, Any] = {}

    def __call__(self) -> bool:
        return self._asked > 0

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()

    @contextmanager
    def shielded(self) -> Iterator[None]:
        """Nothing is interrupted inside, however often it is asked: results are being stored."""
        self._shielded = True
        try:
            yield
        finally:
            self._shielded = False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self._asked += 1
        if self._asked > 1 and not self._shielded:
            raise KeyboardInterrupt
