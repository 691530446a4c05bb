"""A search in MLflow: what is recorded, once and only once, and what happens when it cannot be."""

from __future__ import annotations

import base64
import json
import shutil
import socket
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dse.study import Study
from dse.tracking import mlflow_run
from dse.tracking.mlflow_record import design_params, key_name, thinned
from dse.tracking.mlflow_run import MlflowTracker
from dse.tracking.mlflow_state import read_state, write_state
from dse.tracking.store import DATABASE, store_at
from tests.dse.fake_space import FakeSpace

Search = Callable[..., tuple[Study, MlflowTracker]]


def experiment_id(client: Any) -> str:
    return str(client.get_experiment_by_name("fake").experiment_id)


def parents(client: Any) -> list[Any]:
    return list(client.search_runs([experiment_id(client)], "tags.`dse.study` LIKE '%'"))


def children(client: Any, parent: str) -> list[Any]:
    return list(client.search_runs([experiment_id(client)], f"tags.mlflow.parentRunId = '{parent}'"))


def test_one_parent_per_search_with_curves_parameters_and_files(search: Search, client: Any) -> None:
    study, tracker = search(35)
    assert tracker.not_recorded is None
    (parent,) = parents(client)
    assert parent.info.run_name == "fake" and parent.info.status == "FINISHED"
    assert parent.data.params["sampler"] == "random" and parent.data.params["space_sha256"] == study.space.sha256
    assert parent.data.tags["dse.budget_trials"] == "35"
    curve = client.get_metric_history(parent.info.run_id, "hypervolume")
    assert [(m.step, m.value) for m in curve] == [(step, volume) for step, volume, _ in study.history]
    assert [m.step for m in curve] == [10, 20, 30, 35]
    share = client.get_metric_history(parent.info.run_id, "feasible_share")[-1].value
    assert share == pytest.approx(study.counts["feasible"] / 35)
    files = {f.path for f in client.list_artifacts(parent.info.run_id)}
    assert files == {"report.html", "front.csv", "trials.parquet", "space.yaml"}
    assert "designs on the front" in parent.data.tags["mlflow.note.content"]
    assert "nested under it" in client.get_experiment(parent.info.experiment_id).tags["mlflow.note.content"]


def test_one_child_per_design_of_the_front(search: Search, client: Any) -> None:
    study, _ = search()
    (parent,) = parents(client)
    runs = {run.info.run_name: run for run in children(client, parent.info.run_id)}
    assert set(runs) == {f"design {t.number}" for t in study.front}
    for trial in study.front:
        run = runs[f"design {trial.number}"]
        assert run.data.metrics == {key: value for key, value in trial.combined.items() if value is not None}
        assert run.data.params["tiers.hbm.capacity_gib"] == trial.point["tiers.hbm.capacity"].removesuffix(" GiB")
        assert ("tiers.cxl.policy" in run.data.params) == ("tiers.cxl.policy" in trial.point)
        assert run.info.start_time == round(trial.started_s * 1000) < run.info.end_time
        assert run.data.metrics.keys().isdisjoint(parent.data.metrics)


def test_the_saved_view_plots_the_objectives_of_the_children(search: Search, client: Any) -> None:
    search()
    (parent,) = parents(client)
    tags = client.get_experiment(parent.info.experiment_id).tags
    view = json.loads(tags[f"mlflow.sharedViewState.front{parent.info.run_id}"])
    assert view["name"] == "Front of fake"
    state = json.loads(zlib.decompress(base64.b64decode(view["state"].removeprefix("deflate;"))))
    (chart,) = state["compareRunCharts"]
    assert (chart["xaxis"]["key"], chart["yaxis"]["key"]) == ("hbm_cost_usd", "ttft_p99_s")
    assert parent.info.run_id in state["searchFilter"]


def test_each_member_has_its_own_metrics_when_the_space_combines_each(search: Search, client: Any) -> None:
    study, _ = search(space=FakeSpace(combine="each"))
    (parent,) = parents(client)
    for run in children(client, parent.info.run_id):
        assert {"slow/ttft_p99_s", "fast/ttft_p99_s"} <= run.data.metrics.keys()
        assert "ttft_p99_s" not in run.data.metrics
        number = int(run.data.tags["dse.design"])
        on = [name for name, front in study.fronts.items() if number in {t.number for t in front}]
        assert run.data.tags["dse.on_front_of"] == ", ".join(map(str, on))


def test_going_on_uses_the_same_run_and_doubles_nothing(search: Search, client: Any) -> None:
    first, _ = search(20)
    (before,) = parents(client)
    study, tracker = search(60)
    assert tracker.not_recorded is None
    (parent,) = parents(client)
    assert parent.info.run_id == before.info.run_id and parent.info.status == "FINISHED"
    assert parent.data.tags["dse.budget_trials"] == "60"
    assert [m.step for m in client.get_metric_history(parent.info.run_id, "front_size")] == [10, 20, 30, 40, 50, 60]
    assert {t.number for t in first.front} != {t.number for t in study.front}
    found = sorted(run.info.run_name for run in children(client, parent.info.run_id))
    assert found == sorted(f"design {t.number}" for t in study.front)
    search(60)
    assert sorted(run.info.run_name for run in children(client, parent.info.run_id)) == found
    assert len(client.get_metric_history(parent.info.run_id, "front_size")) == 6


