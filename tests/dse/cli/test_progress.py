"""The progress line: what it says, that it never wraps, and that it stays out of the way."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.progress import Progress, eta_text, rate_text


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def drawn(terminal: Terminal) -> list[str]:
    """The lines shown one after the other."""
    return [line.removesuffix("\x1b[K") for line in terminal.getvalue().rstrip("\n").split("\r")[1:]]


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (100, "kv_cxl  117/200  58 %  hypervolume 0.884 (+0.002)  front 8  feasible 86 %  4.8/s  ETA 0:17"),
        (80, "kv_cxl  117/200  hv 0.884 (+0.002)  front 8  feasible 86 %  4.8/s  ETA 0:17"),
        (70, "kv_cxl  117/200  hv 0.884  front 8  feasible 86 %  4.8/s  ETA 0:17"),
        (40, "kv_cxl  117/200  front 8  ETA 0:17"),
    ],
)
def test_the_line_as_documented(width: int, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    terminal, clock = Terminal(), Clock()
    progress = Progress("kv_cxl", 200, stream=terminal, clock=clock)
    progress(105, feasible=90, front=8, hypervolume=0.882)
    clock.now = 2.5
    progress(117, feasible=101, front=8, hypervolume=0.884)
    assert drawn(terminal)[-1] == expected


@given(
    width=st.integers(40, 120),
    name=st.text("abcdefghij_", min_size=1, max_size=30),
    total=st.integers(1, 100_000),
    data=st.data(),
)
def test_the_line_never_wraps(width: int, name: str, total: int, data: st.DataObject) -> None:
    done = data.draw(st.integers(0, total))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(width))
        terminal, clock = Terminal(), Clock()
        progress = Progress(name, total, stream=terminal, clock=clock)
        progress(0, feasible=0, front=0, hypervolume=0.0)
        clock.now = data.draw(st.floats(0.11, 1e6))
        progress(done, feasible=done, front=done, hypervolume=0.123)
        assert all(len(line) < width for line in drawn(terminal))


def test_elsewhere_one_plain_line_each_tenth() -> None:
    stream, clock = io.StringIO(), Clock()
    progress = Progress("s", 50, stream=stream, clock=clock)
    progress.start()
    for done in range(51):
        clock.now += 1
        progress(done, feasible=done, front=3, hypervolume=0.5)
    progress(50, feasible=50, front=3, hypervolume=0.5)
    progress.close()
    lines = stream.getvalue().splitlines()
    assert [line.split()[1] for line in lines] == [f"{n}/50" for n in range(5, 51, 5)]
    assert "\r" not in stream.getvalue() and "\x1b" not in stream.getvalue()
    assert lines[-1].endswith("1.0/s  in 0:51")


def test_time_left_follows_the_recent_rate_not_the_compiling() -> None:
    stream, clock = Terminal(), Clock()
    progress = Progress("s", 100, stream=stream, clock=clock)
    clock.now = 60.0
    for done in range(1, 51):
        clock.now += 0.5
        progress(done, feasible=done, front=1, hypervolume=0.1)
    assert drawn(stream)[-1].endswith("2.0/s  ETA 0:25")


def test_quiet_writes_nothing_and_redraws_are_rare() -> None:
    stream, clock = Terminal(), Clock()
    quiet = Progress("s", 10, stream=stream, quiet=True, clock=clock)
    quiet.start()
    quiet(10, feasible=1, front=1, hypervolume=0.1)
    quiet.close()
    assert stream.getvalue() == ""
    progress = Progress("s", 1000, stream=stream, clock=clock)
    for done in range(1000):
        clock.now += 0.01
        progress(done, feasible=done, front=1, hypervolume=0.1)
    assert len(drawn(stream)) <= 101


def test_an_error_takes_the_line_away() -> None:
    stream = Terminal()
    progress = Progress("s", 10, stream=stream)
    progress.start()
    progress.erase()
    progress.close()
    assert re.fullmatch(r"\rs  0/10  starting; .*\x1b\[K\r\x1b\[K", stream.getvalue())


def test_small_texts() -> None:
    assert [eta_text(s) for s in (0, 17.4, 725, 8047)] == ["0:00", "0:17", "12:05", "2:14:07"]
    assert [rate_text(r) for r in (0, 4.83, 120, 0.25)] == ["-/s", "4.8/s", "120/s", "4.0 s each"]
