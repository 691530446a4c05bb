"""Distributions of lengths and think times against the published figures they are fitted to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from simcore.errors import InputError
from simcore.specs.base import validate, yaml_dict
from simcore.workloads.amounts import PUBLISHED, Think, Tokens, uniforms

U = uniforms(0, "test", 40_000)

# name: quantile or mean -> published value, tolerance
PUBLISHED_FACTS: dict[str, dict[str, tuple[float, float]]] = {
    "azure-conv-input": {"p50": (1020, 0.02), "p99": (4142, 0.04), "mean": (1154.7, 0.08)},
    "azure-conv-output": {"p50": (129, 0.02), "p99": (601, 0.04)},
    "azure-code-input": {"p50": (1469, 0.02), "p99": (7436, 0.04), "mean": (2047.85, 0.10)},
    "azure-code-output": {"p50": (13, 0.08), "p99": (251, 0.06), "mean": (27.88, 0.08)},
    "mooncake-conversation-input": {"p50": (6909, 0.02), "p90": (27_367, 0.03), "p99": (85_400, 0.05), "mean": (12_035, 0.05)},
    "mooncake-conversation-output": {"p50": (350, 0.02), "p90": (597, 0.13), "p99": (1118, 0.04)},
    "sharegpt-input": {"mean": (161.31, 0.02)},
    "sharegpt-output": {"mean": (337.99, 0.02)},
    "coding-agent-think": {"p50": (13, 0.03), "p90": (185, 0.04)},
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_distributions_hit_their_figures(name: str) -> None:
    spec = validate(Think if name.endswith("think") else Tokens, name)
    values = spec.draw(U)
    for figure, (expected, tolerance) in PUBLISHED_FACTS[name].items():
        ours = values.mean() if figure == "mean" else np.percentile(values, int(figure[1:]))
        assert ours == pytest.approx(expected, rel=tolerance), figure


def test_published_quantiles_are_those_of_the_data(shared: Path) -> None:
    for kind in ("conv", "code"):
        packed = (shared / f"traces/kv/azure_llm_2023_{kind}.csv.zst").read_bytes()
        text = zstandard.ZstdDecompressor().decompressobj().decompress(packed).decode()
        rows = np.array([line.split(",")[1:] for line in text.split("\n")[1:] if line], int)
        for column, side in enumerate(("input", "output")):
            fit = PUBLISHED[f"azure-{kind}-{side}"]
            assert np.percentile(rows[:, column], [50, 99]).astype(int).tolist() == [fit["p50"], fit["p99"]]


@given(st.integers(1, 10**6))
def test_a_number_is_a_constant(n: int) -> None:
    assert validate(Tokens, {"constant": n}).draw(U[:5]).tolist() == [n] * 5


def test_the_other_ways() -> None:
    uniform = validate(Tokens, {"low": 3, "high": 6}).draw(U)
    assert np.bincount(uniform)[3:].tolist() == pytest.approx([10_000] * 4, rel=0.05)
    assert uniform.max() == 6
    times = validate(Think, {"mean": "30 s"}).draw(U)
    assert times.mean() == pytest.approx(30, rel=0.02)
    assert np.percentile(times, 50) == pytest.approx(30 * np.log(2), rel=0.03)
    spread = validate(Think, {"low": "1 s", "high": "3 s"}).draw(U)
    assert (spread.min() >= 1, spread.max() <= 3, round(float(spread.mean()), 1)) == (True, True, 2.0)
    assert validate(Think, "250 ms").draw(U[:2]).tolist() == [0.25, 0.25]
    assert validate(Tokens, {"mean": 1}).draw(U[:3]).tolist() == [1, 1, 1]
    assert set(validate(Tokens, {"p50": 8, "p90": 8}).draw(U).tolist()) == {8}


def test_bounds_clip() -> None:
    values = validate(Tokens, {"published": "azure-conv-input", "at_least": 500, "at_most": 2000}).draw(U)
    assert (values.min(), values.max()) == (500, 2000)
    assert validate(Think, {"published": "coding-agent-think", "at_most": "60 s"}).draw(U).max() == 60


@pytest.mark.parametrize(
    ("cls", "data", "message"),
    [
        (Tokens, {}, "needs exactly one of: constant, p50 with p90 or p99.*got none of them"),
        (Tokens, {"p50": 5}, "needs exactly one of.*got p50"),
        (Tokens, {"p50": 5, "p99": 9, "mean": 7}, "needs exactly one of.*got p50, p99, mean"),
        (Tokens, {"low": 5, "high": 4}, "high: must not be below low; got 4"),
        (Tokens, {"p50": 5, "p99": 4}, "p99: must not be below p50"),
        (Tokens, {"constant": 0}, "constant: must be greater than or equal to 1"),
        (Tokens, "azure-conv-inptu", "published: unknown distribution; got azure-conv-inptu. Did you mean azure-conv-input"),
        (Tokens, {"constnat": 4}, "constnat: unknown key. Did you mean constant"),
        (Think, {"p50": "0 s", "p90": "1 s"}, "p50: must be positive"),
        (Think, {"constant": 30}, "constant: needs a unit"),
        (Think, "30 GiB", "constant: must be a quantity of seconds"),
        (Think, {"constant": "-3 s"}, "constant: must be greater than or equal to 0"),
    ],
)
def test_mistakes_are_named(cls: type[Tokens] | type[Think], data: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        validate(cls, data)


@pytest.mark.parametrize("data", ["azure-conv-input", {"mean": 3.5}, {"low": 2, "high": 9, "at_most": 7}, {"constant": 4}])
def test_specs_survive_a_round_trip(data: Any) -> None:
    spec = validate(Tokens, data)
    assert validate(Tokens, yaml_dict(spec)) == spec
    assert hash(spec) == hash(validate(Tokens, data))


def test_uniforms_are_open_and_streams_differ() -> None:
    assert (U.min() > 0, U.max() < 1) == (True, True)
    assert uniforms(0, "a", 3).tolist() == uniforms(0, "a", 4)[:3].tolist()
    assert uniforms(0, "a", 3).tolist() != uniforms(0, "b", 3).tolist()
    assert uniforms(0, "a", 3).tolist() != uniforms(1, "a", 3).tolist()
