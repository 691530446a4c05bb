"""Every policy against its naive twin, on random accesses with and without sizes, at capacities from nothing to everything."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tests.reference.eviction as twins
from simcore.plugins import find, names
from simcore.replay.run import replay
from simcore.replay.setup import Tier
from simcore.traces.accesses import Accesses
from tests.reference.replay import replay as naive_replay

TWINS = sorted(module.name for module in pkgutil.iter_modules(twins.__path__))
CHOICES: list[tuple[str, dict[str, Any]]] = [  # beside the defaults
    ("arc", {"scaled_step": False}),
    ("lecar", {"history_share": 1.0, "blame_both": False}),
    ("lecar", {"least_weight": 0.3, "learning_rate": 2.0}),
    ("slru", {"segments": 4, "probation": 0.25, "fill": True, "bounded": True}),
    ("slru", {"segments": 2, "probation": 0.5, "bounded": True}),
    ("two_q", {"bounded": True}),
    ("w_tinylfu", {"window_share": 0.2, "sample_factor": 2}),
    ("w_tinylfu_libcachesim", {"window_share": 0.2, "protected_share": 0.4, "sample_factor": 2}),
    ("w_tinylfu_libcachesim", {"window_share": 0.1, "protected_share": 0.6}),
    ("two_q", {"in_share": 0.6, "out_share": 1.0, "bounded": True}),
]


def test_every_policy_has_a_twin() -> None:
    assert TWINS == names("simcore.policies")


@st.composite
def cases(draw: Any) -> tuple[list[int], list[int] | None, int, np.random.Generator]:
    n_objects = draw(st.integers(1, 30))
    length = draw(st.integers(1, 300))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    skew = draw(st.sampled_from([0.0, 0.8, 1.5]))
    weights = 1.0 / np.arange(1, n_objects + 1) ** skew
    ids = rng.choice(n_objects, size=length, p=weights / weights.sum()).tolist()
    sizes = None
    if draw(st.booleans()):
        change = draw(st.booleans())  # an object's size may change between accesses
        fixed = rng.integers(1, 20, n_objects)
        sizes = (rng.integers(1, 20, length) if change else fixed[ids]).tolist()
    total = n_objects if sizes is None else n_objects * 12
    return ids, sizes, draw(st.integers(0, total + 1)), rng


@pytest.mark.parametrize(("name", "params"), [*((name, {}) for name in TWINS), *CHOICES])
@settings(max_examples=60)
@given(case=cases())
def test_the_kernel_hits_where_the_twin_hits(
    name: str, params: dict[str, Any], case: tuple[list[int], list[int] | None, int, np.random.Generator]
) -> None:
    ids, sizes, capacity, rng = case
    module = find("simcore.policies", name)
    if sizes is not None and getattr(module, "UNIT_SIZES_ONLY", False):
        sizes = None
    dense = Accesses.of(ids)
    numbers = dense.ids.tolist()
    columns: dict[str, Any] = {}
    if "category" in module.NEEDS:
        columns["category"] = rng.integers(0, 3, len(ids)).tolist()
    if "time_s" in module.NEEDS:
        columns["time_s"] = np.cumsum(rng.exponential(1.0, len(ids))).tolist()
    accesses = dense.with_columns(
        sizes=None if sizes is None else np.array(sizes), **{k: np.array(v) for k, v in columns.items()}
    )
    twin = importlib.import_module(f"tests.reference.eviction.{name}").Twin(capacity, **params)
    expected = naive_replay(numbers, sizes, capacity, twin, **columns)
    result = replay(accesses, [Tier(capacity=capacity, policy=name, params=params)], keep_found=True)
    assert result.found is not None
    assert result.found.astype(bool).tolist() == expected
