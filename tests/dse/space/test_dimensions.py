"""Domains read, listed, and turned into Optuna distributions and back."""

from __future__ import annotations

from typing import Any

import optuna
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.space.dimension import Dimension
from dse.space.domains import range_line, read_domain
from simcore.errors import InputError
from simcore.units import parse_quantity

PATH = "tiers.hbm.capacity"


def dimension(raw: Any) -> Dimension:
    return read_domain(PATH, raw).dimension(PATH, (PATH,))


@pytest.mark.parametrize(
    ("raw", "parameter", "distribution", "first", "last", "size"),
    [
        (
            {"range": ["4 GiB", "48 GiB"], "step": "1 GiB", "log": True},
            f"{PATH} [GiB]",
            optuna.distributions.IntDistribution(4, 48, log=True),
            "4 GiB", "48 GiB", 45,
        ),
        (
            {"range": ["4 GiB", "48 GiB"], "step": "3 GiB", "log": True},
            f"{PATH} [3 GiB]",
            optuna.distributions.IntDistribution(2, 16, log=True),
            "6 GiB", "48 GiB", 15,
        ),
        (
            {"range": [0, "64 GiB"], "step": "16 GiB"},
            f"{PATH} [GiB]",
            optuna.distributions.IntDistribution(0, 64, step=16),
            0, "64 GiB", 5,
        ),
        (
            {"range": ["5 GiB", "48 GiB"], "step": "10 GiB"},
            f"{PATH} [GiB]",
            optuna.distributions.IntDistribution(5, 45, step=10),
            "5 GiB", "45 GiB", 5,
        ),
        (
            {"range": ["512 MiB", "2 GiB"], "step": "512 MiB"},
            f"{PATH} [MiB]",
            optuna.distributions.IntDistribution(512, 2048, step=512),
            "512 MiB", "2 GiB", 4,
        ),
        ({"range": [1, 8]}, PATH, optuna.distributions.IntDistribution(1, 8), 1, 8, 8),
        (
            {"range": [16, 256], "step": 16, "log": True},
            f"{PATH} [16]",
            optuna.distributions.IntDistribution(1, 16, log=True),
            16, 256, 16,
        ),
        (
            {"range": [0, 1], "step": 0.05},
            PATH,
            optuna.distributions.FloatDistribution(0, 1, step=0.05),
            0.0, 1.0, 21,
        ),
        (
            {"range": ["1 ms", "10 ms"], "step": "0.5 ms"},
            f"{PATH} [ms]",
            optuna.distributions.FloatDistribution(1, 10, step=0.5),
            "1 ms", "10 ms", 19,
        ),
        (
            {"range": ["16 GB/s", "64 GB/s"], "step": "8 GB/s"},
            f"{PATH} [GB/s]",
            optuna.distributions.IntDistribution(16, 64, step=8),
            "16 GB/s", "64 GB/s", 7,
        ),
        (["lru", "fifo"], PATH, optuna.distributions.CategoricalDistribution(["lru", "fifo"]), "lru", "fifo", 2),
        ([0, "1 TiB"], PATH, optuna.distributions.CategoricalDistribution(["0", "1 TiB"]), 0, "1 TiB", 2),
        ([True, False], PATH, optuna.distributions.CategoricalDistribution(["true", "false"]), True, False, 2),
    ],
)  # fmt: skip
def test_values_and_distribution(raw: Any, parameter: str, distribution: Any, first: Any, last: Any, size: int) -> None:
    found = dimension(raw)
    values = found.values()
    assert values is not None
    assert (found.parameter, found.distribution(), values[0], values[-1]) == (parameter, distribution, first, last)
    assert found.size() == len(values) == len({repr(v) for v in values}) == size
    assert [found.decode(found.encode(v)) for v in values] == list(values)
    assert all(distribution._contains(distribution.to_internal_repr(found.encode(v))) for v in values)


@pytest.mark.parametrize(
    ("raw", "unit"),
    [
        ({"range": ["4 GiB", "48 GiB"]}, "bytes"),
        ({"range": ["4 GiB", "48 GiB"], "log": True}, "bytes"),
        ({"range": [0.0, 1.0]}, "number"),
        ({"range": ["1 us", "1 ms"], "log": True}, "seconds"),
    ],
)
def test_continuous_range(raw: Any, unit: str) -> None:
    found = dimension(raw)
    assert (found.unit, found.size(), found.values(), found.continuous) == (unit, None, None, True)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    for _ in range(50):
        value = found.suggest(study.ask())
        number = parse_quantity(value)[0]
        assert found.low <= number <= found.high
        assert found.decode(found.encode(value)) == value


def test_choices_may_be_mappings() -> None:
    pair = {"default": {"k": "fp8_e4m3", "v": "bf16"}}
    found = dimension(["bf16", pair])
    assert list(found.labels) == ["bf16", '{"default":{"k":"fp8_e4m3","v":"bf16"}}']
    assert found.decode(found.encode(pair)) == pair


units = st.sampled_from([("GiB", 1), ("MiB", 1), ("ms", 1), ("GB/s", 1), ("", 1), ("s", 1)])


