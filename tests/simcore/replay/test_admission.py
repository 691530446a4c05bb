"""Admission filters against a naive replay with their twins; their parameters; and how wrong ones are reported."""

from __future__ import annotations

import pkgutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tests.reference.admission as twins
from simcore.errors import InputError
from simcore.plugins import find, names
from simcore.replay.result import Replay
from simcore.replay.run import replay
from simcore.replay.setup import Tier
from simcore.traces.accesses import Accesses
from tests.reference import hierarchy

FILTERS = names("simcore.admission")
POLICIES = ("lru", "w_tinylfu")
OTHER_PARAMS: dict[str, Any] = {  # of each parameter, a value that is not the default
    "tinylfu_sample_factor": 1,
    "tinylfu_doorkeeper": True,
    "tinylfu_conservative": True,
    "second_hit_within": 20,
    "size_threshold_bytes": 6,
}
REQUIRED = {"size_threshold": {"size_threshold_bytes": 10}}


def test_every_filter_has_a_twin() -> None:
    assert sorted(module.name for module in pkgutil.iter_modules(twins.__path__)) == FILTERS


def needs_sizes(name: str) -> bool:
    return "units" in find("simcore.admission", name).NEEDS


def trace(n_objects: int, length: int, seed: int, *, sized: bool) -> tuple[list[int], list[int] | None]:
    rng = np.random.default_rng(seed)
    weights = 1.0 / np.arange(1, n_objects + 1) ** 0.8
    ids = Accesses.of(rng.choice(n_objects, size=length, p=weights / weights.sum())).ids.tolist()
    return ids, rng.integers(1, 12, length).tolist() if sized else None


def run(ids: list[int], sizes: list[int] | None, tier: Tier) -> Replay:
    columns = {} if sizes is None else {"sizes": np.array(sizes)}
    return replay(Accesses.of(ids, **columns), [tier], keep_found=True)


def some_params(name: str) -> st.SearchStrategy[dict[str, Any]]:
    bounds = {"tinylfu_sample_factor": (1, 30), "second_hit_within": (0, 40), "size_threshold_bytes": (1, 12)}
    fields = getattr(find("simcore.admission", name), "Params", None)
    known = fields.model_fields if fields else {}
    return st.fixed_dictionaries({key: st.integers(*bounds[key]) if key in bounds else st.booleans() for key in known})


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", FILTERS)
@settings(max_examples=40)
@given(data=st.data())
def test_the_filter_lets_in_what_its_twin_does(name: str, policy: str, data: st.DataObject) -> None:
    sized = needs_sizes(name) or data.draw(st.booleans())
    seed = data.draw(st.integers(0, 2**32 - 1))
    ids, sizes = trace(data.draw(st.integers(1, 40)), data.draw(st.integers(1, 300)), seed, sized=sized)
    capacity = data.draw(st.integers(0, 150 if sized else 30))
    params = data.draw(some_params(name))
    tier = Tier(capacity=capacity, policy=policy, admission=name, admission_params=params)
    result = run(ids, sizes, tier)
    expected = hierarchy.replay(ids, sizes, [tier])
    assert result.found is not None
    assert result.found.tolist() == expected.found
    assert {key: getattr(result.tiers[0], key) for key in expected.tiers[0]} == expected.tiers[0]


@pytest.mark.parametrize("name", [name for name in FILTERS if name != "none"])
def test_a_filter_changes_what_is_found(name: str) -> None:
    ids, sizes = trace(400, 4000, 1, sized=True)
    plain = run(ids, sizes, Tier(capacity=300))
    filtered = run(ids, sizes, Tier(capacity=300, admission=name, admission_params=REQUIRED.get(name, {})))
    assert plain.found is not None and filtered.found is not None
    assert (plain.found != filtered.found).any()
    assert filtered.tiers[0].refused > plain.tiers[0].refused == 0


def parameters(family: str) -> list[tuple[str, str]]:
    modules = [(name, find(family, name)) for name in names(family)]
    return [(name, key) for name, module in modules if hasattr(module, "Params") for key in module.Params.model_fields]


@pytest.mark.parametrize(("name", "key"), parameters("simcore.admission"))
def test_a_parameter_of_a_filter_changes_what_is_found(name: str, key: str) -> None:
    ids, sizes = trace(400, 8000, 2, sized=needs_sizes(name))
    default = {**REQUIRED.get(name, {})}
    found = [
        run(ids, sizes, Tier(capacity=40 if sizes is None else 300, admission=name, admission_params=params)).found
        for params in (default, {**default, key: OTHER_PARAMS[key]})
    ]
    assert found[0] is not None and found[1] is not None
    assert (found[0] != found[1]).any()


