"""A loaded space: which dimensions count, designs listed and named, scenarios made, results judged, written and read back."""

from __future__ import annotations

import copy
import itertools
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import optuna
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dse.space import Space, identity, load_space, packaged_spaces, read_expression
from simcore.errors import InputError
from simcore.presets import loader
from simcore.yamlio import dump_yaml, load_yaml

Load = Callable[..., Space]
Write = Callable[..., Path]


# -- what counts ----------------------------------------------------------------------------------------------------------


def test_fields_of_a_tier_of_capacity_0_do_not_count(load: Load) -> None:
    space = load()
    point = {"tiers.hbm.capacity": "8 GiB", "tiers.cxl.capacity": 0, "tiers.cxl.policy": "fifo"}
    assert space.active(point) == {"tiers.hbm.capacity": "8 GiB", "tiers.cxl.capacity": 0}
    assert space.active({**point, "tiers.cxl.capacity": "64 GiB"})["tiers.cxl.policy"] == "fifo"


def test_fields_of_a_fixed_empty_tier_never_count(load: Load) -> None:
    space = load("tiers.cxl.capacity=0")
    assert [p for p in space.enumerate() if "tiers.cxl.policy" in p] == []
    assert space.size() == 6


def test_condition_chains(load: Load) -> None:
    search = {
        "engine.max_waiting": {"choices": [1, 2], "when": "engine.min_load_tokens == 1024"},
        "engine.min_load_tokens": {"choices": [256, 1024], "when": "engine.load == threshold"},
        "engine.load": ["cheaper", "threshold"],
    }
    space = load(search=search)
    # The default of min_load_tokens is 1024, so max_waiting counts while it is inactive.
    base = [{"engine.max_waiting": w, "engine.load": "cheaper"} for w in (1, 2)]
    assert [p for p in space.enumerate() if p["engine.load"] == "cheaper"] == base
    on = [p for p in space.enumerate() if p["engine.load"] == "threshold"]
    assert on == [
        {"engine.min_load_tokens": 256, "engine.load": "threshold"},
        {"engine.max_waiting": 1, "engine.min_load_tokens": 1024, "engine.load": "threshold"},
        {"engine.max_waiting": 2, "engine.min_load_tokens": 1024, "engine.load": "threshold"},
    ]
    assert space.size() == 5 and space.product() == 8


def test_condition_on_a_fixed_path_default_and_word(load: Load) -> None:
    search = {
        "engine.block_size": {"choices": [16, 32], "when": "engine.load == cheaper and kv_format == bf16"},
        "engine.max_num_seqs": {"choices": [16, 32], "when": "gpu == h100-sxm and tiers.dram.preset == nvme-gen5"},
        "tiers.hbm.capacity": ["8 GiB", "16 GiB"],
    }
    space = load(search=search)
    assert [list(p) for p in space.enumerate()] == [["engine.block_size", "tiers.hbm.capacity"]] * 4


def test_star_in_a_condition_is_the_same_match(load: Load) -> None:
    search = {
        "tiers.*.policy": ["lru", "fifo"],
        "tiers.*.capacity": {"choices": ["8 GiB", "16 GiB"], "when": "tiers.*.policy == fifo"},
    }
    space = load(search=search)
    for point in space.enumerate():
        for tier in ("hbm", "dram", "cxl"):
            assert (f"tiers.{tier}.capacity" in point) == (point[f"tiers.{tier}.policy"] == "fifo")


def test_tied_dimension_sets_every_match(load: Load) -> None:
    space = load(search={"tiers.*.policy": {"choices": ["lru", "fifo"], "tie": True}})
    (dimension,) = space.dimensions
    assert dimension.targets == ("tiers.hbm.policy", "tiers.dram.policy", "tiers.cxl.policy") and dimension.tied
    raw = space.scenario({"tiers.*.policy": "fifo"})
    assert [tier["policy"] for tier in raw["tiers"].values()] == ["fifo"] * 3


def test_inactive_dimensions_do_not_reach_the_scenario(load: Load) -> None:
    space = load()
    raw = space.scenario({"tiers.hbm.capacity": "8 GiB", "tiers.cxl.capacity": 0})
    assert raw["tiers"]["hbm"]["capacity"] == "8 GiB" and "policy" not in raw["tiers"]["cxl"]