@given(units, st.integers(0, 40), st.integers(0, 200), st.integers(1, 30), st.booleans())
def test_any_stepped_range_round_trips(unit: tuple[str, int], low: int, more: int, step: int, log: bool) -> None:
    def text(number: int) -> Any:
        return f"{number} {unit[0]}" if unit[0] else number

    raw = {"range": [text(low), text(low + more)], "step": text(step), "log": log}
    try:
        found = dimension(raw)
    except InputError:
        assert log and (low == 0 or -(-low // step) > (low + more) // step)
        return
    values = found.values()
    assert values is not None and values == tuple(found.decode(found.encode(v)) for v in values)
    assert all(found.low <= parse_quantity(v)[0] * (1 + 1e-12) for v in values)
    again = dimension(range_line(found))
    assert (again.values(), again.parameter, again) == (values, found.parameter, found)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ([], "at least one choice"),
        (["lru", "lru"], "a choice twice; got lru"),
        (["1 TiB", "1024 GiB"], "1 TiB is 1024 GiB"),
        ([0, "0 GiB"], "a choice twice: 0 is 0 GiB"),
        ("lru", r"Write tiers.hbm.capacity: \[lru\]"),
        (None, "must be a list of choices"),
        ({}, "must have choices or range"),
        ({"choices": ["a"], "range": [1, 2]}, "not both"),
        ({"choices": "a"}, "choices: must be a list"),
        ({"choices": ["a"], "step": 1}, "step: belongs to a range"),
        ({"choices": ["a"], "tei": True}, "tei: unknown key. Did you mean tie"),
        ({"choices": ["a"], "tie": "yes"}, "tie: must be true or false"),
        ({"range": ["48 GiB", "4 GiB"]}, r"low must not be above high.*\{range: \[4 GiB, 48 GiB\]\}"),
        ({"range": "4..48"}, r"must be \[low, high\]"),
        ({"range": [1, 2, 3]}, r"must be \[low, high\]"),
        ({"range": ["4 GiB", 48]}, r"range: needs a unit; got 48. Write .*\{range: \[4 GiB, 48 GiB\]\}"),
        ({"range": ["4 GiB", "48 GiB"], "step": 1}, "step: needs a unit; got 1. Write .*step: 1 GiB"),
        ({"range": ["4 GiB", "48 ms"]}, "mixes bytes and seconds"),
        ({"range": ["4 GiB", "48 GiB"], "step": 0}, "step: must be above 0"),
        ({"range": ["4 GiB", "48 GiB"], "step": "-1 GiB"}, "step: must be above 0; got -1 GiB"),
        ({"range": [0, "48 GiB"], "log": True}, "low must be above 0 when log is true"),
        ({"range": ["5 GiB", "6 GiB"], "step": "4 GiB", "log": True}, "holds no multiple of the step 4 GiB"),
        ({"range": ["4 GiBB", "5 GiB"]}, r"range\[0\]: unknown unit 'GiBB'.*Did you mean GiB"),
        ({"range": ["x", "y"]}, r"range\[0\]: must be a number"),
        ({"range": [True, 2]}, r"range\[0\]: must be a number"),
    ],
)
def test_bad_domains(raw: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_domain(PATH, raw)


@pytest.mark.parametrize(
    ("raw", "line"),
    [
        ({"min": "4 GiB", "max": "48 GiB"}, "{range: [4 GiB, 48 GiB]}"),
        ({"low": 1, "high": 8, "log": True}, "{range: [1, 8], log: true}"),
        ({"min": 1, "max": 8, "scale": "log"}, "{range: [1, 8], log: true}"),
        ({"min": 1, "max": 8, "distribution": "log_uniform"}, "{range: [1, 8], log: true}"),
        ({"min": 1, "max": 8, "distribution": "int_uniform"}, "{range: [1, 8], step: 1}"),
        ({"lower": 1, "upper": 8, "q": 2}, "{range: [1, 8], step: 2}"),
        ({"range": {"min": 1, "max": 8, "step": 1, "scale": "log"}}, "{range: [1, 8], step: 1, log: true}"),
        ({"range": [1, 8], "scale": "log"}, "{range: [1, 8], log: true}"),
        ({"values": ["lru", "fifo"]}, "[lru, fifo]"),
        ({"grid_search": [1, 2]}, "[1, 2]"),
        ({"type": "categorical", "choices": ["a", "b"]}, "[a, b]"),
        ({"type": "range", "bounds": [1, 8], "log_scale": True}, "{range: [1, 8], log: true}"),
        ("choice(lru, fifo)", "[lru, fifo]"),
        ("tune.choice(['lru', 'fifo'])", "[lru, fifo]"),
        ("uniform(1, 8)", "{range: [1, 8]}"),
        ("hp.uniform('x', 1, 8)", "{range: [1, 8]}"),
        ("tune.loguniform(1e-3, 0.1)", "{range: [0.001, 0.1], log: true}"),
        ("randint(1, 8)", "{range: [1, 8], step: 1}"),
        ("tune.quniform(1, 8, 2)", "{range: [1, 8], step: 2}"),
        ("interval(4 GiB, 48 GiB)", "{range: [4 GiB, 48 GiB]}"),
        ("trial.suggest_int('x', 1, 8, step=2, log=True)", "{range: [1, 8], step: 2, log: true}"),
        ("suggest_float('x', 1.0, 8.0)", "{range: [1.0, 8.0]}"),
        ("suggest_categorical('x', ['lru', 'fifo'])", "[lru, fifo]"),
    ],
)
def test_foreign_spelling_shows_the_right_line(raw: Any, line: str) -> None:
    """The line of the hint is copied into a file as it stands, so it must read as a domain itself."""
    from simcore.yamlio import loads_yaml

    with pytest.raises(InputError) as caught:
        read_domain(PATH, raw)
    assert caught.value.hint == f"write {PATH}: {line}"
    read_domain(PATH, loads_yaml(str(caught.value.hint).removeprefix("write ")).data[PATH])
