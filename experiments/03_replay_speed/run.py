"""Speed of the untimed replay: against libcachesim and C++, all capacities at once, sampling, first use, and long streams."""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import native
import numpy as np
from traces import LAWS, SIZES, Trace, traces

from simcore.replay.curve import miss_ratio_curve
from simcore.replay.distances import lru_curve
from simcore.replay.prepared import Prepared
from simcore.replay.run import Hierarchy
from simcore.replay.setup import Tier
from simcore.replay.spans import spans
from simcore.traces.accesses import Accesses

try:
    import libcachesim
except ImportError:
    libcachesim = None

HERE = Path(__file__).parent
PARTS = ("peers", "native", "curve", "first_use", "stream")
PEERS = {  # ours: (libcachesim, least ratio with unit sizes on a, on b); with object sizes SIZED_TARGET everywhere
    "fifo": ("FIFO", 15, 6),
    "lru": ("LRU", 15, 6),
    "clock": ("Clock", 15, 6),
    "sieve": ("Sieve", 15, 6),
    "s3fifo": ("S3FIFO", 20, 8),
    "lfu": ("LFU", 6, 4),
    "arc": ("ARC", 6, 4),
    "two_q": ("TwoQ", 6, 4),
    "slru": ("SLRU", 6, 4),
    "w_tinylfu": ("WTinyLFU", 6, 4),
    "gdsf": ("GDSF", 6, 4),
    "lirs": ("LIRS", 6, 4),
    "lecar": ("LeCaR", None, None),
    "hyperbolic": ("Hyperbolic", None, None),
    "belady": ("Belady", None, None),
}
SIZED_TARGET = 5
AT_ONCE = {"a": 1, "b": 3}  # runs in a turn, of which the best counts: those of b are short
Timed = tuple[float, int]  # thread CPU seconds, misses


def ours(accesses: Accesses, policy: str, capacity: int) -> Timed:
    """A replay with all that it allocates, and the columns that the policy needs."""
    start = time.thread_time()
    prepared = Prepared(accesses)
    cache = Hierarchy(prepared, [Tier(capacity=capacity, policy=policy)], tail_first=True, seed=0)
    for first, end in spans(accesses, 0, cache.step):
        cache.feed(first, end)
    seconds = time.thread_time() - start
    return seconds, len(accesses) - cache.result(prepared.asked(0)).hits


def loop_alone(accesses: Accesses, policy: str, capacity: int) -> Timed:
    """The compiled loop of a replay, with everything made before."""
    prepared = Prepared(accesses)
    cache = Hierarchy(prepared, [Tier(capacity=capacity, policy=policy)], tail_first=True, seed=0)
    start = time.thread_time()
    for first, end in spans(accesses, 0, cache.step):
        cache.feed(first, end)
    seconds = time.thread_time() - start
    return seconds, len(accesses) - cache.result(prepared.asked(0)).hits


def theirs(trace: Trace, policy: str) -> Timed:
    """A run of libcachesim; opening the file and making the cache is not counted."""
    reader = libcachesim.TraceReader(str(trace.path), libcachesim.TraceType.ORACLE_GENERAL_TRACE)
    cache = getattr(libcachesim, PEERS[policy][0])(cache_size=trace.capacity, hashpower=trace.hash_power)
    start = time.thread_time()
    miss_ratio, _ = cache.process_trace(reader)
    return time.thread_time() - start, round(miss_ratio * len(trace.accesses))


def in_turns(sides: list[Callable[[], Timed]], rounds: int, at_once: int = 1, most_s: float = 600) -> list[list[Timed]]:
    """By side, what each round measured: the sides take turns, so that what else the machine does hits all alike. No round
    begins once they have taken `most_s` seconds of CPU time."""
    measured: list[list[Timed]] = [[] for _ in sides]
    start = time.thread_time()
    for _ in range(rounds):
        if measured[0] and time.thread_time() - start > most_s:
            break
        for side, values in zip(sides, measured, strict=True):
            values.append(min(side() for _ in range(at_once)))
    return measured


def median(values: list[Timed]) -> float:
    return statistics.median(seconds for seconds, _ in values)


def median_ratio(slower: list[Timed], faster: list[Timed]) -> float:
    return statistics.median(s / f for (s, _), (f, _) in zip(slower, faster, strict=True))


