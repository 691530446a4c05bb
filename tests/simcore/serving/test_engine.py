"""The compiled engine: one for a set of policies, cached on disk whole or not at all; what it refuses; its own checks."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np
import pytest

from simcore.errors import InputError, InternalError
from simcore.serving import engine as engines
from simcore.serving import laws, lower
from simcore.serving.cache import cached_entry
from simcore.serving.engine import covering, engine, order_source, policy_module
from simcore.serving.serve import prepare, serve
from simcore.serving.setup import StoreSetup
from tests.simcore.serving.cases import costs, one_by_one, random_case, setup_of, trace_of

ROOT = Path(__file__).parents[3]
SIGNATURE = numba.typeof(np.zeros(1))


def text(value: int) -> str:
    return f"def run(x):\n    x[0] += 1\n    return {value}\n"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    yield tmp_path / "simcore"


def test_an_entry_is_written_once_and_read_again(cache: Path) -> None:
    first = cached_entry("simcore_test", text(3), SIGNATURE)
    files = {path: path.stat().st_mtime_ns for path in cache.rglob("*") if path.is_file()}
    second = cached_entry("simcore_test", text(3), SIGNATURE)
    assert first is not None and second is not None
    assert first(np.zeros(1)) == second(np.zeros(1)) == 3
    assert second.stats.cache_hits  # type: ignore[attr-defined]
    assert files == {path: path.stat().st_mtime_ns for path in cache.rglob("*") if path.is_file()}
    assert [path.name for path in cache.iterdir()] == ["simcore_test"]


@pytest.mark.parametrize("damage", ["truncate", "flip", "empty", "remove"])
@pytest.mark.parametrize("suffix", [".py", ".nbi", ".nbc", ".json"])
def test_a_damaged_entry_is_replaced(cache: Path, suffix: str, damage: str) -> None:
    cached_entry("simcore_test", text(3), SIGNATURE)
    (path,) = (path for path in cache.rglob("*") if path.suffix == suffix)
    content = path.read_bytes()
    half = len(content) // 2
    spoilt = {
        "truncate": content[:half],
        "flip": content[:half] + bytes([content[half] ^ 255]) + content[half + 1 :],
        "empty": b"",
    }
    path.unlink() if damage == "remove" else path.write_bytes(spoilt[damage])
    entry = cached_entry("simcore_test", text(3), SIGNATURE)
    assert entry is not None and entry(np.zeros(1)) == 3
    assert not entry.stats.cache_hits  # type: ignore[attr-defined]
    healed = cached_entry("simcore_test", text(3), SIGNATURE)
    assert healed is not None and healed.stats.cache_hits  # type: ignore[attr-defined]


def test_another_text_is_another_entry(cache: Path) -> None:
    cached_entry("simcore_test", text(3), SIGNATURE)
    entry = cached_entry("simcore_test", text(4), SIGNATURE)
    assert entry is not None and entry(np.zeros(1)) == 4


def test_processes_may_start_cold_at_once(cache: Path) -> None:
    code = (
        "import numba, numpy as np; from simcore.serving.cache import cached_entry;"
        f"print(cached_entry('simcore_test', {text(7)!r}, numba.typeof(np.zeros(1)))(np.zeros(1)))"
    )
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda _: _python(code), range(4)))
    assert [run.stdout.strip() for run in done] == ["7"] * 4, done[0].stderr
    assert [path.name for path in cache.iterdir()] == ["simcore_test"]


def test_nothing_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "a_file"
    blocked.touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(blocked))
    monkeypatch.setattr("tempfile.tempdir", str(blocked))
    assert cached_entry("simcore_test", text(3), SIGNATURE) is None
    monkeypatch.setattr(engines, "_loaded", {})
    monkeypatch.setattr(engines, "_kernels", _a_tiny_loop)
    trace, setup = trace_of([(0, "a", 1)]), setup_of()
    state = lower.lower(trace, setup, [("lru", policy_module("lru"))], leap=True)
    assert engine(("lru",), state)(state) == 42


def _a_tiny_loop(package: str, order: str) -> Any:
    """Stands for the kernels, which take long to compile."""
    sys.modules[package] = ModuleType(package)
    module = sys.modules[f"{package}.loop"] = ModuleType(f"{package}.loop")
    module.loop = numba.njit(lambda st: 42)  # type: ignore[attr-defined]
    return module.loop


def test_the_temporary_folder_is_the_last_resort(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is everybody's: a folder there that others may write to is not used."""
    blocked = tmp_path / "a_file"
    blocked.touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for expected in (False, True):
        entry = cached_entry("simcore_test", text(3), SIGNATURE)
        assert entry is not None and bool(entry.stats.cache_hits) == expected  # type: ignore[attr-defined]
    (folder,) = tmp_path.glob("simcore-*")
    folder.chmod(0o777)
    assert cached_entry("simcore_test", text(3), SIGNATURE) is None


