"""Speed of the serving engine against its goals: a run, an objective call, ten times the trace, replicas, compiling, a peer.

All times are CPU times of this thread (of the child, where one is started), medians over rounds in which everything that is
compared takes its turn.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import peer
from scenarios import NAMES, ROUTERS, engine_input, raw_scenario, write_copies

from dse.objective import Task, evaluate
from simcore.serving.engine import covering, engine, policy_module
from simcore.serving.lower import lower, scratch
from simcore.serving.serve import serve
from simcore.serving.setup import ServingSetup
from simcore.traces.files import lines
from simcore.traces.trace import Trace

HERE = Path(__file__).parent
PARTS = ("tiers", "long", "replicas", "compiling", "peer")
SERVE_MS = {1: 15.0, 3: 40.0}
OBJECTIVE_MS = 60.0
COPIES, LONG_RATIO = 10, 15.0
REPLICAS, REPLICAS_RATIO = (1, 2, 4, 8, 16, 32), 2.0
COLD_S, WARM_S = 20.0, 0.7
PEER_RATIO = 100.0
SPACE = "kv_cxl"


def interleaved(calls: Mapping[Any, Callable[[], float]], rounds: int) -> dict[Any, float]:
    """Median milliseconds of each call, which says how long it took; the first time of each does not count."""
    seconds: dict[Any, list[float]] = {key: [] for key in calls}
    for number in range(rounds + 1):
        for key, call in calls.items():
            taken = call()
            if number:
                seconds[key].append(taken)
    return {key: 1000 * statistics.median(taken) for key, taken in seconds.items()}


def timed(call: Callable[[], object]) -> float:
    start = time.thread_time()
    call()
    return time.thread_time() - start


def engine_s(trace: Trace, setup: ServingSetup) -> float:
    """The compiled event loop alone, without what comes before and after."""
    names = covering({setup.hbm_policy, *(tier.policy for tier in setup.tiers)})
    state = lower(trace, setup, [(name, policy_module(name)) for name in names], leap=True)
    run = engine(names, state)
    start = time.thread_time()
    fault = run(state)
    taken = time.thread_time() - start
    scratch.give(state.slot)
    assert fault == 0
    return taken


def verdict(value: float, limit: float, unit: str = "ms") -> str:
    return f"{value:.3g} {unit} (goal {limit:g}: {'met' if value <= limit else 'MISSED'})"


def tiers(trace: str, rounds: int) -> None:
    """The event loop, a whole `serve`, and a whole objective call, by number of tiers."""
    calls: dict[Any, Callable[[], float]] = {}
    for n in NAMES:
        given = engine_input(trace, n)
        task = Task(0, "", {"": raw_scenario(trace, n)}, ".")
        metrics = evaluate(task).metrics[""]
        print(f"{NAMES[n]}: utilisation {metrics['utilisation']:.2f}, hit ratio {metrics['hit_ratio']:.3f}")
        calls["engine", n] = lambda given=given: engine_s(*given)  # type: ignore[misc]
        calls["serve", n] = lambda given=given: timed(lambda: serve(*given))  # type: ignore[misc]
        calls["objective", n] = lambda task=task: timed(lambda: evaluate(task))  # type: ignore[misc]
    ms = interleaved(calls, rounds)
    for n in NAMES:
        served = verdict(ms["serve", n], SERVE_MS[n]) if n in SERVE_MS else f"{ms['serve', n]:.3g} ms"
        called = verdict(ms["objective", n], OBJECTIVE_MS)
        print(f"{NAMES[n]}: engine {ms['engine', n]:.3g} ms, serve {served}, objective {called}")


def long(trace: str, rounds: int) -> None:
    """Ten times the requests, in copies that share no block."""
    with tempfile.TemporaryDirectory() as folder:
        longer = Path(folder, "long.jsonl")
        write_copies(trace, COPIES, longer)
        calls = {}
        for n in (1, 3):
            for name in (trace, str(longer)):
                given = engine_input(name, n)
                calls[name, n] = lambda given=given: timed(lambda: serve(*given))  # type: ignore[misc]
        ms = interleaved(calls, rounds)
    for n in (1, 3):
        once, often = ms[trace, n], ms[str(longer), n]
        print(f"{NAMES[n]}, {COPIES}x the trace: {often:.0f} ms, {verdict(often / once, LONG_RATIO, 'times')}")


def replicas(trace: str, rounds: int) -> None:
    """The same trace on more replicas, HBM only, by router; the ratio is that of the slowest to the fastest number."""
    for router in ROUTERS:
        calls = {}
        for count in REPLICAS:
            given = engine_input(trace, 1, count, router)
            calls[count] = lambda given=given: timed(lambda: serve(*given))  # type: ignore[misc]
        ms = interleaved(calls, rounds)
        row = ", ".join(f"{count}: {taken:.1f}" for count, taken in ms.items())
        print(f"{router}, ms by replicas {row}; {verdict(max(ms.values()) / min(ms.values()), REPLICAS_RATIO, 'times')}")


def compiling(trace: str, rounds: int) -> None:
    """Getting ready for a space: in fresh processes, with an empty cache and then with the one that this left."""
    with tempfile.TemporaryDirectory() as folder:
        caches = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "TMPDIR")  # wherever a compiled engine may be found
        environment = os.environ | dict.fromkeys(caches, folder)

        def fresh() -> tuple[float, float]:
            arguments = [sys.executable, str(HERE / "compiling.py"), SPACE]
            done = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=True)
            prepared, whole = done.stdout.split()
            return float(prepared), float(whole)

        cold, cold_process = fresh()
        warm = [fresh() for _ in range(rounds)]
        size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
    prepared, process = (statistics.median(column) for column in zip(*warm, strict=True))
    print(f"{SPACE}, cold: {verdict(cold, COLD_S, 's')}, whole process {cold_process:.3g} s, cache {size / 1e6:.2f} MB")
    print(f"{SPACE}, warm: {verdict(prepared, WARM_S, 's')}, whole process {process:.3g} s")


def against_peer(trace: str, rounds: int, program: str | None) -> None:
    """AISimulate with the same capacities in blocks of the trace's own size. Its start-up is that of its command on the first
    16 requests; it is taken off, and so is ours (loading the trace and the compiled engine)."""
    found = peer.command(program)
    if found is None:
        print("aisimulate: not installed here, nothing is compared (see peer.py)")
        return
    rows = list(lines(trace))
    for n in (1, 3):
        given = engine_input(trace, n)
        ours = []
        theirs, start_up = [], []
        for _ in range(rounds):
            start_up.append(peer.predict(found, rows[:16], given[1]).seconds)
            run = peer.predict(found, rows, given[1])
            theirs.append(run.seconds)
            ours += [timed(lambda given=given: serve(*given)) for _ in range(8)][1:]  # type: ignore[misc]
        result = serve(*given)
        reuse = float(result.hit_tokens.sum() / given[0].total_prompt_tokens)
        whole, start, mine = statistics.median(theirs), statistics.median(start_up), statistics.median(ours)
        ratio = (whole - start) / mine
        goal = f"goal {PEER_RATIO:g}: {'met' if ratio >= PEER_RATIO else 'MISSED'}"
        print(
            f"aisimulate, {NAMES[n]}: {whole:.3g} s, of which start-up {start:.3g} s (reuse {run.reuse:.3f}); "
            f"serve {1000 * mine:.3g} ms (reuse {reuse:.3f}); {ratio:.0f} times ({goal})"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trace", help="Mooncake conversation trace (kvcache-ai/Mooncake, FAST25-release)")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--aisimulate", help="its command, if it is not on the path")
    given = parser.parse_args()
    parts: dict[str, Callable[[str, int], None]] = {
        "tiers": tiers,
        "long": lambda trace, rounds: long(trace, min(rounds, 5)),
        "replicas": replicas,
        "compiling": lambda trace, rounds: compiling(trace, min(rounds, 5)),
        "peer": lambda trace, rounds: against_peer(trace, min(rounds, 3), given.aisimulate),
    }
    for name in given.parts:
        parts[name](given.trace, given.rounds)


if __name__ == "__main__":
    main()
