"""A whole search: the same study however it ran, continued or not."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import optuna
import pyarrow.parquet as pq
import pytest

from dse.objective import Result, Task
from dse.study import Study, load_study, run_search
from dse.trial import Trial
from simcore.errors import InputError
from simcore.yamlio import load_yaml
from tests.dse.fake_space import LOG, FakeSpace, dimensions, evaluate, log_lines, metrics_of

SAMPLERS = ["random", "grid", "nsga2", "tpe"]


def search(folder: Path, space: FakeSpace | None = None, **options: Any) -> Study:
    return run_search(space or FakeSpace(), folder=folder, **{"evaluate": evaluate, **options})  # type: ignore[arg-type]


def timeless(trials: Sequence[Trial]) -> list[Trial]:
    return [replace(trial, started_s=0.0, seconds=0.0) for trial in trials]


def loaded(monkeypatch: pytest.MonkeyPatch, folder: Path, space: FakeSpace | None = None) -> Study:
    monkeypatch.setattr("dse.study.load_space", lambda path, check: space or FakeSpace())
    return load_study(folder)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_two_processes_give_the_same_bytes_as_one(tmp_path: Path, sampler: str) -> None:
    one = search(tmp_path / "one", sampler=sampler)
    two = search(tmp_path / "two", sampler=sampler, backend="process", workers=2)
    assert timeless(one.trials) == timeless(two.trials)
    assert len(one.front) >= 3
    assert (tmp_path / "one/front.csv").read_bytes() == (tmp_path / "two/front.csv").read_bytes()
    for design in (tmp_path / "one/designs").iterdir():
        assert design.read_bytes() == (tmp_path / "two/designs" / design.name).read_bytes()


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_search_in_pieces_equals_one_in_one_piece(tmp_path: Path, sampler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LOG, str(tmp_path / "log"))
    for total in (3, 25, 25, 40):
        pieces = search(tmp_path / "pieces", sampler=sampler, trials=total, resume=True)
        assert len(pieces.trials) == total
    keys = [key for what, key in log_lines(tmp_path / "log") if what == "begin"]
    assert len(keys) == len(set(keys))
    whole = search(tmp_path / "whole", sampler=sampler)
    assert timeless(pieces.trials) == timeless(whole.trials)
    assert (tmp_path / "pieces/front.csv").read_bytes() == (tmp_path / "whole/front.csv").read_bytes()
    assert pieces.history == whole.history


def test_a_loaded_study_is_the_one_that_was_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = search(tmp_path / "s", FakeSpace(dimensions=dimensions(policies=("lru", "broken"))), trials=20)
    again = loaded(monkeypatch, tmp_path / "s")
    assert len(again.trials) == 20
    assert again.trials == study.trials
    assert (again.status, again.counts, again.history) == (study.status, study.counts, study.history)
    assert again.base is not None
    assert again.hypervolume == study.hypervolume > 0


def test_no_design_is_evaluated_twice_and_the_base_counts_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LOG, str(tmp_path / "log"))
    space = FakeSpace(dimensions=dimensions(hbm_high=8))
    study = search(tmp_path / "s", space, trials=1000)
    begun = [key for what, key in log_lines(tmp_path / "log") if what == "begin"]
    assert len(begun) == len(set(begun)) == len(study.trials)
    assert study.base is not None
    assert study.base.key in {trial.key for trial in study.trials}
    assert study.status == "complete"
    assert study.note == f"all {len(study.trials)} designs evaluated"


@pytest.mark.parametrize("sampler", ["grid", "random"])
def test_an_exhausted_study_can_be_resumed_and_stays_as_it_is(tmp_path: Path, sampler: str) -> None:
    space = FakeSpace(dimensions=dimensions(hbm_high=4, policies=("lru",)))
    first = search(tmp_path / "s", space, sampler=sampler)
    assert first.status == "complete"
    assert len(first.trials) == 15
    assert first.note is not None
    again = search(tmp_path / "s", space, sampler=sampler, resume=True)
    assert (again.trials, again.note, again.status) == (first.trials, first.note, "complete")


def test_a_batch_begun_by_a_sampler_that_chose_otherwise_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after an upgrade of Optuna in the middle of a search."""
    before = search(tmp_path / "s", trials=15, sampler="random")
    monkeypatch.setattr("dse.samplers._seam.Ask.fresh_seed", property(lambda ask: 1000 + ask.number * 10 + ask.attempt))
    after = search(tmp_path / "s", trials=30, sampler="random", resume=True)
    assert after.trials[:15] == before.trials
    assert [trial.number for trial in after.trials] == list(range(30))
    assert len({trial.key for trial in after.trials}) == 30