def test_numba_cache_dir_is_respected(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "given"))
    cached_entry("simcore_test", text(3), SIGNATURE)
    assert (tmp_path / "given" / "simcore_test" / "manifest.json").exists()
    assert not cache.exists()


def test_the_order_module_in_the_tree_is_the_generated_one() -> None:
    source = ROOT / "simcore" / "serving" / "kernels" / "order.py"
    assert source.read_text(encoding="utf-8") == order_source(("lru",))


def test_an_edited_policy_is_another_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = policy_module("fifo")
    source = Path(str(original.__file__)).read_text(encoding="utf-8")
    digests = []
    for extra in ("", "# edited\n"):
        path = tmp_path / "mine.py"
        path.write_text(source + extra, encoding="utf-8")
        module = ModuleType("mine")
        module.__file__ = str(path)
        exec(compile(path.read_text(encoding="utf-8"), path, "exec"), module.__dict__)
        digests.append(engines._digest("order", [module]))
    assert len(set(digests)) == 2


def test_the_hash_covers_functions_a_policy_imports() -> None:
    files = {path.name for path in engines._jitted_sources(policy_module("sieve"))}
    assert files == {"sieve.py", "kernel.py"}


def test_an_engine_of_more_policies_serves_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    union = ("fifo", "lru", "sieve")
    monkeypatch.setattr(engines, "_loaded", {union: lambda st: 0})
    assert covering(["lru"]) == covering(["sieve", "fifo"]) == union
    prepare(["lru", "sieve"])
    assert list(engines._loaded) == [union]


def test_debug_build_checks_every_index_and_compiles_each_kernel_once(tmp_path: Path) -> None:
    """An index out of range would be silent damage: the random cases run once with all of them checked. And a second
    specialisation of a kernel (of another integer type) would double its compile time; `list_head` takes constants."""
    code = """
import sys
import numba, numpy as np
from simcore.serving.serve import prepare, serve
from tests.simcore.serving.cases import random_case

prepare(("fifo", "lru", "sieve"))
for seed in range(200):
    serve(*random_case(seed))
kernels = {id(v): v for m in list(sys.modules.values()) if m.__name__.startswith("simcore") for v in vars(m).values()
           if hasattr(v, "overloads")}
several = {v.__name__: len(v.overloads) for v in kernels.values() if len(v.overloads) != 1 and v.__name__ != "list_head"}
print(len(kernels) > 80, several)
try:
    numba.njit(lambda a: a[5])(np.zeros(1))
except IndexError:
    print("checked")
"""
    run = _python(code, NUMBA_BOUNDSCHECK="1", XDG_CACHE_HOME=str(tmp_path))
    assert run.stdout.splitlines() == ["True {}", "checked"], run.stderr


def test_options_private_to_numba_still_exist() -> None:
    from simcore import kernel

    assert kernel.OPTIONS == {"nogil": True, "_nrt": False}


def test_an_unknown_policy_names_the_nearest() -> None:
    with pytest.raises(InputError, match=r"Did you mean lru\?"):
        serve(trace_of([(0, "a", 1)]), setup_of(hbm_policy="lrv"))


def test_a_policy_that_needs_more_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy_module("fifo"), "NEEDS", frozenset({"next_use"}))
    with pytest.raises(InputError, match="needs next_use"):
        serve(trace_of([(0, "a", 1)]), setup_of(hbm_policy="fifo"))


