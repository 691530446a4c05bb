"""Curves: what each capacity does, kept on disk, stopped when asked, and clear about what failed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import simcore.edited
from simcore.compiling import generated
from simcore.errors import InputError, SimcoreError
from simcore.plugins import from_file
from simcore.replay import curve as curves
from simcore.replay import engine, store, sweep
from simcore.replay.curve import Curve, default_capacities, miss_ratio_curve
from simcore.replay.run import replay
from simcore.replay.setup import Tier
from simcore.traces.accesses import Accesses
from simcore.traces.load import read_accesses

OWN = """
import numpy as np
from simcore.kernel import kernel, list_clear, list_head, list_insert, list_remove
NEEDS = frozenset()
FIELDS = ()

@kernel
def init(st, s):
    list_clear(st, list_head(st, s, 0))

@kernel
def on_hit(st, s, i):
    pass

@kernel
def on_miss(st, s, obj):
    pass

@kernel
def choose_victim(st, s):
    return st.node[list_head(st, s, 0)].{end}

@kernel
def on_insert(st, s, i):
    list_insert(st, i, list_head(st, s, 0))

@kernel
def on_evict(st, s, i):
    list_remove(st, i)
"""


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    folder = tmp_path / "curves"
    monkeypatch.setattr(store, "root", lambda: folder)
    return folder


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of runs of each call that had to make curves."""
    counted: list[int] = []

    def all_hits(parts: Any, chosen: Sequence[Any], *arguments: Any, **named: Any) -> Any:
        counted.append(len(chosen))
        return sweep.all_hits(parts, chosen, *arguments, **named)

    monkeypatch.setattr(curves, "all_hits", all_hits)
    return counted


def trace(seed: int = 0, **columns: Any) -> Accesses:
    rng = np.random.default_rng(seed)
    return Accesses.of((500 * rng.random(5_000) ** 2).astype(np.int64), **columns)


def same(one: Curve, other: Curve) -> bool:
    arrays = ("capacity", "hit_ratio", "byte_hit_ratio", "token_hit_ratio", "error")
    return (
        all(np.array_equal(getattr(one, name), getattr(other, name)) for name in arrays) and one.definition == other.definition
    )


@pytest.mark.parametrize("sizes", ["none", "fixed", "changing"])
@pytest.mark.parametrize("chain", [False, True])
def test_curves_are_what_each_capacity_does(sizes: str, chain: bool) -> None:
    rng = np.random.default_rng(1)
    accesses = trace(category=rng.integers(0, 2, 5_000), time_s=np.arange(5_000.0))
    columns: dict[str, Any] = {}
    if sizes != "none":
        columns["sizes"] = rng.integers(1, 50, 500)[accesses.ids] if sizes == "fixed" else rng.integers(1, 50, 5_000)
    if chain:
        columns |= {"request_start": np.arange(0, 5_001, 5), "chain": True, "tokens": rng.integers(1, 16, 5_000)}
    accesses = accesses.with_columns(**columns)
    capacities = [0, 7, 49, 50, 400, 10_000]
    for order in ("tail_first", "chain"):
        found = miss_ratio_curve(accesses, ["lru", "sieve", ("fifo", {})], capacities, order=order, warmup=100)
        assert [curve.policy for curve in found] == ["lru", "sieve", "fifo"]
        for curve in found:
            for k, capacity in enumerate(capacities):
                one = replay(accesses, [Tier(capacity=capacity, policy=curve.policy)], order=order, warmup=100)
                assert curve.hit_ratio[k] == one.hit_ratio
                assert (None if curve.byte_hit_ratio is None else curve.byte_hit_ratio[k]) == one.byte_hit_ratio
                assert (None if curve.token_hit_ratio is None else curve.token_hit_ratio[k]) == one.token_hit_ratio
                assert curve.definition == one.definition and curve.error is None


def test_threads_change_nothing(cache: Path) -> None:
    accesses = trace()
    one = miss_ratio_curve(accesses, ["sieve", "w_tinylfu"], threads=1)
    for path in cache.glob("*.json"):
        path.unlink()
    assert all(map(same, one, miss_ratio_curve(accesses, ["sieve", "w_tinylfu"], threads=4)))


def test_default_capacities() -> None:
    accesses = trace()
    found = default_capacities(accesses)
    assert found[0] == 1 and found[-1] == accesses.n_objects and len(found) <= 20 and (np.diff(found) > 0).all()
    sized = accesses.with_columns(sizes=1 + (np.arange(5_000) % 70))
    largest = np.zeros(accesses.n_objects, np.int64)
    np.maximum.at(largest, sized.ids, sized.sizes)
    assert default_capacities(sized, 5)[[0, -1]].tolist() == [70, largest.sum()]
    (curve,) = miss_ratio_curve(accesses, ["lru"], count=3)
    assert len(curve.capacity) == 3