def test_design_without_a_value_is_refused(load: Load) -> None:
    with pytest.raises(InputError, match="no value for it"):
        load().active({"tiers.hbm.capacity": "8 GiB"})


# -- listing and counting -------------------------------------------------------------------------------------------------


def test_enumeration_is_the_filtered_product(load: Load) -> None:
    """Every combination, canonicalised and filtered by the constraints on paths, once each."""
    space = load(constraints=["tiers.cxl.capacity == 0 or tiers.hbm.capacity <= 12 GiB"])
    expected: list[dict[str, Any]] = []
    for values in itertools.product(*(d.values() or () for d in space.dimensions)):
        point = space.active(dict(zip((d.path for d in space.dimensions), values, strict=True)))
        if space.satisfies_paths(point) and point not in expected:
            expected.append(point)
    found = list(space.enumerate())
    assert sorted(map(str, found)) == sorted(map(str, expected))
    assert space.size() == len(found) == 6 + 3 * 2


def test_size_counts_only_what_hangs_together(load: Load) -> None:
    wide = {f"engine.{name}": {"range": [1000, 1999]} for name in ("min_load_tokens", "max_num_batched_tokens")}
    search = {"tiers.cxl.capacity": [0, "64 GiB"], "tiers.cxl.policy": ["lru", "fifo"], **wide}
    space = load(search=search)
    assert space.product() == 4_000_000 and space.size() == 3_000_000


CHOICES = {
    "tiers.hbm.capacity": ["8 GiB", "16 GiB"],
    "tiers.dram.capacity": ["64 GiB", 0, "32 GiB"],
    "tiers.cxl.capacity": ["64 GiB", "32 GiB"],
    "tiers.*.policy": ["lru", "fifo"],
    "tiers.cxl.placement": ["exclusive", "inclusive"],
    "engine.load": ["cheaper", "threshold"],
    "engine.min_load_tokens": [256, 1024],
    "engine.block_size": [16, 32],
}
CONDITIONS = [
    "engine.load == threshold",
    "tiers.dram.capacity > 0",
    "tiers.hbm.capacity <= 8 GiB or tiers.cxl.capacity == 64 GiB",
    "engine.block_size == 16 and tiers.dram.policy == fifo",
]
CONSTRAINTS = [
    "tiers.dram.capacity >= 4 * tiers.hbm.capacity",
    "tiers.cxl.placement == inclusive or engine.block_size == 32",
    "tiers.cxl.policy == lru",
]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.sampled_from(list(CHOICES)), min_size=1, max_size=5, unique=True),
    st.dictionaries(st.sampled_from(list(CHOICES)), st.sampled_from(CONDITIONS), max_size=2),
    st.lists(st.sampled_from(CONSTRAINTS), max_size=2, unique=True),
    st.sampled_from(["128 GiB", 0]),
)
def test_size_and_listing_of_any_space(
    load: Load, paths: list[str], conditions: dict[str, str], constraints: list[str], cxl: Any
) -> None:
    """Against the brute force: the whole product, reduced to what counts, filtered, without repeats."""
    search = {p: {"choices": CHOICES[p], "when": conditions[p]} if p in conditions else CHOICES[p] for p in paths}
    tiers = {"hbm": {"capacity": "16 GiB"}, "dram": {"preset": "ddr5-host", "capacity": "64 GiB"}}
    tiers["cxl"] = {"preset": "cxl2-x8", "capacity": cxl}
    try:
        space = load(check=False, search=search, constraints=constraints, scenario={"tiers": tiers})
    except InputError as error:
        assert "circle" in error.rule
        return
    names = [d.path for d in space.dimensions]
    brute = [
        space.active(dict(zip(names, v, strict=True))) for v in itertools.product(*(d.choices or () for d in space.dimensions))
    ]
    kept = {repr(point) for point in brute if space.satisfies_paths(point)}
    found = [repr(point) for point in space.enumerate()]
    assert len(found) == len(set(found)) and set(found) == kept
    assert space.size() == len(kept)


def test_continuous_range_has_no_size_and_no_list(load: Load) -> None:
    space = load(search={"tiers.hbm.capacity": {"range": ["4 GiB", "24 GiB"]}})
    assert space.size() is None
    with pytest.raises(InputError, match=r"search.tiers.hbm.capacity: a continuous range"):
        next(space.enumerate())