def show(*columns: Any) -> None:
    print("|", " | ".join(str(column) for column in columns), "|", flush=True)


def peers(made: list[Trace], rounds: int, only: list[str], most_s: float) -> None:
    """The table of all policies."""
    if libcachesim is None:
        print("libcachesim is not installed (pip install libcachesim==0.3.5): this side alone\n")
    show("trace", "policy", "Mreq/s", "libcachesim", "ratio", "target", "", "misses", "libcachesim", "rounds")
    show(*["---"] * 10)
    for trace in made:
        for policy in only:
            accesses, letter = trace.accesses, trace.name[0]
            ours(accesses.first(1000), policy, trace.capacity)  # compiles
            sides: list[Callable[[], Timed]] = [lambda p=policy, t=trace: ours(t.accesses, p, t.capacity)]  # type: ignore[misc]
            if libcachesim is not None:
                sides.append(lambda p=policy, t=trace: theirs(t, p))  # type: ignore[misc]
            measured = in_turns(sides, rounds if letter == "a" else 2 * rounds + 1, AT_ONCE[letter], most_s)
            rates = [f"{len(accesses) / median(values) / 1e6:.1f}" for values in measured]
            misses = [f"{values[0][1]:,}" for values in measured]
            if len(measured) == 1:
                show(trace.name, policy, rates[0], "-", "-", "-", "", misses[0], "-", len(measured[0]))
                continue
            ratio = median_ratio(measured[1], measured[0])
            target = SIZED_TARGET if accesses.sizes is not None else PEERS[policy][1 if letter == "a" else 2]
            verdict = "" if target is None else "yes" if ratio >= target else "**no**"
            show(trace.name, policy, *rates, f"{ratio:.1f}", target or "-", verdict, *misses, len(measured[0]))


def against_native(made: list[Trace], rounds: int, folder: Path) -> None:
    built = native.loops(folder)
    if built is None:
        print("There is no g++: no comparison with C++")
        return
    show("trace", "policy", "Mreq/s", "loop", "C++", "of C++", "loop", "target", "", "misses equal", "C++ / libcachesim")
    show(*["---"] * 11)
    for trace in made:
        for policy, misses in built.items():

            def compiled(trace: Trace = trace, misses: native.Misses = misses) -> Timed:
                start = time.thread_time()
                missed = misses(trace.accesses, trace.capacity)
                return time.thread_time() - start, missed

            ours(trace.accesses, policy, trace.capacity)
            given = (trace.accesses, policy, trace.capacity)
            sides: list[Callable[[], Timed]] = [partial(ours, *given), partial(loop_alone, *given), compiled]
            if libcachesim is not None:
                sides.append(partial(theirs, trace, policy))
            here, loop, there, *peer = in_turns(
                sides, rounds if trace.name[0] == "a" else 2 * rounds + 1, AT_ONCE[trace.name[0]]
            )
            shares = [median_ratio(there, side) for side in (here, loop)]
            best = f"{median_ratio(peer[0], there):.1f}" if peer else "-"
            rates = [f"{len(trace.accesses) / median(values) / 1e6:.0f}" for values in (here, loop, there)]
            verdict = "yes" if shares[1] >= 0.9 else "**no**"
            percent = [f"{100 * share:.0f} %" for share in shares]
            show(trace.name, policy, *rates, *percent, "90 %", verdict, here[0][1] == there[0][1], best)


