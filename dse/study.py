"""A study: searching a space into its folder, going on with it, reading it back."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import dse.front as fronts
from dse.asking.asker import Asker
from dse.basecheck import measured_base
from dse.driver import Driver, Status
from dse.front import Meter
from dse.objective import Result, evaluate, preparation
from dse.seams import Evaluate, Executor, Initialise, Progress, Settings, Tracker
from dse.space import load_space
from dse.stopping import Stopping
from dse.storage.export import export
from dse.storage.folder import SPACE, find_study, read_settings, study_folder
from dse.storage.journal import Journal
from dse.storage.lock import DriverLock
from dse.storage.records import base_trial, from_optuna
from dse.storage.store import open_store, recorded_base, recorded_url, stored_url
from dse.trial import Trial
from simcore import plugins
from simcore.errors import InternalError

if TYPE_CHECKING:
    from dse.space import Space

SAMPLER, BATCH_SIZE = "nsga2", 10
EXECUTION = "dse.execution"
simulated = evaluate
"""The evaluation that simulates, under a name that `run_search` does not use for its argument."""


@dataclass(frozen=True)
class Study:
    """A space and the trials made in it.

    Args:
        space: what was searched.
        settings: how.
        trials: in order, numbered from 0 without gaps.
        status: "complete": as many trials as asked for, or no design was left; "interrupted": fewer.
        base: the base scenario of the space, evaluated as it stands: number -1, none of the trials; None before that.
        note: why there are fewer trials than asked for, if the space or the sampler ran out of designs.
    """

    space: Space
    settings: Settings
    trials: tuple[Trial, ...]
    status: Status
    base: Trial | None = None
    note: str | None = None

    @property
    def name(self) -> str:
        return self.settings.name

    @property
    def folder(self) -> Path:
        return self.settings.folder

    @cached_property
    def fronts(self) -> dict[str | None, tuple[Trial, ...]]:
        """The front of each member with `combine: each`, else the one front under None; see `dse.front.front`."""
        return {member: fronts.front(self.space, self.trials, member) for member in fronts.front_members(self.space)}

    @property
    def front(self) -> tuple[Trial, ...]:
        """Every trial on a front, each once."""
        return tuple({trial.number: trial for found in self.fronts.values() for trial in found}.values())

    @property
    def counts(self) -> dict[str, int]:
        """Trials that are complete, feasible, failed; and repeats that samplers proposed, which were never evaluated."""
        complete = sum(trial.state == "complete" for trial in self.trials)
        return {
            "complete": complete,
            "feasible": sum(trial.feasible for trial in self.trials),
            "failed": len(self.trials) - complete,
            "duplicates": sum(trial.duplicates for trial in self.trials),
        }

    @cached_property
    def history(self) -> tuple[tuple[int, float, int], ...]:
        """After each batch: trials so far, hypervolume (see `dse.front.Meter`), size of the front."""
        meter, steps = Meter(self.space, self.base), []
        for start in range(0, len(self.trials), self.settings.batch_size):
            batch = self.trials[start : start + self.settings.batch_size]
            steps.append((start + len(batch), meter.add(batch), meter.front_size))
        return tuple(steps)

    @property
    def hypervolume(self) -> float:
        """Of the front, 0 .. 1; see `dse.front.Meter`."""
        return self.history[-1][1] if self.history else 0.0


def run_search(
    space: Space,
    *,
    sampler: str | None = None,
    backend: str = "serial",
    workers: int | None = None,
    folder: str | Path | None = None,
    storage: str | None = None,
    tracker: Tracker | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    trials: int | None = None,
    seed: int | None = None,
    batch_size: int | None = None,
    evaluate: Evaluate = evaluate,
    initialise: Initialise | None = None,
) -> Study:
    """Search a space and leave the study in its folder.

    Args:
        space: what to search.
        sampler: a name of `dse.samplers` or of an Optuna sampler; None: the study's, nsga2 in a new one.
        backend: a name of `dse.execution`.
        workers: of the backend; None: all processors.
        folder: of the study; its name is the study's. None: studies/ and the name of the space.
        storage: URL of an Optuna storage for the trials; None: the study's, a journal in its folder in a new one.
        tracker: told of the start and every batch; what it raises is logged, not passed on.
        resume: go on with trials that are already stored; starts a study if there are none.
        progress: called after every evaluation.
        trials: designs in total, stored ones included; None: the space's budget, or what the study was last asked for
            if that is more.
        seed: of the sampler; None: the space's.
        batch_size: designs chosen together; None: the study's, 10 in a new one.
        evaluate: gives a design's metrics; must pickle for backends with processes.
        initialise: called once in every process that evaluates; None: what the simulator needs, if it evaluates.

    Returns:
        The study. Ctrl-C gives it too, as "interrupted", with everything evaluated stored.

    Raises:
        InputError: of the user's making: unknown names, an existing or foreign study, a damaged file, a second search
            in the study, a scenario that cannot be evaluated (no folder is made then).
        InternalError: a law of the simulator is broken; what was finished before is stored.
        StorageError: something could not be written; what was stored before is intact.
    """
    folder = Path(folder) if folder is not None else study_folder(space.name)
    recorded = read_settings(folder) or {}
    total = total_trials(space, folder, trials, resume)
    space = replace(space, trials=total, seed=space.seed if seed is None else seed)
    url = recorded_url(recorded or None, storage)
    settings = Settings(
        name=folder.resolve().name,
        folder=folder,
        sampler=sampler or recorded.get("sampler", SAMPLER),
        seed=space.seed,
        batch_size=batch_size or recorded.get("batch_size", BATCH_SIZE),
        trials=total,
        storage=stored_url(url),
        backend=backend,
        workers=workers,
    )
    asker = Asker(space, settings.sampler, settings.seed)
    start = plugins.find(EXECUTION, backend, ("start",)).start
    if initialise is None and evaluate is simulated:
        initialise = preparation(space)
    with Stopping() as stopping, closing(start(evaluate, workers, initialise)) as executor:
        base = _new_base(space, executor, stopping) if not recorded else None
        with DriverLock(folder), closing(open_store(space, settings, url, resume)) as store:
            if base is not None and store.base is None:
                store.keep_base(base)
            driver = Driver(space, store, asker, executor, stopping, tracker, progress)
            try:
                status = driver.run()
            except InternalError:
                export(folder, space, driver.trials)
                raise
            with stopping.shielded():
                export(folder, space, driver.trials)
    return Study(space, store.settings, tuple(driver.trials), status, driver.base, asker.exhausted)


def _new_base(space: Space, executor: Executor, stopping: Stopping) -> Result | None:
    """The base scenario of a study that has no folder yet; None when stopped."""
    try:
        return measured_base(space, executor, stopping)
    except KeyboardInterrupt:
        return None


def total_trials(space: Space, folder: Path, trials: int | None, resume: bool) -> int:
    """Designs a search shall have made in the end: as asked for, else the space's budget or what was asked for before."""
    recorded = (read_settings(folder) or {}) if resume else {}
    return trials if trials is not None else max(space.trials, recorded.get("trials", 0))


def load_study(folder_or_name: str | Path, *, storage: str | None = None) -> Study:
    """A study from its folder, or from its name under studies/. Writes nothing; a search may be running in it.

    Args:
        folder_or_name: the study.
        storage: URL of its Optuna storage, where a password is needed that the folder does not hold.

    Raises:
        InputError: no such study, a damaged file, a storage that does not answer.
    """
    folder = find_study(folder_or_name)
    recorded = read_settings(folder)
    assert recorded is not None
    settings = Settings(
        name=recorded["name"],
        folder=folder,
        sampler=recorded["sampler"],
        seed=recorded["seed"],
        batch_size=recorded["batch_size"],
        trials=recorded["trials"],
        storage=recorded["storage"],
        resumed=True,
    )
    space = load_space(folder / SPACE, check=False)
    with closing(Journal(folder, settings.name, recorded_url(recorded, storage))) as journal:
        trials = tuple(from_optuna(trial) for trial in journal.trials())
    status: Status = "complete" if len(trials) >= settings.trials else "interrupted"
    base = recorded_base(recorded)
    return Study(space, settings, trials, status, base_trial(space, base) if base else None)