# -- Optuna ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(packaged_spaces()))
def test_suggested_designs_are_canonical_and_round_trip(name: str) -> None:
    space = load_space(name)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    known = space.distributions()
    for _ in range(40):
        trial = study.ask()
        point = space.suggest(trial)
        assert space.active(point) == point
        assert space.parameters(point) == trial.params and space.point(trial.params) == point
        assert {p: known[p] for p in trial.distributions} == trial.distributions


# -- scenarios, keys ------------------------------------------------------------------------------------------------------


def test_scenario_never_changes_the_space(load: Load) -> None:
    space = load(scenarios={"over": {"workload.request_rate": [2, 8]}})
    before = copy.deepcopy(space.base)
    raw = space.scenario({"tiers.hbm.capacity": "8 GiB"}, "request_rate=8")
    assert raw["workload"]["request_rate"] == 8
    raw["tiers"].clear()
    assert space.base == before


def test_equal_simulations_have_equal_keys(load: Load) -> None:
    search = {
        "tiers.cxl.capacity": [0, "64 GiB"],
        "tiers.cxl.policy": ["lru", "fifo"],
        "tiers.dram.capacity": {"range": ["64 GiB", "65 GiB"]},
    }
    space = load(search=search)
    base = {"tiers.cxl.capacity": 0, "tiers.dram.capacity": "64 GiB"}
    assert space.key(base) == space.key({**base, "tiers.cxl.policy": "fifo"})
    assert space.key(base) == space.key({**base, "tiers.dram.capacity": f"{64 * 2**30 + 1} B"}), "less than a block more"
    assert space.key(base) != space.key({**base, "tiers.cxl.capacity": "64 GiB", "tiers.cxl.policy": "lru"})
    assert len(space.key(base)) == 64


def test_design_that_cannot_be_built_has_a_key_too(load: Load) -> None:
    space = load()
    keys = {space.key({"tiers.hbm.capacity": value}) for value in ("-4 GiB", "-5 GiB")}
    assert len(keys) == 2


def test_space_crosses_processes(load: Load) -> None:
    space = load(scenarios={"over": {"workload.request_rate": [2, 8]}})
    again = pickle.loads(pickle.dumps(space))
    point = next(space.enumerate())
    assert again.sha256 == space.sha256 and again.key(point) == space.key(point)


# -- results --------------------------------------------------------------------------------------------------------------

RATES = {"over": {"workload.request_rate": [2, 8]}}


def metrics(low: float | None, high: float | None, **more: float | None) -> dict[str, dict[str, float | None]]:
    common = {"hbm_excess_bytes": 0.0, "hbm_bytes": 64e9, "saturated": 0.0, "rejected_requests": 0.0, **more}
    return {"request_rate=2": {"tpot_p99_s": low, **common}, "request_rate=8": {"tpot_p99_s": high, **common}}


def test_constraints_hold_in_every_member(load: Load) -> None:
    space = load(scenarios=RATES)
    judged = space.judge(metrics(0.04, 0.088))
    assert judged == {"tpot_p99 <= 80 ms": pytest.approx(0.1), "hbm_fit": 0.0, "serves_all": 0.0, "saturated": 0.0}
    assert space.judge(metrics(0.04, 0.08))["tpot_p99 <= 80 ms"] <= 0
    assert space.misses(metrics(0.04, 0.088)) == {"tpot_p99 <= 80 ms": "tpot_p99 88.0 ms > 80 ms (request_rate=8)"}
    assert space.misses(metrics(0.04, 0.04)) == {}


def test_built_in_constraints(load: Load) -> None:
    space = load(scenarios=RATES)
    judged = space.judge(metrics(0.04, 0.05, hbm_excess_bytes=16e9, saturated=1.0))
    assert judged["hbm_fit"] == pytest.approx(0.25) and judged["saturated"] == 1.0
    missed = space.misses(metrics(0.04, 0.05, hbm_excess_bytes=16 * 2**30, saturated=1.0))
    assert missed["hbm_fit"] == "hbm_fit 16.0 GiB per GPU too much"
    assert missed["saturated"].startswith("saturated: the load exceeds") and missed["saturated"].endswith("(request_rate=2)")
    allowed = load(scenarios=RATES, allow_saturated=True)
    assert set(allowed.judge(metrics(0.04, 0.05, saturated=1.0))) == {"tpot_p99 <= 80 ms", "hbm_fit", "serves_all"}


