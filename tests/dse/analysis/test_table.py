"""Tables, numbers and words as they appear on screen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.analysis.labels import abbreviate, exact_text, heading, metric_label, phrase, value_text
from dse.analysis.table import Column, render, table_width
from dse.analysis.values import duration, listing, percent, plain_number, scale_for, wrapped
from simcore import find_metric

WORDS = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=12)


def test_columns_align_under_a_shared_group() -> None:
    columns = [
        Column("design", "", ("7", "*12")),
        Column("KV", "", ("fp8", "bf16"), "left"),
        Column("", "HBM", ("41", "9"), group="tokens from (%)"),
        Column("", "prefill", ("20", "91"), group="tokens from (%)"),
    ]
    assert render(columns) == [
        " design  KV    tokens from (%)",
        "               HBM     prefill",
        "      7  fp8    41          20",
        "    *12  bf16    9          91",
    ]


def test_a_table_without_units_has_one_heading_line() -> None:
    assert render([Column("design", "", ("1",))]) == [" design", "      1"]


@given(st.lists(st.tuples(WORDS, WORDS, st.sampled_from(["", "group one", "g"])), min_size=1, max_size=6))
def test_no_line_is_wider_than_announced(parts: list[tuple[str, str, str]]) -> None:
    columns = [Column(head, "", (cell,), group=group) for head, cell, group in parts]
    assert max(map(len, render(columns))) <= table_width(columns)


@pytest.mark.parametrize(
    ("unit", "values", "texts"),
    [
        ("s", [2.21, 0.452], ["2210", "452"]),
        ("s", [0.0123, 0.00456], ["12.3", "4.6"]),
        ("s", [80.0, 3.0], ["80.0", "3.0"]),
        ("ratio", [0.8, 0.052], ["80.0", "5.2"]),
        ("USD", [704.4, 1856.0], ["704", "1856"]),
        ("bytes", [13 * 2**30, None], ["13.0", "?"]),
        ("count", [3.0, 12.0], ["3", "12"]),
        ("s", [float("inf"), 0.5], ["inf", "500"]),
        ("s", [], []),
    ],
)
def test_one_unit_and_three_digits_a_column(unit: str, values: list[float | None], texts: list[str]) -> None:
    scale = scale_for(unit, values)
    assert [scale.number(v) for v in values] == texts


def test_a_scale_says_its_unit() -> None:
    assert scale_for("s", [0.56]).text(0.56) == "560 ms"
    assert scale_for("ratio", [0.5]).text(None) == "? %"


def test_a_value_that_rounds_to_nothing_has_no_sign() -> None:
    assert scale_for("USD", [704.0]).number(-0.2) == "0"
    assert percent(-0.001) == "0"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (9.94, "9.9 s"), (41.3, "41 s"), (125, "2 min 5 s"), (8040, "2 h 14 min"), (-1, "0.0 s")],
)
def test_durations_read_like_speech(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_small_words() -> None:
    assert listing([]) == "" and listing(["a"]) == "a" and listing(["a", "b", "c"]) == "a, b and c"
    assert plain_number(1536.0) == "1536" and plain_number(0.123456) == "0.1235"
    assert wrapped("  one two three", 10, "    ") == ["  one two", "    three"]


@pytest.mark.parametrize(
    ("name", "label"),
    [("ttft_p99", "TTFT p99"), ("hbm_cost_usd", "HBM cost"), ("e2e_p50", "E2E p50"), ("throughput", "throughput")],
)
def test_metrics_have_the_names_of_the_field(name: str, label: str) -> None:
    assert metric_label(find_metric(name)) == label


@pytest.mark.parametrize(
    ("path", "unit", "lines"),
    [
        ("tiers.hbm.capacity", "GiB", ("pool", "GiB/GPU")),
        ("tiers.cxl.capacity", "GiB", ("CXL", "GiB")),
        ("tiers.dram.policy", "", ("DRAM", "policy")),
        ("tiers.*.policy", "", ("tiers", "policy")),
        ("kv_format", "", ("KV", "")),
        ("kv_format.default.k", "", ("KV", "k")),
        ("engine.block_size", "", ("block", "size")),
        ("gpu.count", "", ("count", "")),
    ],
)
def test_a_path_becomes_two_heading_lines(path: str, unit: str, lines: tuple[str, str]) -> None:
    assert heading(path, unit) == lines


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        ("tiers.hbm.policy", "sieve", "sieve in HBM"),
        ("tiers.cxl.placement", "inclusive", "inclusive CXL"),
        ("tiers.cxl.capacity", "0", "no CXL"),
        ("tiers.cxl.capacity", "64 GiB", "CXL 64 GiB"),
        ("tiers.*.policy", "lru", "policy lru in every tier"),
        ("engine.load", "cheaper", "load cheaper"),
        ("kv_format", "bf16", "kv_format bf16"),
    ],
)
def test_a_dimension_with_a_value_reads_like_speech(path: str, value: str, text: str) -> None:
    assert phrase(path, value) == text


def test_values_of_a_point() -> None:
    assert value_text(None) == "-" and value_text(True) == "yes" and value_text({"k": "bf16", "v": "bf16"}) == "bf16"
    assert exact_text(13 * 2**30, "bytes") == "13 GiB" and exact_text("13 GiB", "bytes") == "13 GiB"
    assert exact_text(0, "bytes") == "0" and exact_text(32, "number") == "32"


def test_abbreviations_stay_distinct() -> None:
    assert abbreviate(["fp8_e4m3", "bf16"]) == ["fp8", "bf16"]
    assert abbreviate(["fp8_e4m3", "fp8_e5m2"]) == ["fp8_e4m3", "fp8_e5m2"]
    assert abbreviate(["exclusive", "inclusive"]) == ["excl", "incl"]
    assert abbreviate(["cheaper", "always"]) == ["cheaper", "always"]