def test_a_failing_design_is_a_failed_trial_and_the_search_goes_on(tmp_path: Path) -> None:
    study = search(tmp_path / "s", FakeSpace(dimensions=dimensions(policies=("lru", "broken", "blank"))), trials=40)
    errors = {trial.error for trial in study.trials if trial.state == "failed"}
    assert errors == {
        "ArithmeticError: this policy cannot be simulated",
        "objective ttft_p99_s is unknown for this design",
    }
    assert study.counts["failed"] + study.counts["complete"] == 40
    assert not any(trial.feasible or trial.metrics for trial in study.trials if trial.state == "failed")
    stored = optuna.load_study(study_name="s", storage=journal(tmp_path / "s")).trials
    for trial, frozen in zip(study.trials, stored, strict=True):
        assert set(frozen.constraints) == {"tpot_p99 <= 62 ms"}
        assert (max(frozen.constraints.values()) <= 0) == trial.feasible


def test_an_infeasible_design_without_objective_is_no_failure(tmp_path: Path) -> None:
    space = FakeSpace(dimensions=dimensions(hbm_high=5, policies=("blank",)))
    study = search(tmp_path / "s", space, trials=20)
    assert {trial.state for trial in study.trials} == {"complete"}
    assert not study.front
    header = (tmp_path / "s/front.csv").read_text().splitlines()
    assert len(header) == 1
    assert header[0].startswith("number,ttft_p99_s,hbm_cost_usd,tiers.hbm.capacity_bytes")


def journal(folder: Path) -> optuna.storages.JournalStorage:
    return optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(folder / "study.journal")))


def test_optuna_can_read_the_study(tmp_path: Path) -> None:
    study = search(tmp_path / "fake", trials=20)
    stored = optuna.load_study(study_name="fake", storage=journal(tmp_path / "fake"))
    assert stored.metric_names == ["ttft_p99_s", "hbm_cost_usd"]
    assert [d.name for d in stored.directions] == ["MINIMIZE", "MINIMIZE"]
    assert [trial.number for trial in stored.trials] == list(range(20))
    best = {trial.number for trial in stored.best_trials}
    assert {trial.number for trial in study.front} <= best
    assert not (tmp_path / "fake/evaluations.jsonl").exists()


def test_a_database_holds_the_same_trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:///{tmp_path}/studies.db"
    in_journal = search(tmp_path / "a", trials=25)
    search(tmp_path / "b", trials=15, storage=url)
    in_database = search(tmp_path / "b", trials=25, resume=True)
    assert timeless(in_journal.trials) == timeless(in_database.trials)
    assert timeless(loaded(monkeypatch, tmp_path / "b").trials) == timeless(in_journal.trials)
    assert not (tmp_path / "b/study.journal").exists()


def test_designs_hold_all_that_gives_their_metrics_again(tmp_path: Path) -> None:
    study = search(tmp_path / "s")
    files = sorted((tmp_path / "s/designs").iterdir())
    assert [int(path.stem) for path in files] == sorted(trial.number for trial in study.front)
    for path in files:
        data = load_yaml(path).data
        trial = study.trials[int(path.stem)]
        assert data["design"] == trial.point
        for member, scenario in data["members"].items():
            assert metrics_of(scenario) == data["metrics"][member] == trial.metrics[member]
        assert (data["combine"], data["replications"], data["seed"]) == ("worst", 1, None)


def test_designs_that_left_the_front_lose_their_file(tmp_path: Path) -> None:
    search(tmp_path / "s", trials=10)
    (tmp_path / "s/designs/notes.yaml").write_text("mine: true\n")
    study = search(tmp_path / "s", trials=60, resume=True)
    kept = {path.name for path in (tmp_path / "s/designs").iterdir()}
    assert kept == {f"{trial.number:03d}.yaml" for trial in study.front} | {"notes.yaml"}


def test_tables_have_numbers_with_units_and_no_unit_twice(tmp_path: Path) -> None:
    study = search(tmp_path / "s")
    table = pq.read_table(tmp_path / "s/trials.parquet").to_pydict()
    assert table["number"] == list(range(40))
    for number, trial in enumerate(study.trials):
        assert table["tiers.hbm.capacity_bytes"][number] == int(trial.point["tiers.hbm.capacity"].split()[0]) * 2**30
        assert table["tiers.cxl.policy"][number] == trial.point.get("tiers.cxl.policy")
        assert table["ttft_p99_s"][number] == trial.combined["ttft_p99_s"]
        assert table["ttft_p99_s[slow]"][number] == trial.metrics["slow"]["ttft_p99_s"]
        assert table["violation: tpot_p99 <= 62 ms"][number] == trial.violations["tpot_p99 <= 62 ms"]
    lines = (tmp_path / "s/front.csv").read_text().splitlines()
    assert len(lines) == 1 + len(study.front)
    first = dict(zip(lines[0].split(","), lines[1].split(","), strict=True))
    assert float(first["ttft_p99_s"]) == study.front[0].combined["ttft_p99_s"]
    assert first["quality_loss"] == ""


