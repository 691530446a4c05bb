"""The compiled engine: one for a set of policies; what it refuses; its own checks."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simcore.errors import InputError, InternalError
from simcore.serving import engine as engines
from simcore.serving import laws, lower
from simcore.serving.engine import covering, engine, order_source, policy_module
from simcore.serving.serve import prepare, serve
from simcore.serving.setup import StoreSetup
from tests.simcore.serving.cases import costs, one_by_one, random_case, setup_of, trace_of

ROOT = Path(__file__).parents[3]


def test_the_order_module_in_the_tree_is_the_generated_one() -> None:
    source = ROOT / "simcore" / "serving" / "kernels" / "order.py"
    assert source.read_text(encoding="utf-8") == order_source(("lru",))


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
several = {v.__name__: len(v.overloads) for v in kernels.values() if len(v.overloads) > 1 and v.__name__ != "list_head"}
print(len(kernels) > 80, several)
try:
    numba.njit(lambda a: a[5])(np.zeros(1))
except IndexError:
    print("checked")
"""
    run = _python(code, NUMBA_BOUNDSCHECK="1", XDG_CACHE_HOME=str(tmp_path))
    assert run.stdout.splitlines() == ["True {}", "checked"], run.stderr


@pytest.mark.slow
def test_debug_build_equals_the_twin(tmp_path: Path) -> None:
    """The random cases of the twin and those of leaps, step by step and at once, with all indices checked."""
    cases = ("test_twin.py::test_random_cases", "test_twin.py::test_small_cases", "test_random_cases.py::test_leap_equals_step")
    chosen = [str(ROOT / "tests" / "simcore" / "serving" / case) for case in cases]
    code = f"import pytest, sys; sys.exit(pytest.main({['-x', '-p', 'no:cacheprovider', *chosen]!r}))"
    run = _python(code, NUMBA_BOUNDSCHECK="1", XDG_CACHE_HOME=str(tmp_path))
    assert run.returncode == 0, run.stdout + run.stderr


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
    with pytest.raises(InternalError, match="more events than its bound"):
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