def test_a_curve_is_kept_until_something_changes(runs: list[int], tmp_path: Path) -> None:
    accesses = trace()
    first = miss_ratio_curve(accesses, ["lru", "sieve"], [5, 50])
    again = miss_ratio_curve(accesses, ["lru", "sieve", "fifo"], [5, 50])
    assert runs == [2, 1] and all(map(same, first, again[:2]))
    assert miss_ratio_curve(trace(), ["sieve"], [5, 50])[0].policy == "sieve" and runs == [2, 1]  # the same content
    miss_ratio_curve(trace(1), ["sieve"], [5, 50])
    miss_ratio_curve(accesses, ["sieve"], [5, 51])
    miss_ratio_curve(accesses, ["sieve"], [5, 50], warmup=1)
    miss_ratio_curve(accesses, ["sieve"], [5, 50], seed=1)
    miss_ratio_curve(accesses, ["sieve"], [5, 50], order="chain")
    miss_ratio_curve(accesses, [("w_tinylfu", {})], [5, 50])
    assert runs == [2, 1] + [1] * 6


def test_an_edited_policy_makes_another_curve(runs: list[int], tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    ratios = []
    for end in ("next", "prev", "next"):
        path.write_text(OWN.format(end=end))
        (curve,) = miss_ratio_curve(trace(), [path], [20])
        assert curve.policy == "own"
        ratios.append(curve.hit_ratio[0])
    assert runs == [1, 1] and ratios[0] == ratios[2] != ratios[1]


def test_an_edit_under_a_running_process_keeps_no_curve(
    runs: list[int], cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The policy calls what was loaded before the edit: that answers, and is kept under no name."""
    monkeypatch.syspath_prepend(tmp_path)
    helper, path = tmp_path / "end_of_own.py", tmp_path / "own.py"
    lines = "from simcore.kernel import kernel\n\n@kernel\ndef end(st, head):\n    return st.node[head].{end}\n"
    helper.write_text(lines.format(end="next"))
    path.write_text(
        "from end_of_own import end\n" + OWN.replace("return st.node[list_head(st, s, 0)].{end}", "return end(st, 1)")
    )
    time.sleep(0.02)
    monkeypatch.setattr(simcore.edited, "STARTED_NS", time.time_ns() - 1)
    monkeypatch.setattr(store, "_of_package", list)
    time.sleep(0.02)
    ratios = [miss_ratio_curve(trace(), [path], [20])[0].hit_ratio[0] for _ in range(2)]
    kept = set(cache.iterdir())
    assert runs == [1] and len(kept) == 1
    helper.write_text(lines.format(end="prev"))
    ratios += [miss_ratio_curve(trace(), [path], [20])[0].hit_ratio[0] for _ in range(2)]
    assert runs == [1] * 3 and len(set(ratios)) == 1 and set(cache.iterdir()) == kept


def test_a_number_that_is_compiled_in_makes_another_curve(tmp_path: Path) -> None:
    """Where it is computed, no file tells it."""
    path = tmp_path / "own.py"
    path.write_text("from limits import LIMIT\n" + OWN.format(end="next"))
    keys = []
    for limit in (3, 4, 3):
        sys.modules["limits"] = ModuleType("limits")
        sys.modules["limits"].LIMIT = limit  # type: ignore[attr-defined]
        module = from_file("simcore.policies", path)
        keys.append(store.key_of({}, [module]))
        del sys.modules["limits"], sys.modules[module.__name__]
    assert None not in keys and keys[0] == keys[2] != keys[1]


@pytest.mark.parametrize("ways", [0, 16])
def test_all_is_compiled_before_there_are_threads(ways: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each loop once, that of a cache of one set too, which is not that of a cache of several."""
    compiled: list[tuple[str, bool]] = []
    made = generated.generated_engine

    def generated_engine(*arguments: Any, **named: Any) -> Any:
        assert threading.current_thread() is threading.main_thread()
        compiled.append((named["title"].split()[-1], "SETS = True" in named["modules"]["verbs"]))
        return made(*arguments, **named)

    monkeypatch.setattr(engine, "generated_engine", generated_engine)
    monkeypatch.setattr(engine, "_loaded", {})
    miss_ratio_curve(trace(), ["fifo", "sieve", ("fifo", {})], [16, 32, 64], ways=ways, threads=4)
    kinds = [False, True] if ways else [False]
    assert compiled == [(policy, sets) for policy in ("fifo", "sieve") for sets in kinds]


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"crc": 0, "content": {}}', b"\xff", None])
def test_a_damaged_file_is_made_again(damage: bytes | None, cache: Path, runs: list[int]) -> None:
    (first,) = miss_ratio_curve(trace(), ["sieve"], [5, 50])
    (path,) = cache.iterdir()
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"0.", b"1.", 1) if damage is None else damage)
    (again,) = miss_ratio_curve(trace(), ["sieve"], [5, 50])
    assert runs == [1, 1] and same(first, again)
    assert path.read_bytes() == whole and len(list(cache.iterdir())) == 1


