"""What a search is handed from outside: where designs are evaluated, who records it, who shows progress."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from dse.objective import Result, Task

if TYPE_CHECKING:
    from dse.space import Space
    from dse.trial import Trial

Evaluate = Callable[[Task], Result]
Initialise = Callable[[], None]
"""Called once in every process that evaluates, before its first design."""
Stopping = Callable[[], bool]


@dataclass(frozen=True)
class Settings:
    """How a study is searched.

    Args:
        name: of the study; also the name of the Optuna study.
        folder: of the study.
        sampler: how designs are chosen.
        seed: of the sampler.
        batch_size: designs chosen together, before any of their results is known. Belongs to the study, not to the
            workers.
        trials: designs to evaluate in total.
        storage: URL of the Optuna storage without a password; None: the journal in the folder.
        backend: where designs are evaluated.
        workers: processes, if the backend has any; None: all cores.
        resumed: whether trials were already stored.
    """

    name: str
    folder: Path
    sampler: str
    seed: int
    batch_size: int
    trials: int
    storage: str | None = None
    backend: str = "serial"
    workers: int | None = None
    resumed: bool = False


class Executor(Protocol):
    """Evaluates designs somewhere. A module of `dse.execution` gives one by
    `start(evaluate, workers, initialise) -> Executor`."""

    def run(self, tasks: Sequence[Task], stopping: Stopping) -> Iterator[Result]:
        """Yield the result of each task as it is finished, in any order.

        Once `stopping()` is true no further task is begun; those under way are finished and yielded. A worker that dies
        is replaced and its task tried once more; dying twice gives a failed result.

        Raises:
            InternalError: the evaluation raised it; tasks under way were finished and yielded before.
        """

    def close(self) -> None:
        """Release every process; harmless when called twice."""


class Tracker(Protocol):
    """Records a search elsewhere. Is never waited for; what it raises is logged and ignored.

    A search calls `start` and `batch`. Whoever made the tracker ends it, once the report it shall keep is written.
    """

    def start(self, space: Space, settings: Settings) -> None:
        """The search begins, or goes on."""

    def batch(self, trials: Sequence[Trial], hypervolume: float, front_size: int, step: int) -> None:
        """A batch is stored.

        Args:
            trials: every trial of the study so far, in order.
            hypervolume: of the front, 0 .. 1 (see `dse.front.Meter`).
            front_size: designs on the front.
            step: number of trials so far.
        """


class Progress(Protocol):
    """Shows how far a search is; called after every evaluation and after every stored batch."""

    def __call__(self, done: int, *, feasible: int, front: int, hypervolume: float) -> None:
        """`done` designs are evaluated, `feasible` of them feasible; `front` designs were on the front at the last batch."""