def test_a_kill_before_the_state_was_written_doubles_nothing(search: Search, client: Any, root: Path) -> None:
    study, _ = search(20)
    state = read_state(study.folder)
    assert state is not None
    (before,) = parents(client)
    forgetful = type(state)(state.store, state.key, state.experiment_id)
    write_state(study.folder, forgetful)
    search(40)
    (parent,) = parents(client)
    assert parent.info.run_id == before.info.run_id
    assert [m.step for m in client.get_metric_history(parent.info.run_id, "hypervolume")] == [10, 20, 30, 40]


def test_a_record_that_was_deleted_is_made_anew(search: Search, client: Any, root: Path, empty_store: Path) -> None:
    search(20)
    (old,) = parents(client)
    client.delete_run(old.info.run_id)
    search(30)
    (new,) = parents(client)
    assert new.info.run_id != old.info.run_id
    assert len(client.get_metric_history(new.info.run_id, "hypervolume")) == 3
    client.delete_experiment(experiment_id(client))
    _, tracker = search(30)
    assert tracker.not_recorded is None


def test_another_store_gets_a_record_of_its_own(search: Search, tmp_path: Path, empty_store: Path) -> None:
    from mlflow import MlflowClient

    search(20)
    (tmp_path / "elsewhere").mkdir()
    shutil.copy(empty_store, tmp_path / "elsewhere" / DATABASE)
    uri = f"sqlite:///{tmp_path}/elsewhere/{DATABASE}"
    _, tracker = search(20, uri=uri)
    assert tracker.not_recorded is None
    (parent,) = parents(MlflowClient(tracking_uri=uri))
    assert str(tmp_path / "elsewhere") in parent.info.artifact_uri


def test_what_a_store_missed_is_sent_by_the_next_search(search: Search, root: Path, empty_store: Path) -> None:
    from mlflow import MlflowClient

    (root / DATABASE).unlink()
    (root / DATABASE).mkdir()
    study, tracker = search(20)
    assert study.status == "complete" and len(study.trials) == 20
    said = tracker.not_recorded
    assert said is not None and "2 points" in said and "designs of the front" in said and "4 files" in said
    (root / DATABASE).rmdir()
    shutil.copy(empty_store, root / DATABASE)
    _, tracker = search(20)
    assert tracker.not_recorded is None
    client = MlflowClient(tracking_uri=store_at(root).uri)
    (parent,) = parents(client)
    assert [m.step for m in client.get_metric_history(parent.info.run_id, "hypervolume")] == [10, 20]


def test_a_server_that_refuses_delays_nothing(search: Search) -> None:
    start = time.monotonic()
    study, tracker = search(20, uri="http://127.0.0.1:9")
    assert time.monotonic() - start < 8
    assert study.status == "complete"
    assert tracker.not_recorded is not None and "connection refused" in tracker.not_recorded
    assert "http://127.0.0.1:9" in tracker.not_recorded


def test_a_server_that_never_answers_delays_only_the_end_and_not_for_long(
    search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "1")
    monkeypatch.setitem(mlflow_run.PATIENCE_S, "server", 0.5)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        start = time.monotonic()
        study, tracker = search(20, uri=f"http://127.0.0.1:{listener.getsockname()[1]}")
        assert time.monotonic() - start < 8
        assert study.status == "complete" and tracker.not_recorded is not None
        time.sleep(1.2)


def test_nothing_is_printed_and_nothing_left_in_the_current_folder(
    search: Search, root: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (root / DATABASE).unlink()
    search(10)
    assert capfd.readouterr() == ("", "")
    assert [p.name for p in root.parent.iterdir()] == ["studies"]


def test_mlflow_is_imported_by_the_writer_only() -> None:
    code = "import sys, dse.tracking.mlflow_run, dse.tracking.links; sys.exit(bool({'mlflow', 'pandas'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_design_becomes_numbers_with_the_unit_in_the_name() -> None:
    point = {
        "tiers.hbm.capacity": "13 GiB",
        "tiers.cxl.capacity": 0,
        "engine.block_size": 16,
        "link.latency": "80 us",
        "link.bandwidth": "64 GB/s",
        "kv_format": "fp8_e4m3",
        "reuse.output": True,
    }
    units = dict.fromkeys(point) | {"tiers.hbm.capacity": "bytes", "tiers.cxl.capacity": "bytes"} | {"tiers.cxl.policy": None}
    assert design_params(point, units) == {
        "tiers.hbm.capacity_gib": "13",
        "tiers.cxl.capacity_gib": "0",
        "engine.block_size": "16",
        "link.latency_s": "8e-05",
        "link.bandwidth_gb_per_s": "64",
        "kv_format": "fp8_e4m3",
        "reuse.output": "True",
    }


def test_member_names_become_legal_keys() -> None:
    assert key_name("request_rate=4, kv_format=[a]") == "request_rate 4  kv_format  a"


def test_a_long_front_keeps_its_ends(search: Search) -> None:
    study, _ = search(10)
    front = list(study.trials)
    assert thinned(front, 4) == [front[0], front[3], front[6], front[9]]
    assert thinned(front, 10) == front