def test_unknown_metric_is_a_violation_unless_explained(load: Load) -> None:
    space = load(scenarios=RATES)
    assert space.judge(metrics(0.04, None))["tpot_p99 <= 80 ms"] == 1.0
    assert space.judge(metrics(None, None, hbm_excess_bytes=16e9))["tpot_p99 <= 80 ms"] == 0.0


def test_statics_fill_in(load: Load) -> None:
    space = load()
    judged = space.judge({"base": {"tpot_p99_s": 0.04, "saturated": 0.0}}, {"hbm_excess_bytes": 1e9, "hbm_bytes": 10e9})
    assert judged["hbm_fit"] == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("combine", "expected"),
    [
        ("worst", {"ttft_p99_s": 3.0, "hit_ratio": 0.2, "hit_ratio_dram": 0.1, "quality_loss": None}),
        ("mean", {"ttft_p99_s": 2.5, "hit_ratio": 0.3, "hit_ratio_dram": 0.2, "quality_loss": None}),
        ("each", {"ttft_p99_s": 1.0, "hit_ratio": 0.6, "hit_ratio_dram": 0.5, "quality_loss": 0.0}),
    ],
)
def test_metrics_over_the_scenario_set(load: Load, combine: str, expected: dict[str, float | None]) -> None:
    weights = {"weight": 3} if combine == "mean" else {}
    members = {"quiet": {"workload.request_rate": 2}, "busy": {"workload.request_rate": 8, **weights}}
    space = load(scenarios={"members": members, "combine": combine})
    rows = {
        "busy": {"ttft_p99_s": 3.0, "hit_ratio": 0.2, "hit_ratio_dram": 0.1, "quality_loss": None},
        "quiet": {"ttft_p99_s": 1.0, "hit_ratio": 0.6, "hit_ratio_dram": 0.5, "quality_loss": 0.0},
    }
    assert space.combine_metrics(rows) == {k: v if v is None else pytest.approx(v) for k, v in expected.items()}


def test_expression_for_a_filter(load: Load) -> None:
    space = load()
    wanted = read_expression(space, "hbm_cost_usd <= 800")
    assert wanted.kind == "metric" and wanted.violation({"hbm_cost_usd": 880.0}) == pytest.approx(0.1)
    assert read_expression(space, "tiers.hbm.capacity <= 8 GiB").holds(space.lookup({"tiers.hbm.capacity": "8 GiB"}))


# -- members --------------------------------------------------------------------------------------------------------------


def test_product_of_axes_has_readable_names(load: Load) -> None:
    space = load(scenarios={"over": {"workload.request_rate": [2, "8 /s"], "workload.seed": [0, 1]}, "combine": "mean"})
    assert [m.name for m in space.members] == [
        "request_rate=2, seed=0", "request_rate=2, seed=1", "request_rate=8 /s, seed=0", "request_rate=8 /s, seed=1",
    ]  # fmt: skip
    assert space.members[2].overrides == {"workload.request_rate": "8 /s", "workload.seed": 0}
    assert space.combine == "mean"


def test_axes_with_one_last_word_are_named_in_full(load: Load) -> None:
    space = load(scenarios={"over": {"tiers.dram.usd_per_gib": ["3 USD/GiB"], "tiers.cxl.usd_per_gib": ["4 USD/GiB"]}})
    assert space.members[0].name == "tiers.dram.usd_per_gib=3 USD/GiB, tiers.cxl.usd_per_gib=4 USD/GiB"


def test_member_may_replace_a_whole_mapping(load: Load) -> None:
    chat = {"kind": "chat", "requests": 50, "request_rate": 1}
    space = load(scenarios={"members": {"chat": {"workload": chat}, "busy": {"workload.request_rate": 9}}})
    assert space.scenario({}, "chat")["workload"] == chat
    assert space.scenario({}, "busy")["workload"]["request_rate"] == 9
    assert space.combine == "worst" and space.member(1).name == "busy"


def test_without_scenarios_the_base_is_the_only_member(load: Load) -> None:
    (member,) = load().members
    assert (member.name, member.weight, member.overrides) == ("base", 1.0, {})


