"""Where answers go, and the record's server from start to stop."""

from __future__ import annotations

import io
import json
import math
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dse.commands.output import Output, ProgressLine, plain
from dse.objective import Result, Task
from dse.study import run_search
from tests.dse.cli.conftest import Dse


def test_json_holds_only_what_json_can() -> None:
    data = {"a": np.float64(1.5), "b": [math.nan, math.inf, np.int64(3)], "c": (Path("x"), None, True), 4: np.arange(2)}
    assert plain(data) == {"a": 1.5, "b": [None, None, 3], "c": ["x", None, True], "4": [0, 1]}


def test_every_design_failing_ends_with_1_and_the_first_error(
    dse: Dse, space: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(task: Task) -> Result:
        return Result(task.number, task.key, "failed", error="MemoryError: no blocks left")

    def search(*arguments: object, **options: object) -> object:
        return run_search(*arguments, evaluate=fail, **options)  # type: ignore[arg-type]

    monkeypatch.setattr("dse.commands.search.run_search", search)
    done = dse("search", space(), "--trials", "5", "--tracking-uri", "none")
    assert done.status == 1
    assert "0 feasible, 0 infeasible, 5 failed   (exit 1)" in done.out
    assert "5 failed, first: design 0: MemoryError: no blocks left" in done.out


def test_ui_serves_the_record_until_it_is_told_to_stop(dse: Dse, space: Callable[..., str]) -> None:
    done = dse("search", space(), "--trials", "20")
    assert done.status == 0 and "dse ui" in done.out
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3])}
    command = [sys.executable, "-m", "dse.cli", "ui", "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None and process.stderr is not None
        try:
            data = json.loads(process.stdout.readline())
            assert data["studies"][0]["study"] == "toy"
            assert {"front", "compare", "hypervolume", "report", "searches"} <= set(data["studies"][0]["links"])
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            with opener.open(f"{data['url']}/health", timeout=5) as answer:
                assert answer.status == 200
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        said = process.stderr.read().splitlines()
        assert said[0] == "Starting MLflow ..." and said[-1] == "Stopped." and len(said) <= 3
    with pytest.raises(OSError):
        opener.open(f"{data['url']}/health", timeout=5)


def test_ui_on_a_server_prints_its_links_and_ends(dse: Dse) -> None:
    done = dse("ui", "--tracking-uri", "http://mlflow.example:5000/")
    assert done.status == 0
    assert done.out.splitlines()[0].endswith("http://mlflow.example:5000") and "No study" in done.out


def test_a_port_in_use_is_named(dse: Dse, folder: Path) -> None:
    import socket

    (folder / "studies").mkdir()
    (folder / "studies" / "mlflow.db").touch()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = dse("ui", "--port", port)
    assert done.status == 2 and "--port: is taken by another program" in done.err and port in done.err


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_a_line_of_a_terminal_that_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream, output, expected in (
        (_Terminal(), Output(), "\rwait\x1b[K\r1/2\x1b[K\r\x1b[K"),
        (_Terminal(), Output(quiet=True), ""),
        (io.StringIO(), Output(), ""),
    ):
        monkeypatch.setattr(sys, "stderr", stream)
        line = ProgressLine(output, lambda done, of: f"{done}/{of}", "wait")
        line(1, 2)
        line(1, 2)
        line.close()
        assert stream.getvalue() == expected


@pytest.mark.parametrize("arguments", ["presets --json", "presets", "presets nothing --json", "front none --json"])
@pytest.mark.parametrize(("target", "said"), [(">&-", "standard output is closed"), ("> /dev/full", "cannot be written")])
def test_output_that_goes_nowhere_is_told_in_a_line(folder: Path, arguments: str, target: str, said: str) -> None:
    command = f"exec {sys.executable} -m dse.cli {arguments} {target}"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3])}
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode in (1, 2) and done.stderr.count("\n") == 1 and done.stderr.startswith("dse: ")
    assert said in done.stderr or (arguments.startswith(("presets nothing", "front")) and target != ">&-")
