"""Time stamps: every spelling, every unit, exact differences."""

from __future__ import annotations

from typing import Any

import pytest

from simcore.errors import InputError
from simcore.traces.stamps import Date, parse_stamp, since_first, spaced, unit_of


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("1970-01-01 00:00:01", 10**9),
        ("1970-01-01T00:00:01.5Z", 1_500_000_000),
        ("1970-01-01 00:00:00.0000001", 100),
        ("1970-01-01 01:00:00+01:00", 0),
        ("1970-01-01 00:00:00-0230", 9000 * 10**9),
        (" 2023-11-16 18:15:46.6805900 ", 1_700_158_546_680_590_000),
        ("2024-05-10 00:00:00.009930+00:00", 1_715_299_200_009_930_000),
    ],
)
def test_dates(text: str, nanoseconds: int) -> None:
    stamp = parse_stamp(text)
    assert isinstance(stamp, Date)
    assert int(stamp) == nanoseconds


def test_numbers_and_numbers_as_text() -> None:
    assert [parse_stamp(x) for x in (0, 1.5, "27", "1.5", "1e3")] == [0, 1.5, 27, 1.5, 1000.0]
    assert type(parse_stamp("1760428221546118123")) is int


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "timestamp: must be a number; got null"),
        (True, "must be a number; got true"),
        ([1], "must be a number"),
        ("soon", "must be a number or a date; got soon"),
        ("", "must be a number or a date"),
        ("١٢", "must be a number or a date"),
        ("9" * 5000, "must be a number or a date"),
        (-1, "must not be negative"),
        ("-1", "must not be negative"),
        (float("inf"), "must be finite"),
        ("1e999", "must be finite"),
        ("2023-02-30 00:00:00", "is no date"),
        ("1969-12-31 23:59:59", "must not lie before 1970"),
    ],
)
def test_what_is_no_time(value: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_stamp(value)


def test_the_first_stamp_tells_the_unit() -> None:
    epoch = {"s": 1.7e9, "ms": 1.7e12, "us": 1.7e15, "ns": 1.7e18}
    assert {unit: unit_of(first, None, "ms") for unit, first in epoch.items()} == {unit: unit for unit in epoch}
    assert [unit_of(3, None, unit) for unit in ("s", "ms", "us")] == ["s", "ms", "us"]
    assert unit_of(1.7e9, "us", "ms") == "us"
    with pytest.raises(InputError, match="time_unit: must be one of s, ms, us, ns; got min"):
        unit_of(3, "min", "ms")
    with pytest.raises(InputError, match="time_unit: the times are dates, which need no unit; got s"):
        unit_of(Date(5), "s", "ms")


def test_whole_numbers_are_subtracted_exactly() -> None:
    first = 1_760_428_221_546_118_123
    assert since_first([first + 7, first, first + 10**9 + 1], None, "ms").tolist() == [7e-9, 0.0, 1.000000001]
    with pytest.raises(InputError, match=r"timestamp\[1\]: must be dates or numbers throughout"):
        since_first([Date(1), 2], None, "ms")


def test_even_spacing() -> None:
    assert spaced(3, 4.0).tolist() == [0.0, 0.25, 0.5]
    for rate in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(InputError, match="rate: must be positive"):
            spaced(3, rate)
