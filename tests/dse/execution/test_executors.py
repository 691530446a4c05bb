"""What every way of evaluating must do, and what happens when a worker dies."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from multiprocessing import parent_process as get_parent
from pathlib import Path
from typing import Any

import pytest

from dse.execution import process, serial
from dse.objective import Result, Task
from simcore import plugins
from simcore.errors import InternalError, SimcoreError
from tests.dse.fake_space import FakeSpace, evaluate

BACKENDS = ["serial", "process"]
MARK = "DSE_TEST_MARK"


def tasks(count: int, policy: str = "lru") -> list[Task]:
    space = FakeSpace()
    point = {"tiers.hbm.policy": policy}
    scenarios = {member.name: space.scenario(point, member) for member in space.members}
    return [Task(n, f"key {n}", scenarios, ".") for n in range(count)]


def never() -> bool:
    return False


@pytest.fixture
def started() -> Iterator[Any]:
    """Start executors that are closed after the test."""
    executors: list[Any] = []

    def start(backend: str, objective: Any = evaluate, workers: int = 2) -> Any:
        executors.append(plugins.find("dse.execution", backend, ("start",)).start(objective, workers))
        return executors[-1]

    yield start
    for executor in executors:
        executor.close()
        executor.close()


def test_the_family_is_what_its_folder_holds() -> None:
    files = (Path(process.__file__).parent).glob("[!_]*.py")
    assert set(BACKENDS) <= {file.stem for file in files} <= set(plugins.names("dse.execution"))


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_task_gives_its_result(started: Any, backend: str) -> None:
    executor, wanted = started(backend), tasks(7)
    for _ in range(2):
        results = {result.number: result for result in executor.run(wanted, never)}
        assert sorted(results) == list(range(7))
        for task in wanted:
            assert results[task.number].key == task.key
            assert results[task.number].metrics == evaluate(task).metrics
    assert list(executor.run([], never)) == []


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_design_that_fails_is_a_result(started: Any, backend: str) -> None:
    results = list(started(backend).run(tasks(3, "broken"), never))
    assert [result.state for result in results] == ["failed"] * 3
    assert {result.error for result in results} == {"ArithmeticError: this policy cannot be simulated"}


@pytest.mark.parametrize("backend", BACKENDS)
def test_asked_to_stop_it_finishes_what_is_under_way(started: Any, backend: str) -> None:
    done: list[Result] = []
    executor = started(backend)
    for result in executor.run(tasks(9), lambda: len(done) >= 2):
        done.append(result)
    assert 2 <= len(done) <= 4
    assert list(executor.run(tasks(3), lambda: True)) == []


def test_a_worker_that_dies_is_replaced_and_its_task_tried_again(started: Any) -> None:
    executor = started("process")
    results = executor.run(tasks(12), never)
    first = next(results)
    victim = executor._workers[0].process
    os.kill(victim.pid, signal.SIGKILL)
    rest = list(results)
    assert sorted([first.number, *(r.number for r in rest)]) == list(range(12))
    assert {r.state for r in rest} == {"complete"}


def test_a_design_that_kills_its_worker_twice_has_failed(started: Any) -> None:
    mixed = [
        *tasks(2),
        *(Task(n + 2, t.key, t.members, ".") for n, t in enumerate(tasks(1, "deadly"))),
        Task(3, "k", tasks(1)[0].members, "."),
    ]
    results = {result.number: result for result in started("process").run(mixed, never)}
    assert [results[n].state for n in range(4)] == ["complete", "complete", "failed", "complete"]
    assert results[2].error == "WorkerDied: the process was killed by SIGKILL (out of memory?), 2 times"


def test_workers_that_cannot_start_are_an_error_of_ours(started: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_work", os._exit)
    executor = process.ProcessExecutor(3, 1)  # type: ignore[arg-type]
    with pytest.raises(SimcoreError, match="worker processes cannot start"):
        list(executor.run(tasks(1), never))
    executor.close()


def broken_law(task: Task) -> Result:
    if task.number == 1:
        raise InternalError("blocks in differ from blocks out")
    return evaluate(task)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_broken_law_ends_the_run_after_what_is_under_way(started: Any, backend: str) -> None:
    done = []
    with pytest.raises(InternalError, match="blocks in differ"):
        for result in started(backend, broken_law).run(tasks(9), never):
            done.append(result.number)
    assert done == [0] if backend == "serial" else 1 not in done


def mark() -> None:
    os.environ[MARK] = str(int(os.environ.get(MARK, "0")) + 1)


def marked(task: Task) -> Result:
    return Result(task.number, task.key, "complete", {"times": {os.environ[MARK]: 1.0}})


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_process_is_made_ready_once_before_its_first_design(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MARK, "0")
    executor = plugins.find("dse.execution", backend, ("start",)).start(marked, 1, mark)
    found = {key for _ in range(2) for result in executor.run(tasks(3), never) for key in result.metrics["times"]}
    executor.close()
    assert os.environ[MARK] == "1"
    assert found == {"1" if backend == "serial" else "2"}  # a worker inherits the mark of its parent and adds its own


def not_here() -> None:
    if get_parent() is not None:
        raise InternalError("does not compile")


def test_a_worker_that_cannot_be_made_ready_says_why() -> None:
    executor = process.start(evaluate, 1, not_here)
    with pytest.raises(InternalError, match="does not compile"):
        list(executor.run(tasks(1), never))
    executor.close()


def test_serial_lets_an_interrupt_through() -> None:
    def objective(task: Task) -> Result:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(serial.start(objective).run(tasks(1), never))
