"""The only code that talks to MLflow. Runs on the writer thread; every write may be repeated without doubling anything."""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from dse.tracking.links import front_filter
from dse.tracking.mlflow_record import CURVE, EXPERIMENT_NOTE, ChildRun, Step
from dse.tracking.mlflow_state import RunState, forget_progress, write_state
from dse.tracking.mlflow_view import View
from dse.tracking.store import Store
from dse.tracking.writer import Beat

T = TypeVar("T")
TIMEOUT_S = 5
PARENT_TAG, NOTE_TAG = "mlflow.parentRunId", "mlflow.note.content"
KEY_TAG, DESIGN_TAG, MEMBERS_TAG = "dse.key", "dse.design", "dse.on_front_of"
_LIMITS = {"metrics": 900, "params": 90, "steps": 250}
_PAGE = 1000


@dataclass(frozen=True)
class Begin:
    """A search begins, or goes on in the run that the study remembers."""

    experiment: str
    run_name: str
    params: Mapping[str, str]
    tags: Mapping[str, str]
    time_ms: int


@dataclass(frozen=True)
class End:
    """A search ended: all of its curves, the designs of the front, files, description, and its status in MLflow's words."""

    steps: Sequence[Step]
    children: Sequence[ChildRun]
    artifacts: Sequence[Path]
    note: str
    view: View | None
    status: str
    time_ms: int


Event = Begin | Step | End


