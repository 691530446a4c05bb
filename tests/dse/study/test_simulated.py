"""The search on the real simulator, a few designs at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

import simcore
from dse.objective import Task, evaluate
from dse.space import Space, load_space
from dse.study import load_study, run_search
from simcore.yamlio import load_yaml

SPACE = """
name: tiny
scenario:
  family: kv
  model: llama-3.1-8b
  gpu: h100-sxm
  tiers:
    hbm: {capacity: 16 GiB}
    dram: {preset: ddr5-host, capacity: 32 GiB}
  workload: {preset: chat-multi-tenant, request_rate: 2, requests: 120, seed: 5}
search:
  tiers.hbm.capacity: {range: [8 GiB, 80 GiB], step: 8 GiB}
  tiers.dram.capacity: [0, 32 GiB, 64 GiB]
  kv_format: [bf16, fp8_e4m3]
scenarios: {over: {workload.request_rate: [1, 2]}}
objectives: [ttft_p99, hbm_cost_usd]
budget: {trials: 12, seed: 3}
replications: 2
"""


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Space:
    path = tmp_path_factory.mktemp("space") / "tiny.yaml"
    path.write_text(SPACE)
    return load_space(path)


def test_every_design_file_gives_the_metrics_of_the_study(space: Space, tmp_path: Path) -> None:
    study = run_search(space, folder=tmp_path / "tiny")
    files = sorted((tmp_path / "tiny/designs").iterdir())
    assert files
    for path in files:
        data = load_yaml(path).data
        for member, raw in data["members"].items():
            scenario = simcore.build_scenario(raw)
            found = simcore.measure(scenario, seed=data["seed"], replications=data["replications"])
            assert found == data["metrics"][member] == study.trials[int(path.stem)].metrics[member]
    again = load_study(tmp_path / "tiny")
    assert again.trials == study.trials
    assert again.space.sha256 == space.sha256


def test_a_design_that_does_not_fit_is_infeasible_and_not_simulated(space: Space, tmp_path: Path) -> None:
    study = run_search(space, folder=tmp_path / "tiny", sampler="grid", trials=30)
    unfit = [trial for trial in study.trials if trial.violations["hbm_fit"] > 0]
    assert {trial.state for trial in study.trials} == {"complete"}
    assert unfit
    assert all(trial.point["tiers.hbm.capacity"] in ("56 GiB", "64 GiB", "72 GiB", "80 GiB") for trial in unfit)
    for trial in unfit:
        assert not trial.feasible
        assert trial.combined["hbm_cost_usd"]
        assert trial.combined.get("ttft_p99_s") is None


def test_a_mistake_in_a_scenario_is_the_text_of_a_failed_result() -> None:
    result = evaluate(Task(0, "k", {"base": {"family": "kv", "model": "no-such-model"}}, "."))
    assert result.state == "failed"
    assert result.error is not None
    assert result.error.startswith("InputError: ")
    assert "no-such-model" in result.error
    assert "\n" not in result.error


def test_an_interrupt_is_not_taken_for_a_failed_design(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(simcore, "build_scenario", interrupted)
    with pytest.raises(KeyboardInterrupt):
        evaluate(Task(0, "k", {"base": {}}, "."))
