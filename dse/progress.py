"""One progress line while a search runs: rewritten in place on a terminal, a plain line per 10 % elsewhere."""

from __future__ import annotations

import shutil
import sys
import time
from collections import deque
from collections.abc import Callable
from typing import TextIO

REDRAW_S = 0.1
RATE_WINDOW = 32
"""Batches the rate is taken over, so that compiling before the first result does not spoil the time left."""


def eta_text(seconds: float) -> str:
    """Time left as "0:17", "12:05" or "2:14:07"."""
    left = max(0, round(seconds))
    hours, rest = divmod(left, 3600)
    minutes = f"{rest // 60:02d}" if hours else str(rest // 60)
    return f"{hours}:{minutes}:{rest % 60:02d}" if hours else f"{minutes}:{rest % 60:02d}"


def rate_text(per_second: float) -> str:
    """Designs per second, or seconds per design when slower than one."""
    if per_second <= 0:
        return "-/s"
    if per_second >= 99.5:
        return f"{per_second:.0f}/s"
    return f"{per_second:.1f}/s" if per_second >= 1 else f"{1 / per_second:.1f} s each"


class Progress:
    """Called after every batch of a search with the state so far; writes to standard error only.

    Args:
        name: the study.
        total: designs in the budget.
        stream: where to write; standard error by default.
        quiet: write nothing.
        clock: seconds, monotonic.
    """

    def __init__(
        self,
        name: str,
        total: int,
        *,
        stream: TextIO | None = None,
        quiet: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name, self.total, self.quiet = name, max(total, 1), quiet
        self.stream = sys.stderr if stream is None else stream
        self.live = self.stream.isatty()
        self._clock = clock
        self._start = clock()
        self._recent: deque[tuple[float, int]] = deque(maxlen=RATE_WINDOW)
        self._drawn_at = -REDRAW_S
        self._tenth = 0
        self._volume = 0.0
        self._gain = 0.0
        self._open = False

    def start(self) -> None:
        """Say on a terminal that the search is under way: the first design takes longest, it compiles the simulator."""
        if self.live and not self.quiet:
            self._draw(f"{self.name}  0/{self.total}  starting; the first design compiles the simulator", -REDRAW_S)

    def __call__(self, done: int, *, feasible: int, front: int, hypervolume: float) -> None:
        """Show that `done` designs are stored, `feasible` of them feasible, `front` on the front."""
        self._recent.append((self._clock(), done))
        if hypervolume > self._volume:
            self._gain, self._volume = hypervolume - self._volume, hypervolume
        if self.quiet:
            return
        now, last = self._recent[-1][0], done >= self.total
        if self.live:
            if last or now - self._drawn_at >= REDRAW_S:
                self._draw(self.line(done, feasible, front), now)
        elif done * 10 // self.total > self._tenth:
            self._tenth = done * 10 // self.total
            print(self.line(done, feasible, front), file=self.stream, flush=True)

    def line(self, done: int, feasible: int, front: int) -> str:
        """The line, with what matters least left out until it fits the terminal."""
        rate = self._rate()
        gain = f" (+{self._gain:.3f})" if 0.0005 <= self._gain < self._volume else ""
        parts = {
            "name": self.name,
            "count": f"{done}/{self.total}",
            "percent": f"{100 * done / self.total:.0f} %",
            "volume": f"hypervolume {self._volume:.3f}{gain}",
            "front": f"front {front}",
            "feasible": f"feasible {100 * feasible / done:.0f} %" if done else "feasible -",
            "rate": rate_text(rate),
            "eta": f"ETA {eta_text((self.total - done) / rate)}" if rate > 0 else "ETA -",
        }
        if done >= self.total:
            parts["eta"] = f"in {eta_text(self._clock() - self._start)}"
        shorter = {"volume": f"hv {self._volume:.3f}{gain}"}, {"volume": f"hv {self._volume:.3f}"}
        width = shutil.get_terminal_size((80, 24)).columns - 1 if self.live else sys.maxsize
        text = "  ".join(parts.values())
        for step in ("percent", *shorter, "rate", "feasible", "volume", "front"):
            if len(text) <= width:
                break
            if isinstance(step, str):
                del parts[step]
            else:
                parts |= step
            text = "  ".join(parts.values())
        return text[:width]

    def _rate(self) -> float:
        (begin, before), (end, after) = self._recent[0], self._recent[-1]
        return (after - before) / (end - begin) if end > begin else 0.0

    def _draw(self, text: str, now: float) -> None:
        self.stream.write(f"\r{text}\x1b[K")
        self.stream.flush()
        self._drawn_at, self._open = now, True

    def close(self) -> None:
        """Leave the line behind and go to a fresh one; harmless when nothing was drawn or twice."""
        self._end("\n")

    def erase(self) -> None:
        """Take the line away: what comes next is an error."""
        self._end("\r\x1b[K")

    def _end(self, text: str) -> None:
        if self._open:
            self.stream.write(text)
            self.stream.flush()
            self._open = False
