"""The traces: Zipf(0.9), with objects of one size or of a size each, in memory and as files for libcachesim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simcore.traces.accesses import Accesses, next_use

ALPHA = 0.9
SHARE = 0.1  # of the objects, or of their bytes: the cache
LARGEST = 100_000  # bytes of an object; sizes are spread evenly by their logarithm from 1 byte on
LAWS = {"a": (10_000_000, 1_000_000, 18), "b": (1_000_000, 10_000, 11)}  # requests, objects, hash power for libcachesim
SIZES = ("unit", "object")
_RECORD = np.dtype([("time", "<u4"), ("key", "<u8"), ("size", "<u4"), ("next", "<i8")])  # oracleGeneral


@dataclass(frozen=True, eq=False)
class Trace:
    """One trace, the capacity that it is replayed with, and the file in which libcachesim finds it."""

    name: str
    accesses: Accesses
    capacity: int
    path: Path
    hash_power: int


def traces(name: str, folder: Path, kinds: Sequence[str] = SIZES) -> list[Trace]:
    """Trace `name` of `LAWS`, once for each of the `kinds` of sizes."""
    n, n_objects, hash_power = LAWS[name]
    rng = np.random.default_rng(1)
    below = np.cumsum(1 / np.arange(1, n_objects + 1) ** ALPHA)
    ranks = np.searchsorted(below, rng.random(n) * below[-1])
    unit = Accesses.of(rng.permutation(n_objects)[ranks])
    of_object = np.exp(rng.random(unit.n_objects) * np.log(LARGEST)).astype(np.int64)
    made: list[Trace] = []
    for kind in kinds:
        accesses, units = unit, n_objects
        if kind == "object":
            accesses, units = unit.with_columns(sizes=of_object[unit.ids]), int(of_object.sum())
        made.append(Trace(f"{name}, {kind} sizes", accesses, round(SHARE * units), folder / f"{name}_{kind}.bin", hash_power))
        _write(made[-1])
    return made


def _write(trace: Trace) -> None:
    """24 bytes an access; keys are random, as those of recorded traces."""
    accesses = trace.accesses
    keys = np.random.default_rng(2).integers(1, 1 << 62, accesses.n_objects, dtype=np.uint64)
    following = next_use(accesses.ids)
    records = np.empty(len(accesses), _RECORD)
    records["time"] = np.arange(len(accesses)) // 1000
    records["key"] = keys[accesses.ids]
    records["size"] = 1 if accesses.sizes is None else accesses.sizes
    records["next"] = np.where(following < len(accesses), following, -1)
    records.tofile(trace.path)
