"""Quantities: what parses to what, what is refused, and that printing loses nothing it promises to keep."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcore import units
from simcore.errors import InputError
from simcore.metrics import METRICS
from simcore.specs.base import yaml_name


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("64 GiB", 64 * 2**30),
        ("64GiB", 64 * 2**30),
        ("1.5 GiB", 3 * 2**29),
        ("80 GB", 80 * 10**9),
        ("7 B", 7),
        (0, 0),
        ("0", 0),
    ],
)
def test_bytes(text: object, value: int) -> None:
    assert units.parse_bytes(text) == value


@pytest.mark.parametrize(("text", "value"), [("80 us", 80e-6), ("80 ms", 0.08), ("2 min", 120.0), ("1e-3 s", 0.001), (0, 0.0)])
def test_seconds(text: object, value: float) -> None:
    assert units.parse_seconds(text) == value


@pytest.mark.parametrize(
    ("text", "value"), [("3.2 TB/s", 3.2e12), ("400 Gbit/s", 5e10), ("100 Gbps", 1.25e10), ("1 GiB/s", 2**30)]
)
def test_bandwidth(text: str, value: float) -> None:
    assert units.parse_bandwidth(text) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("5 %", (0.05, "fraction")),
        ("4 /s", (4.0, "per_second")),
        ("0.02", (0.02, "number")),
        ("989.5 TFLOPS", (989.5e12, "flops")),
    ],
)
def test_any_dimension(text: str, pair: tuple[float, str]) -> None:
    value, dimension = units.parse_quantity(text)
    assert (pytest.approx(value), dimension) == pair


@pytest.mark.parametrize(
    "value", [64, 1.5, "64", True, None, "GiB", "64 gigs", "nan GiB", "64 GiB GiB", [1], "1e999 s", float("inf")]
)
def test_what_is_no_capacity(value: object) -> None:
    with pytest.raises(InputError):
        units.parse_bytes(value)


def test_a_number_of_thousands_of_digits_is_refused() -> None:
    with pytest.raises(InputError, match="at most 60 digits"):
        units.parse_bytes("9" * 5000 + " GiB")


def test_every_metric_can_be_limited_in_its_own_unit() -> None:
    for metric in METRICS.values():
        if metric.unit not in ("ratio", "bool", "count"):
            assert units.parse_quantity(f"1 {'B' if metric.unit == 'bytes' else metric.unit}")[0] == 1, metric.name


def test_a_bare_number_is_shown_the_right_form() -> None:
    with pytest.raises(InputError, match='needs a unit; got 64. Write it like "64 GiB"'):
        units.parse_bytes(64)


def test_a_unit_in_the_wrong_case_is_recognised() -> None:
    with pytest.raises(InputError, match="Did you mean GiB"):
        units.parse_bytes("3 gib")


def test_gib_and_gb_are_never_mixed() -> None:
    assert units.parse_bytes("80 GB") < units.parse_bytes("80 GiB")


@given(st.integers(0, 2**62))
def test_exact_bytes_round_trip(n: int) -> None:
    assert units.parse_bytes(units.exact_bytes(n)) == n


@pytest.mark.parametrize(
    ("n", "text"),
    [
        (64 * 2**30, "64 GiB"),
        (15 * 10**12, "15 TB"),
        (13_700_000_000, "13700 MB"),
        (512_000, "500 KiB"),
        (3 * 2**29, "1536 MiB"),
        (117_440_513, "117440513 B"),
        (0, "0 B"),
    ],
)
def test_exact_bytes_are_short(n: int, text: str) -> None:
    """As many digits as needed, and not more: a device of 15 TB is no 14648437500 KiB."""
    assert units.exact_bytes(n) == text


@given(st.floats(1e-12, 1e6))
def test_printed_time_is_within_half_a_per_cent(seconds: float) -> None:
    assert units.parse_seconds(units.format_seconds(seconds)) == pytest.approx(seconds, rel=6e-3, abs=1e-11)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.56, "s", "560 ms"),
        (13 * 2**30, "bytes", "13.0 GiB"),
        (0.0123, "ratio", "1.23 %"),
        (704.2, "USD", "704 USD"),
        (None, "s", "unknown"),
        (1.0, "bool", "yes"),
        (1234.5, "tokens/s", "1234 tokens/s"),
        (0.0, "s", "0 s"),
    ],
)
def test_a_printed_value_carries_its_unit(value: float | None, unit: str, text: str) -> None:
    assert units.format_value(value, unit) == text


@pytest.mark.parametrize(
    ("field", "name"),
    [
        ("capacity_bytes", "capacity"),
        ("read_bandwidth_bytes_per_s", "read_bandwidth"),
        ("usd_per_gib", "usd_per_gib"),
        ("ttft_s", "ttft"),
    ],
)
def test_yaml_names_have_no_unit(field: str, name: str) -> None:
    assert yaml_name(field) == name
