"""The base scenario comes first: what is wrong whatever is chosen ends a search before anything is written."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import simcore
from dse.cli import main
from dse.objective import Preparation, preparation
from dse.space import Space, load_space
from dse.study import load_study, run_search
from simcore.errors import InputError, InternalError
from simcore.yamlio import dump_yaml

TINY: dict[str, Any] = {
    "name": "tiny",
    "scenario": {
        "family": "kv",
        "model": "llama-3.1-8b",
        "gpu": {"preset": "h100-sxm"},
        "engine": {"max_num_seqs": 64},
        "tiers": {"hbm": {"capacity": "16 GiB"}, "dram": {"preset": "ddr5-host", "capacity": "32 GiB"}},
        "workload": {"preset": "chat-multi-tenant", "request_rate": 2, "requests": 60},
    },
    "search": {"tiers.hbm.policy": ["lru", "fifo", "sieve"], "tiers.dram.capacity": [0, "32 GiB"]},
    "objectives": ["ttft_p99", "hbm_cost_usd"],
    "budget": {"trials": 4, "seed": 0},
}


POLICIES = {"tiers.hbm.policy": ["lru", "fifo"]}


def file_of(folder: Path, search: dict[str, Any] | None = None, objectives: list[str] | None = None, **paths: Any) -> Path:
    """The tiny space with paths of its scenario set (dots as `__`)."""
    data = json.loads(json.dumps(TINY))
    data["search"] = search or data["search"]
    data["objectives"] = objectives or data["objectives"]
    for name, value in paths.items():
        *parents, last = name.split("__")
        at = data["scenario"]
        for parent in parents:
            at = at[parent]
        at[last] = value
    path = folder / "tiny.yaml"
    path.write_text(dump_yaml(data))
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    yield tmp_path


def searched(capfd: pytest.CaptureFixture[str], path: Path, *arguments: str) -> tuple[int, str, str]:
    capfd.readouterr()
    status = main(["search", str(path), "--tracking-uri", "none", "-q", *arguments])
    out, err = capfd.readouterr()
    return status, out, err


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"engine__max_num_seqs": 4096}, "scenario.engine.max_num_seqs: must not exceed max_num_batched_tokens"),
        ({"engine__block_size": 1000000}, "scenario.tiers.hbm.capacity: must hold at least one reuse block"),
        ({"tiers__dram__capacity": "1 KiB", "search": POLICIES}, "scenario.tiers.dram.capacity: must be 0 or hold at"),
        (
            {"engine__block_size": 1000000, "search": {"tiers.hbm.capacity": ["8 GiB", "16 GiB"]}},
            "scenario.tiers.hbm.capacity: must hold at least one reuse block",
        ),
        ({"workload__output_tokens": 1, "objectives": ["tpot_p99", "hbm_cost_usd"]}, "objectives[0]: tpot_p99 is unknown"),
    ],
)
def test_what_no_choice_can_mend_ends_the_search_before_it_begins(
    folder: Path, capfd: pytest.CaptureFixture[str], changes: dict[str, Any], named: str
) -> None:
    status, out, err = searched(capfd, file_of(folder, **changes))
    assert (status, out) == (2, "") and err.count("\n") == 1
    assert "tiny.yaml" in err and named in err
    assert not (folder / "studies").exists()


def test_a_base_that_a_choice_mends_is_left_out(folder: Path) -> None:
    space = load_space(file_of(folder, {"tiers.dram.capacity": [0, "32 GiB"]}, tiers__dram__capacity="1 KiB"))
    study = run_search(space, folder=folder / "s")
    assert [t.state for t in study.trials] == ["complete"] * 2
    assert study.base is not None and study.base.state == "failed" and study.hypervolume > 0
    assert load_study(folder / "s").base == study.base


def test_an_infeasible_base_is_fine(folder: Path) -> None:
    space = load_space(file_of(folder, {"tiers.hbm.capacity": ["8 GiB", "16 GiB"]}, tiers__hbm__capacity="78 GiB"))
    study = run_search(space, folder=folder / "s")
    assert study.base is not None and study.base.state == "complete" and not study.base.feasible


def test_a_broken_law_ends_the_search_with_1_and_keeps_what_is_done(
    folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = file_of(folder)
    space, calls = load_space(path), []
    measure = simcore.measure

    def counted(*arguments: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise InternalError("blocks in differ from blocks out")
        return measure(*arguments, **options)

    monkeypatch.setattr(simcore, "measure", counted)
    status, out, err = searched(capfd, path, "--sampler", "grid", "--trials", "3")
    assert status == 1 and out == "" and "blocks in differ from blocks out" in err and "design " in err
    assert len(load_study(folder / "studies/tiny").trials) >= 1
    assert (folder / "studies/tiny/front.csv").exists()
    monkeypatch.setattr(simcore, "measure", measure)
    again = run_search(space, folder=folder / "studies/tiny", sampler="grid", trials=3, resume=True)
    assert len(again.trials) == 3 and {t.state for t in again.trials} == {"complete"}


def test_every_choice_of_a_trace_is_read_at_load(folder: Path) -> None:
    rows = [{"timestamp": i, "input_length": 40, "output_length": 5, "hash_ids": [i]} for i in range(20)]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "good.jsonl").write_text(text)
    (folder / "truncated.jsonl.gz").write_bytes(gzip.compress(text.encode())[:-30])
    data = json.loads(json.dumps(TINY))
    data["scenario"]["workload"] = {"trace": "good.jsonl"}
    data["search"] = {"tiers.hbm.policy": ["lru", "sieve"]}
    path = folder / "traces.yaml"
    path.write_text(dump_yaml(data))
    load_space(path)
    data["search"]["workload.trace"] = ["good.jsonl", "truncated.jsonl.gz"]
    data["objectives"] = ["throughput_tokens_per_s", "hbm_cost_usd"]
    path.write_text(dump_yaml(data))
    with pytest.raises(InputError, match=r"truncated\.jsonl\.gz"):
        load_space(path)


def test_the_simulator_is_prepared_for_all_policies_of_the_space_at_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[set[str]] = []

    def prepare(scenarios: Any) -> None:
        raws = [simcore.yaml_dict(scenario) for scenario in scenarios]
        seen.append({tier.get("policy", "lru") for raw in raws for tier in raw["tiers"].values()})

    monkeypatch.setattr(simcore, "prepare", prepare)
    space: Space = load_space(file_of(folder))
    assert isinstance(preparation(space), Preparation)
    run_search(space, folder=folder / "s", trials=2)
    assert seen == [{"lru", "fifo", "sieve"}]
