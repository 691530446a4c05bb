"""Random replacement against a plain simulation, against theory, and why not against libCacheSim."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simcore.replay.run import replay
from simcore.replay.setup import Tier
from simcore.traces.accesses import Accesses
from simcore.traces.load import read_accesses

SHARES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.8)  # of all objects or bytes
CLASSICAL = {
    "cachelib_block_traces_1.csv": True,
    "cachelib_kv_traces_1.csv": True,
    "cache2k_web12.trace.xz": False,
    "adaptsize_request.trace.xz": True,
    "cloudPhysicsIO.oracleGeneral.bin.zst": True,
    "arc_OLTP.lis.zst": False,
    "cache2k_orm-busy.trace.xz": False,
}
CASES = [(name, sized) for name, has_sizes in CLASSICAL.items() for sized in ((False, True) if has_sizes else (False,))]


def oracle(ids: list[int], sizes: list[int], capacity: int, seed: int) -> int:
    """Misses: a victim is drawn from a list by NumPy's PCG64 until the newcomer fits."""
    draws = np.random.default_rng(seed).random(len(ids) * 2).tolist()
    at = held = misses = 0
    inside: dict[int, int] = {}
    candidates: list[int] = []
    for obj, size in zip(ids, sizes, strict=True):
        if obj in inside:
            continue
        misses += 1
        if size > capacity:
            continue
        while held + size > capacity:
            k = int(draws[at % len(draws)] * len(candidates))
            at += 1
            held -= inside.pop(candidates[k])
            last = candidates.pop()
            if k < len(candidates):
                candidates[k] = last
        candidates.append(obj)
        inside[obj] = size
        held += size
    return misses


@pytest.mark.parametrize(("name", "sized"), CASES)
def test_misses_are_those_of_a_plain_simulation(shared: Path, name: str, sized: bool) -> None:
    """The means of some seeds, on the first 200,000 accesses of every classical trace at eight capacities."""
    accesses = read_accesses(shared / "traces/classical" / name)
    accesses = accesses.first(min(len(accesses), 200_000))
    _, first = np.unique(accesses.ids, return_index=True)
    sizes = accesses.sizes[first][accesses.ids] if sized and accesses.sizes is not None else None
    accesses = accesses.with_columns(sizes=sizes)
    total = accesses.n_objects if sizes is None else int(sizes[first].sum())
    units = [1] * len(accesses) if sizes is None else sizes.tolist()
    runs = 200 if len(accesses) < 10_000 else 3
    for capacity in [max(1, int(share * total)) for share in SHARES]:
        tier = [Tier(capacity=capacity, policy="random")]
        ours = np.mean([len(accesses) - replay(accesses, tier, seed=seed).hits for seed in range(runs)])
        theirs = np.mean([oracle(accesses.ids.tolist(), units, capacity, seed) for seed in range(runs)])
        assert 100 * abs(ours - theirs) / len(accesses) < 0.5, capacity


@pytest.mark.parametrize("exponent", [0.8, 1.0, 1.2])
@pytest.mark.parametrize("capacity", [20, 100, 500, 2000])
def test_hits_of_independent_references_are_those_of_theory(exponent: float, capacity: int) -> None:
    """Object i is there with probability p_i T / (1 + p_i T), where T makes these add up to the capacity (Fricker, Robert and
    Roberts, ITC 2012); and FIFO hits as often (Gelenbe, 1973)."""
    popularity = 1.0 / np.arange(1, 5001) ** exponent
    popularity /= popularity.sum()
    keys = np.random.default_rng(7).choice(5000, 400_000, p=popularity)
    low, high = 0.0, 1e9
    for _ in range(100):
        middle = (low + high) / 2
        room = (popularity * middle / (1 + popularity * middle)).sum()
        low, high = (middle, high) if room < capacity else (low, middle)
    expected = (popularity**2 * low / (1 + popularity * low)).sum()
    runs = [
        replay(Accesses.of(keys), [Tier(capacity=capacity, policy=policy)], warmup=100_000) for policy in ("random", "fifo")
    ]
    assert [run.hit_ratio for run in runs] == pytest.approx([expected, expected], abs=0.005)


@pytest.mark.parametrize("hash_power", [16, 20])
def test_the_draws_of_libcachesim_are_not_uniform(hash_power: int) -> None:
    """Of 64 objects in a full cache each should be named 125 times; a chi-square of 130 is exceeded once in a million times."""
    lcs: Any = pytest.importorskip("libcachesim")
    cache = lcs.Random(cache_size=64, hashpower=hash_power)
    request = lcs.Request()
    for obj in range(1, 65):
        request.obj_id, request.obj_size = obj, 1
        cache.get(request)
    named = np.bincount([cache.to_evict(request).obj_id - 1 for _ in range(8000)], minlength=64)
    assert ((named - 125) ** 2 / 125).sum() > 200
