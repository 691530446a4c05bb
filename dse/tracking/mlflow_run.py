"""A search recorded in MLflow, off its critical path: one parent run per search, a child run per design of the front.

A store that is missing, slow or dying delays nothing and fails no search. What could not be sent is said at the end in one
sentence; all of it follows from the study, so the next search that resumes the study sends it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dse.tracking.mlflow_record import (
    ChildRun,
    Step,
    child_runs,
    metric_name,
    run_tags,
    search_note,
    search_params,
    step_of,
    steps_of,
)
from dse.tracking.mlflow_sink import Begin, End, Event, MlflowSink
from dse.tracking.mlflow_state import new_state, read_state
from dse.tracking.mlflow_view import View
from dse.tracking.store import Store, store_at
from dse.tracking.writer import Writer

if TYPE_CHECKING:
    from dse.seams import Settings
    from dse.space import Space
    from dse.tracking.searched import Searched
    from dse.trial import Trial

ARTIFACTS = ("report.html", "front.csv", "trials.parquet", "space.yaml")
PATIENCE_S = {"server": 6.0, "database": 15.0}
"""How long the end of a search waits without progress; a local database is slow at times but never away."""
LIMIT_S = 30.0
_STATUS = {"complete": "FINISHED", "interrupted": "KILLED"}


class MlflowTracker:
    """Records a search in MLflow.

    Args:
        uri: of an MLflow server or database; None takes $MLFLOW_TRACKING_URI, else the SQLite file beside the study folders.

    Attributes:
        not_recorded: after `finish`, a sentence about what is missing from the record and how to add it; None if all is there.

    Raises:
        InputError: MLflow cannot record to `uri`.
    """

    def __init__(self, uri: str | None = None) -> None:
        store_at(Path(), uri)
        self._uri = uri
        self._feasible = self._seen = 0
        self._writer: Writer[Event] | None = None
        self.not_recorded: str | None = None

    def start(self, space: Space, settings: Settings) -> None:
        """Begin the parent run, or go on with the one that the study folder remembers."""
        self._settings = settings
        self._store = store_at(settings.folder.parent, self._uri)
        state = read_state(settings.folder)
        if state is None or state.store != self._store.identity:
            state = new_state(self._store.identity)
        self._writer = Writer(MlflowSink(settings.folder, self._store, state))
        name = settings.name if settings.seed == 0 else f"{settings.name} seed {settings.seed}"
        self._writer.put(Begin(space.name, name, search_params(space, settings), run_tags(space, settings), _now_ms()))

    def batch(self, trials: Sequence[Trial], hypervolume: float, front_size: int, step: int) -> None:
        """Add a point to the parent run's curves."""
        self._feasible += sum(t.feasible for t in trials[self._seen : step])
        self._seen = step
        if self._writer is not None:
            self._writer.put(step_of(trials, step, self._feasible, hypervolume, front_size))

    def finish(self, study: Searched) -> None:
        """Record the front and the files of `study`, and what an earlier search could not; waits, but not for long."""
        if self._writer is None:
            return
        children = child_runs(study)
        files = [path for name in ARTIFACTS if (path := study.folder / name).is_file()]
        view = front_view(study, children)
        status = _STATUS[study.status]
        self._writer.put(End(steps_of(study), children, files, search_note(study), view, status, _now_ms()))
        missing, error = self._writer.close(PATIENCE_S["server" if self._store.is_server else "database"], LIMIT_S)
        if missing:
            self.not_recorded = not_recorded(missing, error, self._store, study.name)


def front_view(study: Searched, children: Sequence[ChildRun]) -> View | None:
    """A saved view of the first two objectives (of the first member's front) with the searched parameters as columns."""
    objectives = study.space.objectives
    member = next(iter(study.fronts))
    keys = [metric_name(member, metric.key) for metric in objectives]
    if len(objectives) < 2 or not children or not all({*keys[:2]} <= child.metrics.keys() for child in children):
        return None
    params = dict.fromkeys(key for child in children for key in child.params)
    columns = [f"metrics.`{key}`" for key in keys] + [f"params.`{key}`" for key in params]
    name = f"Front of {study.name}" if member is None else f"Front of {study.name} at {member}"
    return View(name, x=keys[1], y=keys[0], columns=tuple(columns), time_ms=_now_ms())


def not_recorded(missing: Sequence[Event], error: Exception | None, store: Store, name: str) -> str:
    """The sentence about what is missing, why, and how to add it."""
    points = sum(isinstance(e, Step) for e in missing)
    what = [f"{points} points of the search's curves"] if points else []
    for end in (e for e in missing if isinstance(e, End)):
        what += [f"{len(end.children)} designs of the front", f"{len(end.artifacts)} files"]
    reason = _reason(error) if error is not None else "it took too long"
    return (
        f"MLflow ({store.label}): not recorded: {', '.join(what)} ({reason}). "
        f"All of it is in the study folder; the same search with --resume sends it."
    )


def _reason(error: Exception) -> str:
    """The innermost cause in a few words."""
    text = " ".join(str(error).split())
    for sign, words in (
        ("Connection refused", "connection refused"),
        ("NameResolution", "unknown host"),
        ("timed out", "no answer in time"),
        ("Network is unreachable", "network unreachable"),
        ("database is locked", "database is locked"),
    ):
        if sign.lower() in text.lower():
            return words
    return text if len(text) <= 120 else text[:117] + "..."


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
