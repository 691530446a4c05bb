"""A search recorded in MLflow, off its critical path: one parent run per search, a child run per design of the front.

A store that is missing, slow or dying delays nothing and fails no search. What could not be sent is said at the end in one
sentence, stays in the study folder, and is sent by the next search that resumes the study.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dse.tracking.mlflow_record import ChildRun, child_run, run_tags, search_note, search_params, thinned
from dse.tracking.mlflow_sink import Begin, End, Event, MlflowSink
from dse.tracking.mlflow_state import Step, append_step, new_state, read_state, read_steps
from dse.tracking.mlflow_view import View
from dse.tracking.store import Store, store_at
from dse.tracking.writer import Writer

if TYPE_CHECKING:
    from dse.seams import Settings
    from dse.space import Space
    from dse.study import Study
    from dse.trial import Trial

ARTIFACTS = ("report.html", "front.csv", "trials.parquet", "space.yaml")
PATIENCE_S = {"server": 6.0, "database": 15.0}
"""How long the end of a search waits without progress; a local database is slow at times but never away."""
LIMIT_S = 30.0


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
        self.not_recorded: str | None = None

    def start(self, space: Space, settings: Settings) -> None:
        """Begin the parent run, or go on with the one that the study folder remembers."""
        self._settings = settings
        self._store = store_at(settings.folder.parent, self._uri)
        state = read_state(settings.folder)
        if state is None or state.store != self._store.identity:
            state = new_state(self._store.identity)
        steps = read_steps(settings.folder)
        self._last_step = max((s.step for s in steps), default=-1)
        self._writer: Writer[Event] = Writer(
            MlflowSink(settings.folder, self._store.uri, self._store.artifacts, state)
        )
        self._writer.put(
            Begin(space.name, settings.name, search_params(space, settings), run_tags(space, settings), _now_ms())
        )
        for step in steps:
            self._writer.put(step)

    def batch(self, trials: Sequence[Trial], hypervolume: float, front_size: int, step: int) -> None:
        """Add a point to the parent run's curves. A step that an interrupted search has sent already is not sent again."""
        self._feasible += sum(t.feasible for t in trials[self._seen :])
        self._seen = len(trials)
        if step <= self._last_step:
            return
        self._last_step = step
        share = self._feasible / max(len(trials), 1)
        values = {"hypervolume": hypervolume, "front_size": float(front_size), "feasible_share": share}
        point = Step(step, _now_ms(), values)
        append_step(self._settings.folder, point)
        self._writer.put(point)

    def finish(self, study: Study) -> None:
        """Record the front and the files, and wait for the writer, but not for long."""
        self._writer.put(self._end(study))
        kind = "server" if self._store.is_server else "database"
        missing, error = self._writer.close(PATIENCE_S[kind], LIMIT_S)
        if missing:
            self.not_recorded = not_recorded(missing, error, self._store, self._settings.name)

    def _end(self, study: Study) -> End:
        space, now = study.space, _now_ms()
        children = [child_run(space, trial) for trial in thinned(study.front)]
        files = [path for name in ARTIFACTS if (path := self._settings.folder / name).is_file()]
        view = front_view(f"Front of {self._settings.name}", space, children, now)
        return End(children, files, search_note(space, study.trials, study.front), view, "FINISHED", now)


def front_view(name: str, space: Space, children: Sequence[ChildRun], time_ms: int) -> View | None:
    """A saved view of the first two objectives with the searched parameters as columns; None where there is none to draw."""
    if len(space.objectives) < 2 or not children:
        return None
    y, x = (metric.key for metric in space.objectives[:2])
    if not all({x, y} <= child.metrics.keys() for child in children):
        return None
    params = dict.fromkeys(key for child in children for key in child.params)
    columns = [f"metrics.`{m.key}`" for m in space.objectives] + [f"params.`{key}`" for key in params]
    return View(name, x, y, tuple(columns), time_ms)


def not_recorded(missing: Sequence[Event], error: Exception | None, store: Store, name: str) -> str:
    """The sentence about what is missing, why, and how to add it."""
    steps = sum(isinstance(e, Step) for e in missing)
    ends = [e for e in missing if isinstance(e, End)]
    what = [f"{steps} steps of its curves"] if steps else []
    for end in ends:
        what.append(f"{len(end.children)} designs of the front")
        what.append(f"{len(end.artifacts)} files")
    reason = _reason(error) if error is not None else "it took too long"
    return (
        f"MLflow ({store.label}): not recorded: {', '.join(what)} ({reason}). "
        f"All of it is in the study folder; `dse search {name} --resume` sends it."
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
