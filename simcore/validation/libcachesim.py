"""libCacheSim: misses that its own test suite expects, on a block trace of CloudPhysics.

1a1a11a/libCacheSim at commit aa0fc40, `test/`: data/cloudPhysicsIO.oracleGeneral.bin, 113,872 requests of objects with sizes,
caches of 128 MiB to 1 GiB in bytes. Counts of misses, so exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from simcore.replay.curve import miss_ratio_curve
from simcore.traces.load import read_accesses
from simcore.units import MIB
from simcore.validation.case import Case, TraceFile, series

SYSTEM = "libCacheSim"
SOURCE = "1a1a11a/libCacheSim test suite, commit aa0fc40"
TRACE = TraceFile(
    names=("cloudPhysicsIO.oracleGeneral.bin",), where="data/cloudPhysicsIO.oracleGeneral.bin of 1a1a11a/libCacheSim"
)
CAPACITY_MIB = (128, 256, 384, 512, 640, 768, 896, 1024)
MISSES = {
    "lru": (93374, 89783, 83572, 81722, 72494, 72104, 71972, 71704),
    "fifo": (93403, 89386, 84387, 84025, 72498, 72228, 72182, 72140),
    "clock": (93313, 89775, 83411, 81328, 74815, 72283, 71927, 64456),
    "s3fifo": (89307, 82387, 77041, 76791, 71300, 70343, 70455, 70355),
    "belady": (79256, 70724, 65481, 61594, 59645, 57599, 50873, 48974),
}
WORDS = {"lru": "LRU", "fifo": "FIFO", "clock": "Clock", "s3fifo": "S3-FIFO", "belady": "Belady"}


def cases() -> list[Case]:
    found: list[Case] = []
    for policy, misses in MISSES.items():
        points = {f"{mib} MiB": float(count) for mib, count in zip(CAPACITY_MIB, misses, strict=True)}
        found += series(f"{WORDS[policy]} misses", points, partial(_misses, policy), tolerance=0, trace=TRACE)
    return found


def _misses(policy: str, trace: Path) -> Sequence[float]:
    accesses = read_accesses(trace)
    curve = miss_ratio_curve(accesses, [policy], [mib * MIB for mib in CAPACITY_MIB])[0]
    return [round((1 - ratio) * len(accesses)) for ratio in curve.hit_ratio.tolist()]