def test_a_folder_that_cannot_be_written_is_no_error(cache: Path, runs: list[int]) -> None:
    cache.write_text("in the way")
    assert all(len(miss_ratio_curve(trace(), ["lru"], [5, 50])) == 1 for _ in range(2))
    assert runs == [1, 1]


def test_old_files_go_first(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "KEPT", 2)
    for number in range(4):
        store.keep(f"k{number}", {"number": number})
        os.utime(cache / f"k{number}.json", (number, number))
    assert sorted(path.name for path in cache.iterdir()) == ["k2.json", "k3.json"]
    assert store.stored("k3") == {"number": 3} and store.stored("k0") is None


@pytest.mark.parametrize(
    ("policies", "options", "message"),
    [
        (["liru"], {}, "unknown name in policies; got liru. Did you mean lru?"),
        ([("lru", {"speed": 1})], {}, "lru.params.speed: "),
        (["lru"], {"capacities": []}, "capacities: must be a list of whole numbers"),
        (["lru"], {"capacities": [1.5]}, "capacities: must be a list of whole numbers"),
        (["lru"], {"capacities": [-1]}, "capacities: must be a list of whole numbers"),
        (["lru"], {"order": "up"}, "order: must be one of"),
        (["lru"], {"warmup": 5_000}, "warmup: must be below the 5000 requests"),
        (["lru"], {"threads": 0}, "threads: must be at least 1"),
        (["lru"], {"seed": -1}, "seed: must be at least 0; got -1"),
        (["lru"], {"sample": 1.0}, "rate: must be between 0 and 1; got 1"),
        (["lru"], {"count": 1}, "count: must be at least 2"),
        (["sieve"], {"sample": 0.5}, "rate: must leave at least 5000"),
    ],
)
def test_options_are_checked(policies: list[Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        miss_ratio_curve(trace(), policies, **options)
    assert str(caught.value).startswith(message)


def test_a_policy_that_cannot_run_is_named(tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    path.write_text(OWN.format(end="next").replace("frozenset()", 'frozenset({"category"})'))
    with pytest.raises(InputError, match="own at capacity 33.*category"):
        miss_ratio_curve(trace(), ["sieve", path], [33])


def test_a_policy_that_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(accesses: Accesses, tiers: Sequence[Tier], **options: Any) -> Any:
        if tiers[0].policy == "sieve" and tiers[0].capacity == 40:
            raise ZeroDivisionError("no luck")
        return replay(accesses, tiers, **options)

    monkeypatch.setattr(sweep, "replay", fail)
    with pytest.raises(SimcoreError, match="sieve at capacity 40: ZeroDivisionError: no luck"):
        miss_ratio_curve(trace(), ["fifo", "sieve"], [10, 40])


def test_progress_is_told() -> None:
    seen: list[tuple[int, int]] = []
    miss_ratio_curve(trace(), ["lru", "fifo"], [10, 40], progress=lambda done, all_: seen.append((done, all_)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


SLOW = """
import sys
import numpy as np
from simcore.replay.curve import miss_ratio_curve
from simcore.traces.accesses import Accesses
ids = np.random.default_rng(0).integers(0, 4_000_000, 60_000_000).astype(np.uint32)
accesses = Accesses(ids=ids, n_objects=4_000_000, key="slow")
miss_ratio_curve(Accesses.of([1, 2]), ["fifo"], [1])
print("go", flush=True)
try:
    miss_ratio_curve(accesses, ["fifo"], np.arange(1_000_000, 1_000_200))
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


@pytest.mark.slow
def test_control_c_stops_it_soon(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "numba"), "XDG_CACHE_HOME": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", SLOW], stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "go\n"
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        asked = time.monotonic()
        out, _ = process.communicate(timeout=60)
        assert out == "stopped\n"
        assert time.monotonic() - asked < 10


def test_an_error_leaves_no_thread_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(done: int, of: int) -> None:
        raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        miss_ratio_curve(trace(), ["fifo", "sieve"], range(1, 200), threads=4, progress=stop)  # type: ignore[arg-type]
    assert threading.active_count() == before


def test_mooncake_costs_little(shared: Path) -> None:
    accesses = read_accesses(shared / "traces/kv/mooncake_conversation.jsonl.zst")
    policies = ["lru", "fifo", "sieve", "lfu", "s3fifo", "arc"]
    capacities = np.geomspace(200, accesses.n_objects, 14).astype(np.int64)
    taken = []
    for seed in range(4):
        begin = time.process_time()
        found = miss_ratio_curve(accesses, policies, capacities, seed=seed)
        taken.append(time.process_time() - begin)
    assert min(taken) < 0.8
    assert all(curve.token_hit_ratio[-1] == pytest.approx(0.3736, abs=1e-4) for curve in found)  # type: ignore[index]