# -- pins -----------------------------------------------------------------------------------------------------------------


def test_pin_drops_its_dimension(load: Load) -> None:
    space = load("tiers.hbm.capacity=8GiB")
    assert [d.path for d in space.dimensions] == ["tiers.cxl.capacity", "tiers.cxl.policy"]
    assert space.base["tiers"]["hbm"]["capacity"] == "8GiB"


def test_pin_of_one_match_leaves_the_others(load: Load) -> None:
    space = load("tiers.dram.policy=fifo", search={"tiers.*.policy": ["lru", "fifo"]})
    assert [d.path for d in space.dimensions] == ["tiers.hbm.policy", "tiers.cxl.policy"]
    assert load_space(_resolved(space)).sha256 == space.sha256


def test_pin_with_a_star_sets_every_match(load: Load) -> None:
    space = load("tiers.*.policy=fifo")
    assert [tier["policy"] for tier in space.base["tiers"].values()] == ["fifo"] * 3
    assert [d.path for d in space.dimensions] == ["tiers.hbm.capacity", "tiers.cxl.capacity"]


def test_pin_of_a_tied_path_drops_the_whole_dimension(load: Load) -> None:
    search = {"tiers.*.policy": {"choices": ["lru", "fifo"], "tie": True}, "tiers.hbm.capacity": ["8 GiB", "16 GiB"]}
    assert [d.path for d in load("tiers.hbm.policy=fifo", search=search).dimensions] == ["tiers.hbm.capacity"]


def test_pin_drops_its_axis(load: Load) -> None:
    over = {"workload.request_rate": [2, 8], "workload.seed": [0, 1]}
    space = load("workload.request_rate=3", scenarios={"over": over})
    assert [m.name for m in space.members] == ["seed=0", "seed=1"] and space.base["workload"]["request_rate"] == 3
    assert [m.name for m in load("workload.request_rate=3", "workload.seed=7", scenarios={"over": over}).members] == ["base"]


def test_pin_drops_the_field_from_members(load: Load) -> None:
    members = {
        "a": {"workload.request_rate": 2, "workload.seed": 1},
        "b": {"workload": {"kind": "chat", "requests": 50, "request_rate": 5}},
    }
    space = load("workload.request_rate=3", scenarios={"members": members})
    assert space.member("a").overrides == {"workload.seed": 1}
    assert space.member("b").overrides == {"workload": {"kind": "chat", "requests": 50, "request_rate": 3}}


def test_pin_inside_a_searched_mapping(load: Load) -> None:
    search = {"kv_format": ["bf16", "fp8_e4m3"], "tiers.hbm.capacity": ["8 GiB", "16 GiB"]}
    space = load("kv_format.default.k=fp8_e4m3", search=search)
    assert [d.path for d in space.dimensions] == ["tiers.hbm.capacity"]
    assert space.base["kv_format"] == {"default": {"k": "fp8_e4m3", "v": "bf16"}}


def test_pinned_path_may_still_stand_in_conditions(load: Load) -> None:
    search = {
        "engine.load": ["cheaper", "threshold"],
        "engine.min_load_tokens": {"choices": [256, 1024], "when": "engine.load == threshold"},
    }
    assert load("engine.load=threshold", search=search).size() == 2
    assert load("engine.load=never", search=search).size() == 1


TRACE = """\
{"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [0, 1]}
{"timestamp": 500, "input_length": 900, "output_length": 7, "hash_ids": [0, 2]}
{"timestamp": 900, "input_length": 400, "output_length": 3, "hash_ids": [3]}
"""


