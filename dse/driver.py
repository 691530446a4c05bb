"""The loop of a search: ask a batch, evaluate it, store it, tell it.

Batches end at multiples of the batch size, and a batch is a function of the seed and the trials before it. So it does
not matter how many workers evaluated it, when the search was interrupted, or whether the number of trials was raised
later: the trials are the same."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from optuna.trial import FrozenTrial

from dse.asking.asker import KEY, Asked, Asker
from dse.basecheck import measured_base
from dse.front import Meter
from dse.objective import error_text, make_task
from dse.seams import Executor, Progress, Tracker
from dse.stopping import Stopping
from dse.storage.records import base_trial, from_optuna, make_trial, to_optuna
from dse.storage.store import Store
from dse.trial import Trial

if TYPE_CHECKING:
    from dse.space import Space

Status = Literal["complete", "interrupted"]
_log = logging.getLogger("dse")


class Driver:
    """One run of the loop over an open study.

    Args:
        space: what is searched.
        store: the study on disk, held by this process.
        asker: proposes designs; told nothing yet.
        executor: evaluates them.
        stopping: true once the search shall end.
        tracker: told of the start and of every batch.
        progress: called after every evaluation.
    """

    def __init__(
        self,
        space: Space,
        store: Store,
        asker: Asker,
        executor: Executor,
        stopping: Stopping,
        tracker: Tracker | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._space, self._store, self._asker, self._executor = space, store, asker, executor
        self._stopping, self._tracker, self._progress = stopping, tracker, progress
        self._size, self._total = store.settings.batch_size, store.settings.trials
        self._meter = Meter(space, None)
        self._told = 0
        self._frozen: list[FrozenTrial] = list(store.trials)
        self.base: Trial | None = None
        self.trials: list[Trial] = [from_optuna(trial) for trial in self._frozen]

    def run(self) -> Status:
        """Go on until there are as many trials as wanted or no design is left, or until the user has had enough.

        Raises:
            InputError, SimcoreError: the sampler cannot go on, or the base scenario cannot be evaluated.
            InternalError: a law of the simulator is broken; what was finished before is stored.
            StorageError: something cannot be written.
        """
        self._track(lambda tracker: tracker.start(self._space, self._store.settings))
        try:
            if not self._measure_base():
                return "interrupted"
            self._tell(len(self.trials) // self._size * self._size)
            while len(self.trials) < self._total:
                if self._stopping() or not self._evaluate(self._ask()):
                    return "interrupted"
                self._finish_batch()
                if self._asker.exhausted:
                    break
        except KeyboardInterrupt:
            return "interrupted"
        return "complete"

    def _measure_base(self) -> bool:
        """Evaluate the base scenario, the yardstick of the hypervolume, unless that was done; whether it is there now."""
        if self._store.base is None:
            result = measured_base(self._space, self._executor, self._stopping)
            if result is None:
                return False
            with self._stopping.shielded():
                self._store.keep_base(result)
        assert self._store.base is not None
        self.base = base_trial(self._space, self._store.base)
        self._meter = Meter(self._space, self.base)
        return True

    def _tell(self, stop: int) -> None:
        """Tell the trials up to `stop`, as the batches they were asked in."""
        self._asker.tell(self._frozen[self._told : stop])
        for first in range(self._told, stop, self._size):
            self._meter.add(self.trials[first : min(stop, first + self._size)])
        self._told = stop

    def _ask(self) -> list[Asked]:
        """What is left to do of the batch that begins after the told trials."""
        size = min(self._size - self._told % self._size, self._total - self._told)
        batch, stored = self._asker.ask(size), self._frozen[self._told :]
        if [trial.user_attrs[KEY] for trial in stored] == [asked.key for asked in batch[: len(stored)]]:
            return batch[len(stored) :]
        # The batch was begun by other versions of the libraries, which chose otherwise: what is stored stays.
        self._tell(len(self.trials))
        return self._asker.ask(size - len(stored))

    def _evaluate(self, batch: Sequence[Asked]) -> bool:
        """Evaluate what the log does not hold yet, store all that is finished; whether that is the whole batch."""
        log, by_key = self._store.evaluations, {asked.key: asked for asked in batch}
        found = {**log.found, **({self._store.base.key: self._store.base} if self._store.base else {})}
        made = {key: make_trial(self._space, asked, found[key]) for key, asked in by_key.items() if key in found}
        left = [make_task(self._space, a.number, a.key, a.proposal.point) for a in batch if a.key not in made]
        try:
            for result in self._executor.run(left, self._stopping):
                with self._stopping.shielded():
                    log.add(result)
                    made[result.key] = make_trial(self._space, by_key[result.key], result)
                self._show(list(made.values()))
        except KeyboardInterrupt:
            return False
        finally:
            with self._stopping.shielded():
                self._append(batch, made)
        return len(made) == len(batch)

    def _append(self, batch: Sequence[Asked], made: dict[str, Trial]) -> None:
        """Store the trials of the batch in ask order, up to the first that is not finished."""
        for asked in batch:
            if asked.key not in made:
                return
            frozen = to_optuna(self._space, asked, made[asked.key])
            self._store.journal.append(frozen)
            self._frozen.append(frozen)
            self.trials.append(made[asked.key])

    def _finish_batch(self) -> None:
        with self._stopping.shielded():
            self._store.evaluations.clear()
        self._tell(len(self.trials))
        volume, size, step = self._meter.hypervolume, self._meter.front_size, len(self.trials)
        self._track(lambda tracker: tracker.batch(tuple(self.trials), volume, size, step))
        self._show([])

    def _show(self, made: Sequence[Trial]) -> None:
        if self._progress is None:
            return
        feasible = sum(trial.feasible for trial in [*self.trials, *made])
        done = len(self.trials) + len(made)
        front, volume = self._meter.front_size, self._meter.hypervolume
        try:
            self._progress(done, feasible=feasible, front=front, hypervolume=volume)
        except Exception as error:
            _log.warning("the search goes on without showing progress: %s", error_text(error))
            self._progress = None

    def _track(self, call: Callable[[Tracker], None]) -> None:
        if self._tracker is None:
            return
        try:
            call(self._tracker)
        except Exception as error:
            _log.warning("the search goes on without its record: %s", error_text(error))
            self._tracker = None
