"""Evaluation in worker processes of this machine, started once and kept, so that each compiles and loads its traces
once.

Workers are spawned, not forked: a fork of a process with threads (trackers, BLAS) may deadlock.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, Literal

from dse.objective import Result, Task, error_text
from dse.seams import Evaluate, Initialise, Stopping
from simcore.errors import InternalError, SimcoreError

POLL_S = 0.2
"""How often a request to stop is looked for while workers are busy."""
TRIES = 2
FALSE_STARTS = 3
_PR_SET_PDEATHSIG = 1


@dataclass
class _Worker:
    process: SpawnProcess
    pipe: Connection
    task: Task | None = None
    ready: bool = False


class ProcessExecutor:
    """See `dse.seams.Executor`.

    Args:
        evaluate: a function that pickles (one of a module).
        workers: processes.
        initialise: called here before the first worker starts, so that workers find on disk what it compiles, and by every
            worker before its first design; must pickle.
    """

    def __init__(self, evaluate: Evaluate, workers: int, initialise: Initialise | None = None) -> None:
        self._evaluate, self._count, self._initialise = evaluate, workers, initialise
        self._context = get_context("spawn")
        self._workers: list[_Worker] = []
        self._false_starts = 0
        self._initialised = False

    def run(self, tasks: Sequence[Task], stopping: Stopping) -> Iterator[Result]:
        left = list(reversed(tasks))
        tries = dict.fromkeys((task.number for task in tasks), 0)
        broken: SimcoreError | None = None
        while True:
            if broken is None and not stopping():
                self._hand_out(left)
            busy = [worker for worker in self._workers if worker.task is not None]
            if not busy:
                if broken is not None:
                    raise broken
                return
            for pipe in wait([worker.pipe for worker in busy], POLL_S):
                worker = next(w for w in busy if w.pipe is pipe)
                task, message = worker.task, self._receive(worker)
                assert task is not None
                if isinstance(message, Result):
                    yield message
                elif isinstance(message, SimcoreError):
                    broken = message
                elif message == "died":
                    tries[task.number] += worker.ready
                    if tries[task.number] < TRIES:
                        left.append(task)
                    else:
                        yield Result(
                            task.number, task.key, "failed", error=f"WorkerDied: {_how(worker.process)}, {TRIES} times"
                        )

    def _hand_out(self, left: list[Task]) -> None:
        while left:
            idle = next((worker for worker in self._workers if worker.task is None), None)
            if idle is None:
                if len(self._workers) >= self._count:
                    return
                idle = self._started()
            idle.task = left.pop()
            with suppress(OSError):
                idle.pipe.send(idle.task)

    def _started(self) -> _Worker:
        if self._initialise is not None and not self._initialised:
            self._initialise()
            self._initialised = True
        ours, theirs = self._context.Pipe()
        process = self._context.Process(
            target=_work, args=(self._evaluate, self._initialise, theirs, os.getpid()), name="dse worker", daemon=True
        )
        process.start()
        theirs.close()
        worker = _Worker(process, ours)
        self._workers.append(worker)
        return worker

    def _receive(self, worker: _Worker) -> Result | SimcoreError | Literal["ready", "died"]:
        """What the worker has to say. One that died is let go.

        Raises:
            SimcoreError: worker after worker dies before it is ready.
        """
        try:
            message: Any = worker.pipe.recv()
        except (EOFError, OSError):
            self._let_go(worker)
            return "died"
        if message is None:
            worker.ready, self._false_starts = True, 0
            return "ready"
        worker.task = None
        assert isinstance(message, (Result, SimcoreError))
        return message

    def _let_go(self, worker: _Worker) -> None:
        worker.pipe.close()
        worker.process.kill()
        worker.process.join()
        self._workers.remove(worker)
        self._false_starts += not worker.ready
        if self._false_starts >= FALSE_STARTS:
            raise SimcoreError(f"worker processes cannot start: {_how(worker.process)}")

    def close(self) -> None:
        for worker in self._workers:
            worker.process.kill()
        for worker in self._workers:
            worker.process.join()
            worker.pipe.close()
        self._workers.clear()


def _how(process: SpawnProcess) -> str:
    code = process.exitcode
    if code is not None and code < 0:
        name = signal.Signals(-code).name if -code in {int(s) for s in signal.Signals} else f"signal {-code}"
        return f"the process was killed by {name}" + (" (out of memory?)" if name == "SIGKILL" else "")
    return f"the process ended with status {code}"


def _work(evaluate: Evaluate, initialise: Initialise | None, pipe: Connection, parent: int) -> None:
    """A worker's life: evaluate what comes, until the pipe closes. Stopping is the parent's business, also by Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _die_with(parent)
    with suppress(EOFError, OSError):
        failure = _initialised(initialise)
        pipe.send(None)
        while True:
            task = pipe.recv()
            try:
                result: Result | SimcoreError = failure or evaluate(task)
            except InternalError as error:
                result = error
            except Exception as error:
                result = Result(task.number, task.key, "failed", error=error_text(error))
            pipe.send(result)


def _initialised(initialise: Initialise | None) -> SimcoreError | None:
    """Get this worker ready; what went wrong, to be told in place of the first result."""
    try:
        if initialise is not None:
            initialise()
    except Exception as error:
        return error if isinstance(error, SimcoreError) else SimcoreError(f"a worker cannot start: {error_text(error)}")
    return None


def _die_with(parent: int) -> None:
    """Have the kernel end this process when its parent is killed, so that nothing is evaluated that nobody will store."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def start(evaluate: Evaluate, workers: int | None = None, initialise: Initialise | None = None) -> ProcessExecutor:
    """Worker processes, as many as there are processors this process may use unless `workers` says."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return ProcessExecutor(evaluate, workers or available, initialise)
