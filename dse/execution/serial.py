"""Evaluation in this process, one design after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dse.objective import Result, Task
from dse.seams import Evaluate, Initialise, Stopping


class SerialExecutor:
    """See `dse.seams.Executor`."""

    def __init__(self, evaluate: Evaluate, initialise: Initialise | None = None) -> None:
        self._evaluate, self._initialise = evaluate, initialise

    def run(self, tasks: Sequence[Task], stopping: Stopping) -> Iterator[Result]:
        for task in tasks:
            if stopping():
                return
            if self._initialise is not None:
                self._initialise()
                self._initialise = None
            yield self._evaluate(task)

    def close(self) -> None:
        pass


def start(evaluate: Evaluate, workers: int | None = None, initialise: Initialise | None = None) -> SerialExecutor:
    """An executor in this process; there is one worker whatever `workers` says."""
    return SerialExecutor(evaluate, initialise)