PARAMS: dict[str, dict[str, Any]] = {
    "w_tinylfu": {
        "window_share": 0.3,
        "protected_share": 0.2,
        "sample_factor": 1,
        "doorkeeper": True,
        "conservative": True,
    },
    "w_tinylfu_libcachesim": {"window_share": 0.3, "protected_share": 0.2, "sample_factor": 1},
    "lecar": {
        "learning_rate": 5.0,
        "discount": 0.9,
        "lru_weight": 0.1,
        "history_share": 1.0,
        "remember": True,
        "blame_both": False,
        "least_weight": 0.3,
    },
}
CASES = [(name, key, value) for name, tried in PARAMS.items() for key, value in tried.items()]


def test_every_parameter_is_tried() -> None:
    assert {name: set(tried) for name, tried in PARAMS.items()} == {
        name: {key for policy, key in parameters("simcore.policies") if policy == name} for name in PARAMS
    }


@pytest.mark.parametrize(("policy", "key", "value"), CASES)
def test_a_parameter_of_a_policy_changes_what_is_found_as_in_its_twin(policy: str, key: str, value: Any) -> None:
    ids, _ = trace(300, 4000, 3, sized=False)
    default = run(ids, None, Tier(capacity=40, policy=policy))
    tier = Tier(capacity=40, policy=policy, params={key: value})
    changed = run(ids, None, tier)
    assert default.found is not None and changed.found is not None
    assert (default.found != changed.found).any()
    assert changed.found.tolist() == hierarchy.replay(ids, None, [tier]).found


def test_a_threshold_may_be_a_text_with_a_unit() -> None:
    ids, sizes = trace(50, 500, 4, sized=True)
    found = [
        run(ids, sizes, Tier(capacity=100, admission="size_threshold", admission_params={"size_threshold": value})).found
        for value in ("5 B", 5)
    ]
    assert found[0] is not None and found[1] is not None and found[0].tolist() == found[1].tolist()


def test_an_object_offered_by_the_tier_above_is_judged_by_its_accesses_here() -> None:
    ids = Accesses.of([0, 1, 2, 0, 1, 2, 0, 1, 2]).ids.tolist()
    tiers = [Tier(capacity=1), Tier(name="below", capacity=3, admission="second_hit")]
    result = replay(Accesses.of(ids), tiers, keep_found=True)
    assert result.found is not None
    assert result.found.tolist() == [0, 0, 0, 0, 0, 0, 2, 2, 2] == hierarchy.replay(ids, None, tiers).found
    assert result.tiers[1].refused == 3


@pytest.mark.parametrize(
    ("field", "path", "rule"),
    [
        ({"policy": "w_tinylfu", "params": {"window_shares": 0.1}}, "params.window_shares", "unknown key"),
        ({"policy": "w_tinylfu", "params": {"window_share": 0}}, "params.window_share", "greater than 0"),
        ({"policy": "lecar", "params": {"lru_weight": 1}}, "params.lru_weight", "less than 1"),
        ({"policy": "lru", "params": {"window_share": 0.1}}, "params.window_share", "unknown key"),
        ({"policy": "w_tinylfu", "params": {"sample_factor": 0}}, "params.sample_factor", "greater than or equal to 1"),
        ({"admission": "tinylfu", "admission_params": {"sample_factor": 3}}, "admission_params.sample_factor", "unknown key"),
        ({"admission": "second_hit", "admission_params": {"second_hit_within": -1}}, "admission_params.second_hit_within", "0"),
        ({"admission": "size_threshold"}, "admission", "needs the size of each access"),
        ({"policy": "w_tinylfo"}, "policy", "unknown name in policies"),
        ({"admission": "tinylfo"}, "admission", "unknown name in admission"),
        ({"policy": Path("no/such/policy.py")}, "policy", "cannot be read"),
    ],
)
def test_a_wrong_tier_is_named_in_the_message(field: dict[str, Any], path: str, rule: str) -> None:
    tiers = [Tier(capacity=3), Tier(name="below", capacity=3, **field)]
    with pytest.raises(InputError, match=rule) as caught:
        replay(Accesses.of([1, 2, 3]), tiers)
    assert caught.value.path == f"tiers.1.{path}"


def test_a_threshold_is_required() -> None:
    accesses = Accesses.of([1, 2], sizes=np.array([3, 4]))
    with pytest.raises(InputError, match="is required") as caught:
        replay(accesses, [Tier(capacity=3, admission="size_threshold")])
    assert caught.value.path == "tiers.0.admission_params.size_threshold"