@pytest.mark.parametrize(
    ("knobs", "path"),
    [
        ({"unit_tokens": 5, "page_tokens": 2}, "unit_tokens"),
        ({"replicas": 0}, "replicas"),
        ({"max_num_seqs": 100}, "max_num_seqs"),
        ({"load_rule": "perhaps"}, "load_rule"),
        ({"arrivals": "late"}, "arrivals"),
        ({"router": "random"}, "router"),
        ({"write_backlog_s": float("nan")}, "write_backlog_s"),
        ({"costs": costs(10)}, "costs.lin_s"),
        ({"costs": costs(lin_s=0.0)}, None),
        ({"costs": costs(lin_s=-1.0)}, "costs.lin_s"),
        ({"costs": costs(kv_s_per_token=-1.0)}, "costs.kv_s_per_token"),
    ],
)
def test_bad_setups_name_the_field(knobs: dict[str, Any], path: str | None) -> None:
    if path is None:
        serve(trace_of([(0, "a", 1)]), setup_of(**knobs))  # no fixed time is fine
        return
    with pytest.raises(InputError) as caught:
        serve(trace_of([(0, "a", 1)]), setup_of(**knobs))
    assert caught.value.path == path


def test_times_beyond_the_clock_are_refused() -> None:
    with pytest.raises(InputError, match="arrival_s: must not exceed"):
        serve(trace_of([(0, "a", 1), (3e6, "a", 1)]), setup_of())
    with pytest.raises(InputError, match="think_s: must not exceed"):
        serve(trace_of([(0, "a", 1), (0, "a", 1)], after=[-1, 0], think_s=[0, 3e6]), setup_of())
    with pytest.raises(InputError, match="does not end within"):
        serve(trace_of([(0, "a", 1)] * 3, after=[-1, 0, 1], think_s=[0, 2e6, 2e6]), setup_of())
    with pytest.raises(InputError, match="does not end within"):
        crawling = StoreSetup(name="tape", capacity_blocks=9, read_s_per_block=1e6)
        one_by_one(trace_of([(0, "abcd", 1), (0, "wxyz", 1), (0, "abcd", 1)]), setup_of(4, tiers=(crawling,)))
    with pytest.raises(InputError, match="slowest step"):
        serve(trace_of([(0, "a", 9_000)]), setup_of(costs=costs(lin_s=1000.0)))


def test_a_run_without_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    knobs = lower._knobs

    def impatient(*arguments: Any) -> Any:
        par = knobs(*arguments)
        par.max_events = 2
        return par

    monkeypatch.setattr(lower, "_knobs", impatient)
    with pytest.raises(InternalError, match="fault 1"):
        serve(trace_of([(0, "a", 9)]), setup_of())


@pytest.mark.parametrize(
    ("array", "field", "law"),
    [
        ("store", "in_computed", "blocks in = blocks out"),
        ("store", "cap", "resident <= capacity"),
        ("store", "idle", "pinned"),
        ("store", "hits", r"hits \+ misses"),
        ("replica", "private", "private page"),
        ("replica", "promised", "promised"),
        ("replica", "completed_n", "copied"),
        ("replica", "context", "context"),
        ("replica", "run_n", "queue"),
        ("request", "state", "is over"),
        ("request", "first", "arrival <= admission"),
    ],
)
def test_a_broken_law_is_named(array: str, field: str, law: str) -> None:
    trace, setup = random_case(7)
    names = covering([])
    state = lower.lower(trace, replace(setup, hbm_policy="lru", tiers=()), [(n, policy_module(n)) for n in names], leap=True)
    assert engine(names, state)(state) == 0
    laws.check(state)
    getattr(state, array)[field][0] = 10**6 if field in ("first", "private", "promised", "context", "run_n", "hits") else 3
    if field == "first":
        state.request[field][0] = 1 << 60
    if field == "cap":
        state.store[field][0] = 0
    with pytest.raises(InternalError, match=law):
        laws.check(state)


def _python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=False)