def test_a_front_for_each_member(tmp_path: Path) -> None:
    study = search(tmp_path / "s", FakeSpace(combine="each"), trials=30)
    assert set(study.fronts) == {"slow", "fast"}
    rows = [line.split(",")[:2] for line in (tmp_path / "s/front.csv").read_text().splitlines()[1:]]
    assert rows == [[str(t.number), member] for member, front in study.fronts.items() for t in front]
    stored = optuna.load_study(study_name="s", storage=journal(tmp_path / "s"))
    assert len(stored.directions) == 4
    assert 0 < study.hypervolume < 1


class Recorder:
    """A tracker and a progress line that remember."""

    def __init__(self, fail: bool = False) -> None:
        self.fail, self.started, self.batches, self.shown = fail, 0, list[tuple[int, float, int]](), list[tuple[int, int]]()

    def start(self, space: object, settings: object) -> None:
        self.started += 1

    def batch(self, trials: Sequence[Trial], hypervolume: float, front_size: int, step: int) -> None:
        self.batches.append((step, hypervolume, front_size))
        if self.fail:
            raise ConnectionError("no server")

    def __call__(self, done: int, *, feasible: int, front: int, hypervolume: float) -> None:
        self.shown.append((done, feasible))


def test_trackers_and_progress_see_every_step(tmp_path: Path) -> None:
    seen = Recorder()
    study = search(tmp_path / "s", trials=25, tracker=seen, progress=seen)
    assert seen.started == 1
    assert tuple(seen.batches) == study.history
    assert [step for step, _, _ in seen.batches] == [10, 20, 25]
    assert {done for done, _ in seen.shown} == set(range(1, 26))
    assert seen.shown[-1] == (25, study.counts["feasible"])


def test_a_tracker_that_fails_stops_nothing(tmp_path: Path) -> None:
    seen = Recorder(fail=True)
    assert len(search(tmp_path / "s", trials=30, tracker=seen).trials) == 30
    assert len(seen.batches) == 1


def test_a_progress_line_that_fails_stops_nothing(tmp_path: Path) -> None:
    def broken(*_: object, **__: object) -> None:
        raise BrokenPipeError

    assert len(search(tmp_path / "s", trials=12, progress=broken).trials) == 12


def interrupting(after: int, times: int = 1) -> Any:
    """An objective during whose `after`-th evaluation the user presses Ctrl-C."""
    calls = []

    def objective(task: Task) -> Result:
        calls.append(task.key)
        if len(calls) == after:
            for _ in range(times):
                os.kill(os.getpid(), signal.SIGINT)
        return evaluate(task)

    return objective


@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_stores_what_is_done_and_resume_goes_on(tmp_path: Path, times: int) -> None:
    handler = signal.getsignal(signal.SIGINT)
    study = search(tmp_path / "s", evaluate=interrupting(18, times))
    assert study.status == "interrupted"
    assert len(study.trials) == (17 if times == 1 else 16)
    assert (tmp_path / "s/front.csv").exists()
    assert signal.getsignal(signal.SIGINT) is handler
    resumed = search(tmp_path / "s", resume=True)
    assert timeless(resumed.trials) == timeless(search(tmp_path / "whole").trials)


@pytest.mark.parametrize("count", [1, 2])
def test_the_base_is_measured_first_and_can_be_interrupted(tmp_path: Path, count: int) -> None:
    study = search(tmp_path / "s", evaluate=interrupting(1, count))
    assert (study.status, len(study.trials)) == ("interrupted", 0)
    assert search(tmp_path / "s").base is not None


def test_an_unknown_backend_or_sampler_leaves_no_folder(tmp_path: Path) -> None:
    for wrong in ({"backend": "clusterr"}, {"sampler": "nsga"}):
        with pytest.raises(InputError, match="unknown"):
            search(tmp_path / "s", **wrong)
    assert not (tmp_path / "s").exists()


def test_settings_are_kept_and_taken_up_again(tmp_path: Path) -> None:
    search(tmp_path / "s", sampler="tpe", batch_size=7, trials=10)
    study = search(tmp_path / "s", resume=True)
    assert (study.settings.sampler, study.settings.batch_size, study.settings.resumed) == ("tpe", 7, True)
    recorded = json.loads((tmp_path / "s/study.json").read_text())
    assert (recorded["sampler"], recorded["trials"]) == ("tpe", 40)
