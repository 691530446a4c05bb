"""A store whose tables exist already (making them takes two seconds), and a quick search to record."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dse.study import Study, run_search
from dse.tracking.mlflow_run import MlflowTracker
from dse.tracking.mlflow_sink import quiet_environment
from dse.tracking.store import DATABASE, VARIABLE, store_at
from tests.dse.fake_space import FakeSpace, evaluate

Search = Callable[..., tuple[Study, MlflowTracker]]


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    quiet_environment()
    from mlflow import MlflowClient

    root = tmp_path_factory.mktemp("store")
    MlflowClient(tracking_uri=store_at(root).uri).search_experiments()
    return root / DATABASE


@pytest.fixture
def root(tmp_path: Path, empty_store: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the study folders, in a folder of its own that is the current one."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "studies"
    folder.mkdir()
    shutil.copy(empty_store, folder / DATABASE)
    return folder


@pytest.fixture
def client(root: Path) -> Any:
    """A client of the store in `root`."""
    quiet_environment()
    from mlflow import MlflowClient

    return MlflowClient(tracking_uri=store_at(root).uri)


@pytest.fixture
def search(root: Path) -> Search:
    """Run a search in `root` and finish its record."""

    def run(
        trials: int = 30, uri: str | None = None, space: FakeSpace | None = None, **settings: Any
    ) -> tuple[Study, MlflowTracker]:
        tracker = MlflowTracker(uri)
        options = {"sampler": "random", "resume": True, "evaluate": evaluate, **settings}
        study = run_search(space or FakeSpace(), folder=root / "fake", tracker=tracker, trials=trials, **options)
        (study.folder / "report.html").write_text("<h1>report</h1>")
        tracker.finish(study)
        return study, tracker

    return run
