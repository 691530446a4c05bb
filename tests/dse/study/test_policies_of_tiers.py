"""Eviction policies as a dimension of a search, and in a scenario by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

import simcore
from dse.space import load_space
from dse.study import load_study, run_search
from simcore.errors import InputError

SPACE = """
name: policies
scenario:
  family: kv
  model: llama-3.1-8b
  gpu: h100-sxm
  tiers:
    hbm: {capacity: 4 GiB}
    dram: {preset: ddr5-host, capacity: 4 GiB, placement: inclusive}
  workload: {kind: chat, request_rate: 3, requests: 200, tenants: 6, system_tokens: 1024, turns: 6}
search:
  tiers.*.policy: [lru, s3fifo, sieve]
objectives: [ttft_p99, hbm_cost_usd]
"""


def test_a_search_over_the_policies_of_all_tiers(tmp_path: Path) -> None:
    path = tmp_path / "policies.yaml"
    path.write_text(SPACE)
    space = load_space(path)
    assert [d.path for d in space.dimensions] == ["tiers.hbm.policy", "tiers.dram.policy"]
    run_search(space, folder=tmp_path / "study", sampler="grid")
    trials = load_study(tmp_path / "study").trials
    assert len(trials) == 9 and {trial.state for trial in trials} == {"complete"}
    assert {trial.point["tiers.dram.policy"] for trial in trials} == {"lru", "s3fifo", "sieve"}
    assert len({tuple(sorted(trial.combined.items())) for trial in trials}) > 3  # they make a difference
    scenario = simcore.build_scenario(space.scenario(trials[0].point))
    assert simcore.metric_values(simcore.simulate(scenario))["ttft_p99_s"] == trials[0].combined["ttft_p99_s"]


@pytest.mark.parametrize(
    ("tier", "policy", "message"),
    [
        (
            "hbm",
            "belady",
            "tiers.hbm.policy: needs next_use, which no run knows before its times are known; got belady. One of: ",
        ),
        ("dram", "min", "tiers.dram.policy: needs next_use"),
        ("dram", "learned", "tiers.dram.policy: trains on what a replay has seen"),
        ("hbm", "gdsf", "tiers.hbm.policy: may refuse a block that a running request needs, so it cannot run HBM; got gdsf. "),
        ("dram", "s3fif", "tiers.dram.policy: unknown name in policies; got s3fif. Did you mean s3fifo?"),
    ],
)
def test_what_a_tier_cannot_run_is_refused_at_once(tier: str, policy: str, message: str) -> None:
    scenario = {
        "family": "kv",
        "model": "llama-3.1-8b",
        "gpu": "h100-sxm",
        "tiers": {"hbm": {"capacity": "4 GiB"}, "dram": {"preset": "ddr5-host", "capacity": "4 GiB"}},
        "workload": {"preset": "chat-multi-tenant", "request_rate": 2},
    }
    scenario["tiers"][tier]["policy"] = policy  # type: ignore[index]
    with pytest.raises(InputError) as caught:
        simcore.build_scenario(scenario)
    assert str(caught.value).startswith(message)


def test_a_policy_that_may_refuse_runs_below_hbm() -> None:
    tiers = {"hbm": {"capacity": "4 GiB"}, "dram": {"preset": "ddr5-host", "capacity": "4 GiB", "policy": "gdsf"}}
    workload = {"preset": "chat-multi-tenant", "request_rate": 2}
    given = {"family": "kv", "model": "llama-3.1-8b", "gpu": "h100-sxm", "tiers": tiers, "workload": workload}
    assert simcore.build_scenario(given).tiers["dram"].policy == "gdsf"