def all_capacities(made: list[Trace], rounds: int) -> None:
    show("trace", "what", "measured", "target")
    show(*["---"] * 4)
    for trace in made:
        accesses = trace.accesses
        curve = lru_curve(accesses)

        def whole(accesses: Accesses = accesses) -> Timed:
            start = time.thread_time()
            lru_curve(accesses)
            return time.thread_time() - start, 0

        single, everything = in_turns([lambda t=trace: ours(t.accesses, "lru", t.capacity), whole], 2 * rounds + 1)  # type: ignore[misc]
        times = median_ratio(everything, single)
        what = "LRU at all capacities, in single LRU runs"
        show(trace.name, what, f"{times:.1f} ({median(everything):.3f} s)", 12 if accesses.sizes is None else "-")
        if accesses.sizes is not None:
            continue
        chains = np.random.default_rng(3).integers(0, accesses.n_objects // 3, (10_000, 3))
        seconds = []
        for _ in range(20):
            start = time.thread_time()
            curve.splits(chains)
            seconds.append(time.thread_time() - start)
        show(trace.name, "10,000 splits over three LRU tiers", f"{1000 * statistics.median(seconds):.2f} ms", "10 ms")
        if trace.name[0] == "a":
            sampled(trace, curve)


@contextmanager
def nothing_kept() -> Iterator[None]:
    """Curves are kept on disk: in here none of an earlier run is found."""
    with tempfile.TemporaryDirectory() as fresh, patch.dict(os.environ, XDG_CACHE_HOME=fresh):
        yield


def sampled(trace: Trace, curve: Any) -> None:
    """A sample of 10 % against the exact curve, for several seeds."""
    capacities = np.unique(np.geomspace(trace.accesses.n_objects / 1000, trace.accesses.n_objects, 60).astype(np.int64))
    exact = curve.hit_ratio(capacities)
    errors, inside = [], []
    for seed in range(5):
        with nothing_kept():
            [estimate] = miss_ratio_curve(trace.accesses, ["lru"], capacities, sample=0.1, seed=seed, threads=1)
        errors.append(np.abs(estimate.hit_ratio - exact))
        inside.append(np.mean(errors[-1] <= estimate.error))
    means = [error.mean() for error in errors]
    span = f"{min(means):.4f} to {max(means):.4f} by seed"
    found = f"{np.mean(means):.4f} ({span}; at one capacity at most {np.max(errors):.4f})"
    show(trace.name, "mean error of the LRU curve of a 10 % sample, 60 capacities", found, "0.005")
    show(trace.name, "share of capacities within its own 95 % interval", f"{np.mean(inside):.2f}", "0.95")


def script(name: str, *arguments: Any, **environment: str) -> list[float]:
    """The numbers that a script beside this one prints, run in a process of its own."""
    done = subprocess.run(
        [sys.executable, HERE / name, *map(str, arguments)],
        env={key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"} | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return [float(word) for word in done.stdout.split()]


def first_uses(only: list[str]) -> None:
    show("first use, CPU s", "compiled, unit", "loaded, unit", "compiled, sizes", "loaded, sizes", "targets 3 and 0.3")
    show(*["---"] * 6)
    for policy in [*only, "lru_curve"]:
        seconds = []
        for sizes in ("unit", "sized"):
            with tempfile.TemporaryDirectory() as fresh:
                place = {"XDG_CACHE_HOME": f"{fresh}/cache", "TMPDIR": fresh}
                seconds += script("first_use.py", policy, sizes, **place)
                seconds += [min(script("first_use.py", policy, sizes, **place)[0] for _ in range(2))]
        kept = max(seconds[::2]) <= 3 and max(seconds[1::2]) <= 0.3
        show(policy, *(f"{s:.2f}" for s in seconds), "yes" if kept else "**no**")


def streams(requests: float) -> None:
    show("stream", "policy", "Mreq/s, drawing left out", "hit ratio", "MB before", "peak MB")
    show(*["---"] * 6)
    for policy in ("lru", "sieve"):
        seconds, before, peak, hit_ratio = script("streaming.py", policy, requests)
        show(f"{requests:.0e} requests", policy, f"{requests / seconds / 1e6:.0f}", hit_ratio, f"{before:.0f}", f"{peak:.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--traces", nargs="+", choices=LAWS, default=[*LAWS])
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=[*SIZES])
    parser.add_argument("--policies", nargs="+", choices=PEERS, default=[*PEERS])
    parser.add_argument("--rounds", type=int, default=5, help="of trace a against libcachesim; b gets more")
    parser.add_argument("--most-seconds", type=float, default=600, help="of CPU for a policy on a trace before the rounds end")
    parser.add_argument("--stream-requests", type=float, default=1e8)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if {"peers", "native", "curve"} & {*asked.parts}:
            made = [trace for name in asked.traces for trace in traces(name, folder, asked.sizes)]
        if "native" in asked.parts:
            against_native(made, asked.rounds, folder)
        if "curve" in asked.parts:
            all_capacities(made, asked.rounds)
        if "first_use" in asked.parts:
            first_uses(asked.policies)
        if "stream" in asked.parts:
            streams(asked.stream_requests)
        if "peers" in asked.parts:
            peers(made, asked.rounds, asked.policies, asked.most_seconds)


if __name__ == "__main__":
    main()
