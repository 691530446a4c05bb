"""kill -9 at any moment: nothing evaluated is lost, nothing is evaluated twice, and the study is the one of a quiet run."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dse.space import load_space
from dse.study import run_search
from tests.dse.fake_space import LOG, SLEEP, FakeSpace, evaluate, log_lines

ROOT = Path(__file__).resolve().parents[3]
TRIALS = 40
DRIVER = """
import sys
from pathlib import Path
from dse.study import run_search
from tests.dse.fake_space import FakeSpace, evaluate
if __name__ == "__main__":
    folder, sampler, backend = sys.argv[1:4]
    run_search(FakeSpace(), folder=Path(folder), sampler=sampler, backend=backend, workers=2, resume=True, evaluate=evaluate)
"""


def start(tmp_path: Path, sampler: str, backend: str, sleep_s: float) -> subprocess.Popen[str]:
    script = tmp_path / "drive.py"
    script.write_text(DRIVER)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), LOG: str(tmp_path / "log"), SLEEP: str(sleep_s)}
    command = [sys.executable, str(script), str(tmp_path / "s"), sampler, backend]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def recorded(folder: Path) -> set[str]:
    """Keys of every evaluation that is on disk."""
    keys = set()
    for name in ("evaluations.jsonl", "study.journal"):
        path = folder / name
        for line in path.read_bytes().splitlines(keepends=True) if path.exists() else ():
            if line.endswith(b"\n"):
                data = json.loads(line)
                keys.add(data.get("key") or data.get("user_attrs", {}).get("key"))
    settings = folder / "study.json"
    if settings.exists():
        keys.add((json.loads(settings.read_text()).get("base") or {}).get("key"))
    return keys - {None}


@pytest.mark.parametrize(
    ("sampler", "backend"), [("random", "serial"), ("grid", "serial"), ("nsga2", "process"), ("tpe", "serial")]
)
def test_three_kills_leave_no_trace(tmp_path: Path, sampler: str, backend: str) -> None:
    rng = random.Random(f"{sampler} {backend}")
    log, folder = tmp_path / "log", tmp_path / "s"
    for _ in range(3):
        process = start(tmp_path, sampler, backend, 0.02)
        seen, goal = len(list(log_lines(log))), rng.randrange(6, 22)
        while process.poll() is None and len(list(log_lines(log))) < seen + goal:
            time.sleep(0.002)
        time.sleep(rng.random() * 0.03)
        assert process.poll() is None, process.communicate()[0]
        process.kill()
        process.communicate()
        time.sleep(0.1)
        done, before = recorded(folder), len(list(log_lines(log)))
        assert done
        resumed_again(log, before, done)
    process = start(tmp_path, sampler, backend, 0.0)
    output = process.communicate(timeout=60)[0]
    assert process.returncode == 0, output
    resumed_again(log, before, done)
    run_search(FakeSpace(), folder=tmp_path / "quiet" / "s", sampler=sampler, evaluate=evaluate)  # type: ignore[arg-type]
    assert (folder / "front.csv").read_bytes() == (tmp_path / "quiet/s/front.csv").read_bytes()
    assert keys_in_order(folder) == keys_in_order(tmp_path / "quiet" / "s")


SIMULATED = """
import sys
from pathlib import Path
from dse.space import load_space
from dse.study import run_search
if __name__ == "__main__":
    run_search(load_space(sys.argv[1]), folder=Path(sys.argv[2]), sampler="random", backend=sys.argv[3], workers=2, resume=True)
"""
TINY = """
name: tiny
scenario:
  family: kv
  model: llama-3.1-8b
  gpu: h100-sxm
  tiers:
    hbm: {capacity: 16 GiB}
    dram: {preset: ddr5-host, capacity: 32 GiB}
  workload: {preset: chat-multi-tenant, request_rate: 2, requests: 60}
search:
  tiers.hbm.capacity: {range: [8 GiB, 40 GiB], step: 2 GiB}
  tiers.hbm.policy: [lru, fifo, sieve]
objectives: [ttft_p99, hbm_cost_usd]
budget: {trials: 20, seed: 0}
"""


def test_a_kill_leaves_no_trace_on_the_simulator_in_processes(tmp_path: Path) -> None:
    (tmp_path / "tiny.yaml").write_text(TINY)
    (tmp_path / "drive.py").write_text(SIMULATED)
    folder, quiet = tmp_path / "s", tmp_path / "quiet"
    command = [sys.executable, str(tmp_path / "drive.py"), str(tmp_path / "tiny.yaml")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([*command, str(folder), "process"], env=environment)
    while process.poll() is None and len(recorded(folder)) < 6:
        time.sleep(0.005)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    done = recorded(folder)
    subprocess.run([*command, str(folder), "process"], env=environment, check=True)
    assert done <= recorded(folder)
    run_search(load_space(tmp_path / "tiny.yaml"), folder=quiet, sampler="random")
    assert (folder / "front.csv").read_bytes() == (quiet / "front.csv").read_bytes()
    assert len(keys_in_order(folder)) == 20 and keys_in_order(folder) == keys_in_order(quiet)


def resumed_again(log: Path, before: int, done: set[str]) -> None:
    """Nothing that was on disk at the kill was evaluated since."""
    begun = {key for what, key in list(log_lines(log))[before:] if what == "begin"}
    assert not begun & done


def keys_in_order(folder: Path) -> list[str]:
    lines = [json.loads(line) for line in (folder / "study.journal").read_text().splitlines()]
    return [line["user_attrs"]["key"] for line in lines if "key" in line.get("user_attrs", {})]


def test_workers_die_with_a_killed_driver(tmp_path: Path) -> None:
    process = start(tmp_path, "random", "process", 1.0)
    log = tmp_path / "log"
    while process.poll() is None and sum(what == "begin" for what, _ in log_lines(log)) < 3:
        time.sleep(0.01)
    assert process.poll() is None, process.communicate()[0]
    ended = sum(what == "end" for what, _ in log_lines(log))
    process.send_signal(signal.SIGKILL)
    process.wait()
    time.sleep(1.3)
    assert sum(what == "end" for what, _ in log_lines(log)) == ended


def test_sigterm_ends_a_search_with_everything_stored(tmp_path: Path) -> None:
    process = start(tmp_path, "random", "serial", 0.03)
    while process.poll() is None and len(list(log_lines(tmp_path / "log"))) < 20:
        time.sleep(0.01)
    process.terminate()
    assert process.wait(timeout=20) == 0
    ended = {key for what, key in log_lines(tmp_path / "log") if what == "end"}
    assert ended == recorded(tmp_path / "s")
    assert TRIALS > len(keys_in_order(tmp_path / "s")) >= 9