def test_trace_takes_the_place_of_a_preset(load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It keeps the rate and the number of requests, and lies where the user stands."""
    here = tmp_path / "elsewhere"
    here.mkdir()
    (here / "t.jsonl").write_text(TRACE)
    monkeypatch.chdir(here)
    scenario = {"workload": {"preset": "chat-multi-tenant", "request_rate": 4, "requests": 3, "tenants": 9}}
    over = {"over": {"workload.request_rate": [1, 2], "workload.tenants": [4, 8]}}
    space = load("workload.trace=t.jsonl", scenario=scenario, scenarios=over)
    assert space.base["workload"] == {"request_rate": 4, "requests": 3, "trace": str(here / "t.jsonl")}
    assert [m.name for m in space.members] == ["request_rate=1", "request_rate=2"]


def test_trace_takes_the_place_of_a_members_workload(load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.jsonl").write_text(TRACE)
    monkeypatch.chdir(tmp_path)
    members = {
        "a": {"workload": {"kind": "chat", "requests": 2, "request_rate": 5}},
        "b": {"workload.request_rate": 2},
    }
    space = load("workload.trace=t.jsonl", scenarios={"members": members})
    trace = str(tmp_path / "t.jsonl")
    assert space.member("a").overrides == {"workload": {"requests": 2, "request_rate": 5, "trace": trace}}
    assert space.scenario({}, "b")["workload"] == {"request_rate": 2, "trace": trace}


# -- written and read back ------------------------------------------------------------------------------------------------


def _resolved(space: Space) -> Path:
    path = Path(space.file).with_name("resolved.yaml")
    path.write_text(dump_yaml(space.resolved()))
    return path


RICH: dict[str, Any] = {
    "search": {
        "tiers.hbm.capacity": {"range": ["4 GiB", "24 GiB"], "step": "1 GiB", "log": True},
        "tiers.dram.capacity": {"range": ["16 GiB", "64 GiB"]},
        "tiers.*.policy": {"choices": ["lru", "fifo"], "tie": True},
        "engine.load": ["cheaper", "threshold"],
        "engine.min_load_tokens": {"range": [256, 1024], "step": 256, "when": "engine.load == threshold"},
        "kv_format": ["bf16", {"default": {"k": "fp8_e4m3", "v": "fp8_e4m3"}}],
    },
    "scenarios": {
        "members": {"a": {"workload.request_rate": 2, "weight": 3}, "b": {"workload.request_rate": "8 /s"}},
        "combine": "mean",
    },
    "objectives": ["ttft_p99_s", "hbm_cost_usd", "hit_ratio_dram"],
    "constraints": ["tpot_p99 <= 80 ms", "quality_loss <= 2 %", "tiers.dram.capacity >= 2 * tiers.hbm.capacity"],
    "allow_saturated": True,
    "replications": 2,
    "budget": {"trials": 7, "seed": 11},
}


def test_resolved_space_loads_back_equal(load: Load) -> None:
    space = load(**RICH)
    again = load_space(_resolved(space))
    assert again.resolved() == space.resolved() and again.sha256 == space.sha256
    assert again.dimensions == space.dimensions and again.members == space.members
    assert again.objectives == space.objectives and (again.trials, again.seed, again.replications) == (7, 11, 2)
    written = load_yaml(_resolved(space)).data
    assert identity(written, []) == identity(space.resolved(), [])


def test_a_preset_counts_by_its_numbers(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    space = load(search={"tiers.dram.capacity": ["32 GiB", "64 GiB"], "model.preset": ["llama-3.1-8b", "llama-3.1-70b"]})
    before, packaged = space.sha256, loader._packaged
    assert load_space(_resolved(space)).sha256 == before
    for edited in (("gpus", "h100-sxm"), ("models", "llama-3.1-70b")):

        def changed(kind: str, name: str, edited: tuple[str, str] = edited) -> Any:
            return {**packaged(kind, name), **({"source": "elsewhere"} if (kind, name) == edited else {})}

        monkeypatch.setattr(loader, "_packaged", changed)
        assert load_space(_resolved(space)).sha256 != before


def test_probe_scenarios_name_every_policy(load: Load) -> None:
    dram = {"preset": "ddr5-host", "capacity": "64 GiB", "policy": "s3fifo"}
    search = {"tiers.hbm.policy": ["lru", "sieve"], "tiers.cxl.capacity": [0, "64 GiB"], "tiers.dram": [dram]}
    members = {"a": {"tiers.cxl.policy": "fifo"}, "b": {"workload.request_rate": 2}}
    probes = list(load(check=False, search=search, scenarios={"members": members}).probe_scenarios())
    assert {tier.get("policy", "lru") for raw in probes for tier in raw["tiers"].values()} == {"lru", "sieve", "s3fifo", "fifo"}
    assert len(probes) == 2 + 2 + 1


def test_axes_load_back_as_named_members(load: Load) -> None:
    space = load(scenarios={"over": {"workload.request_rate": [2, "8 /s"], "workload.seed": [0, 1]}})
    again = load_space(_resolved(space))
    assert again.members == space.members and again.sha256 == space.sha256


@pytest.mark.parametrize(
    "change",
    [
        {"budget": {"trials": 10, "seed": 4}},
        {"replications": 2},
        {"allow_saturated": True},
        {"objectives": ["ttft_p99", "memory_cost_usd"]},
        {"constraints": ["tpot_p99 <= 81 ms"]},
        {"scenarios": {"over": {"workload.request_rate": [2]}}},
        {"scenario": {"replicas": 2}},
        {"search": {"tiers.hbm.capacity": ["8 GiB", "16 GiB"]}},
    ],
)
def test_identity_changes_with_whatever_decides_the_trials(load: Load, change: dict[str, Any]) -> None:
    assert load(**change).sha256 != load().sha256


def test_identity_ignores_name_words_and_number_of_trials(load: Load) -> None:
    other = load(name="other", description="Something else.", budget={"trials": 99, "seed": 3})
    assert other.sha256 == load().sha256


def test_trace_is_known_by_its_content(load: Load, tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    trace.write_text(TRACE)
    scenario = {"workload": {"trace": "t.jsonl", "request_rate": 1}}
    space = load(scenario=scenario)
    assert space.base["workload"]["trace"] == str(trace), "absolute, so that it holds everywhere"
    (recorded,) = space.resolved()["files"]
    assert recorded == str(trace)
    resolved = _resolved(space)
    moved = tmp_path / "moved.jsonl"
    moved.write_text(TRACE)
    assert load(scenario={"workload": {"trace": "moved.jsonl", "request_rate": 1}}).sha256 == space.sha256
    trace.write_text(TRACE.replace("600", "700"))
    assert load(scenario=scenario).sha256 != space.sha256
    with pytest.raises(InputError, match=r"files: the file has changed; got .*t.jsonl"):
        load_space(resolved)
    trace.unlink()
    assert load_space(resolved, check=False).sha256 == space.sha256, "a stored study can be read without its trace"


# -- files and names ------------------------------------------------------------------------------------------------------


def test_description_is_the_first_comment(load: Load, write: Write, small_text: str) -> None:
    assert load_space(write(small_text)).description == "A question in one line."
    assert load(description="Said\n  in words.").description == "Said in words."


def test_name_defaults_to_the_file(write: Write, small_text: str) -> None:
    assert load_space(write(small_text.replace("name: small\n", ""), name="my_space.yaml")).name == "my_space"


def test_packaged_spaces_are_found_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert set(packaged_spaces()) >= {"kv_cxl", "kv_tiers", "kv_quickstart"}
    for spelling in ("kv_quickstart", "kv_quickstart.yaml", "spaces/kv_quickstart.yaml", "search_spaces/kv_quickstart.yml"):
        space = load_space(spelling)
        assert (space.name, space.file) == ("kv_quickstart", spelling)


def test_existing_path_is_taken_before_a_packaged_space(write: Write, small_text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(small_text, name="kv_cxl.yaml")
    monkeypatch.chdir(path.parent.parent)
    assert load_space(f"{path.parent.name}/kv_cxl.yaml").name == "small"
    monkeypatch.chdir(path.parent)
    assert load_space("kv_cxl.yaml").name == "small"


@pytest.mark.parametrize("name", sorted(packaged_spaces()))
def test_packaged_spaces_answer_a_question(name: str) -> None:
    space = load_space(name)
    size = space.size()
    assert space.name == name and space.description.endswith("?")
    assert size is not None and size >= 100 and 2 <= len(space.objectives) <= 3


def test_quickstart_is_small() -> None:
    assert load_space("kv_quickstart").trials == 20


def test_a_load_may_be_searched_for_its_throughput(load: Load) -> None:
    search = {"workload.request_rate": [2, 4, 8], "tiers.hbm.capacity": ["8 GiB", "16 GiB"]}
    assert load(search=search, objectives=["throughput", "ttft_p99"]).size() == 6
    slo = {"slo": {"ttft": "2 s"}}
    assert load(search=search, objectives=["goodput_rps", "hbm_cost_usd"], scenario=slo).size() == 6
