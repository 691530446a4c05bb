"""Evaluation in this process, one design after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dse.objective import Result, Task
from dse.seams import Evaluate, Stopping


class SerialExecutor:
    """See `dse.seams.Executor`."""

    def __init__(self, evaluate: Evaluate) -> None:
        self._evaluate = evaluate

    def run(self, tasks: Sequence[Task], stopping: Stopping) -> Iterator[Result]:
        for task in tasks:
            if stopping():
                return
            yield self._evaluate(task)

    def close(self) -> None:
        pass


def start(evaluate: Evaluate, workers: int | None = None) -> SerialExecutor:
    """An executor in this process; there is one worker whatever `workers` says."""
    return SerialExecutor(evaluate)