def quiet_environment() -> None:
    """MLflow's settings as this project needs them, where the user has not set them. Call before MLflow is imported."""
    defaults = {
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "DO_NOT_TRACK": "true",
        "GIT_PYTHON_REFRESH": "quiet",
        "MLFLOW_HTTP_REQUEST_TIMEOUT": str(TIMEOUT_S),
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
        "MLFLOW_LOGGING_LEVEL": "ERROR",
        "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    }
    for name, value in defaults.items():
        os.environ.setdefault(name, value)
    for logger in ("mlflow", "alembic", "urllib3"):
        logging.getLogger(logger).setLevel(logging.ERROR)


def check_database(path: Path) -> None:
    """Fail at once where MLflow would try again for minutes.

    Raises:
        sqlite3.Error, OSError: the file cannot be made, read or written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path, timeout=TIMEOUT_S)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.rollback()


class MlflowSink:
    """Writes one search to MLflow.

    Args:
        folder: the study folder, where the state is kept.
        store: where MLflow records to.
        state: what the study remembers of earlier searches.
    """

    def __init__(self, folder: Path, store: Store, state: RunState) -> None:
        self._folder, self._store, self.state = folder, store, state
        self._client: Any = None

    def write(self, events: Sequence[Event], beat: Beat) -> int:
        """Record the first event, or the leading steps together."""
        first = events[0]
        if isinstance(first, Begin):
            self._begin(first, beat)
            return 1
        if isinstance(first, End):
            self._end(first, beat)
            return 1
        steps = []
        for event in events[: _LIMITS["steps"]]:
            if not isinstance(event, Step):
                break
            steps.append(event)
        beat()
        self._log_steps(steps)
        return len(steps)

    def _remember(self, **changes: Any) -> None:
        self.state = replace(self.state, **changes)
        write_state(self._folder, self.state)

    def _connect(self) -> None:
        quiet_environment()
        from mlflow import MlflowClient

        if self._store.database is not None:
            check_database(self._store.database)
        self._client = MlflowClient(tracking_uri=self._store.uri, registry_uri=self._store.uri)

    def _begin(self, begin: Begin, beat: Beat) -> None:
        if self._client is None:
            self._connect()
        beat()
        run = self._find_run()
        if run is None:
            experiment = self._experiment(begin.experiment)
            run = self._client.create_run(experiment, begin.time_ms, {**begin.tags, KEY_TAG: self.state.key}, begin.run_name)
        run_id = run.info.run_id
        self._log_params(run_id, {k: v for k, v in begin.params.items() if k not in run.data.params})
        for name, value in begin.tags.items():
            if run.data.tags.get(name) != value:
                self._client.set_tag(run_id, name, value)
        if run.info.status != "RUNNING":
            self._client.update_run(run_id, status="RUNNING")
        self._remember(experiment_id=run.info.experiment_id, run_id=run_id)

    def _find_run(self) -> Any:
        """The run of an earlier search of this study, or None; one that is gone is forgotten with all that was sent to it."""
        from mlflow.exceptions import MlflowException

        if self.state.run_id:
            try:
                run = self._client.get_run(self.state.run_id)
            except MlflowException as error:
                if error.error_code != "RESOURCE_DOES_NOT_EXIST":
                    raise
                run = None
            if run is not None and run.info.lifecycle_stage == "active":
                return run
            self.state = forget_progress(self.state)
            write_state(self._folder, self.state)
            return None
        if not self.state.experiment_id:
            return None
        found = self._client.search_runs([self.state.experiment_id], f"tags.`{KEY_TAG}` = '{self.state.key}'", max_results=1)
        return found[0] if found else None

    def _experiment(self, name: str) -> str:
        from mlflow.exceptions import MlflowException

        found = self._client.get_experiment_by_name(name)
        if found is None:
            where = None if self._store.artifacts is None else (self._store.artifacts / name).as_uri()
            try:
                self._client.create_experiment(name, artifact_location=where)
            except MlflowException as error:
                if error.error_code != "RESOURCE_ALREADY_EXISTS":  # by another search, a moment ago
                    raise
            found = self._client.get_experiment_by_name(name)
        if found.lifecycle_stage != "active":
            self._client.restore_experiment(found.experiment_id)
        if found.tags.get(NOTE_TAG) != EXPERIMENT_NOTE:
            self._client.set_experiment_tag(found.experiment_id, NOTE_TAG, EXPERIMENT_NOTE)
        self._remember(experiment_id=found.experiment_id)
        return str(found.experiment_id)

    def _log_steps(self, steps: Sequence[Step]) -> None:
        rows = [(key, value, s.time_ms, s.step) for s in steps for key, value in s.values.items()]
        self._log_metrics(self.state.run_id, rows)

    def _log_metrics(self, run_id: str, rows: Sequence[tuple[str, float, int, int]]) -> None:
        from mlflow.entities import Metric

        for part in _parts(rows, _LIMITS["metrics"]):
            self._client.log_batch(run_id, metrics=[Metric(*row) for row in part])

    def _log_params(self, run_id: str, params: Mapping[str, str]) -> None:
        from mlflow.entities import Param

        for part in _parts(list(params.items()), _LIMITS["params"]):
            self._client.log_batch(run_id, params=[Param(key, value) for key, value in part])

    def _end(self, end: End, beat: Beat) -> None:
        client, run_id = self._client, self.state.run_id
        recorded = {point.step for point in client.get_metric_history(run_id, CURVE)}
        beat()
        self._log_steps([step for step in end.steps if step.step not in recorded])
        known = self._children(run_id)
        wanted = {str(child.number) for child in end.children}
        for number, run in known.items():
            if number not in wanted:
                beat()
                client.delete_run(run.info.run_id)
        ids = []
        for child in end.children:
            beat()
            ids.append(self._child(run_id, child, known.get(str(child.number))))
        self._remember(children=tuple(ids))
        for path in end.artifacts:
            beat()
            client.log_artifact(run_id, str(path))
        beat()
        client.set_tag(run_id, NOTE_TAG, end.note)
        if end.view is not None:
            with suppress(Exception):  # saved views are no documented interface; every page can be reached without them
                tag, text = end.view.tag(run_id)
                client.set_experiment_tag(self.state.experiment_id, tag, text)
                self._remember(view=end.view.key(run_id))
        client.set_terminated(run_id, end.status, end.time_ms)

    def _children(self, run_id: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        token = None
        while True:
            page = self._client.search_runs(
                [self.state.experiment_id], front_filter(run_id), max_results=_PAGE, page_token=token
            )
            found.update({run.data.tags.get(DESIGN_TAG, ""): run for run in page})
            token = page.token
            if not token:
                return found

    def _child(self, parent: str, child: ChildRun, run: Any) -> str:
        """Record a design, unless an earlier search has; one left half-written by a kill is written again."""
        if run is not None and run.info.status == "FINISHED":
            return str(run.info.run_id)
        if run is None:
            tags = {PARENT_TAG: parent, DESIGN_TAG: str(child.number)}
            if child.members:
                tags[MEMBERS_TAG] = ", ".join(child.members)
            run = self._client.create_run(self.state.experiment_id, child.start_ms, tags, child.name)
        run_id = str(run.info.run_id)
        self._log_params(run_id, {k: v for k, v in child.params.items() if k not in run.data.params})
        self._log_metrics(run_id, [(key, value, child.end_ms, 0) for key, value in child.metrics.items()])
        self._client.set_terminated(run_id, "FINISHED", child.end_ms)
        return run_id


def _parts(rows: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(rows), size):
        yield rows[start : start + size]
