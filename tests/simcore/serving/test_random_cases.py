"""Random cases: advancing at once equals stepping, nothing is lost, no input is changed, another process agrees."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from simcore.serving.result import ServingResult
from simcore.serving.serve import serve
from simcore.serving.state import REASONS
from tests.simcore.serving.cases import differences, random_case

CASES = 400


@pytest.mark.parametrize("start", range(0, CASES, 50))
def test_leap_equals_step(start: int) -> None:
    for seed in range(start, start + 50):
        trace, setup = random_case(seed)
        leaped, stepped = serve(trace, setup), serve(trace, setup, leap=False)
        assert differences(leaped, stepped) == [], f"case {seed}"
        assert leaped.events <= stepped.events


def test_cases_reach_everything() -> None:
    """The random cases are worth something only if they preempt, load, refuse and leap."""
    results = [serve(*random_case(seed)) for seed in range(CASES)]
    stores = [store for result in results for store in result.stores.values()]
    assert sum(int(r.preemptions.sum()) for r in results) > 1000
    assert sum(int(r.rejected.sum()) for r in results) > 100
    assert sum(int((r.hit_tokens[:, 1:] > 0).sum()) for r in results) > 500
    for counter in ("in_demoted", "in_written", "out_promoted", "out_evicted", "out_dropped", "writes_refused"):
        assert sum(getattr(store, counter) for store in stores) > 500, counter
    assert sum(store.readmission_hits for store in stores) > 100
    assert sum(result.swaps for result in results) > 500
    assert sum(result.swapped_in_pages < result.swapped_out_pages for result in results) > 20  # some blocks were still there


def test_tokens_are_conserved() -> None:
    for seed in range(CASES):
        trace, setup = random_case(seed)
        result = serve(trace, setup)
        served = ~result.rejected
        prompt, output, hits = trace.input_tokens[served], trace.output_tokens[served], result.hit_tokens[served].sum(1)
        assert (hits <= prompt).all()
        if result.preemptions.sum() == 0:
            assert result.prefill_tokens == (prompt - np.minimum(hits, prompt - 1)).sum()
            assert result.decode_tokens == (output - 1).sum()
            assert result.recomputed_tokens.sum() == 0
        else:
            assert result.prefill_tokens + result.decode_tokens > (prompt - hits).sum()


def test_times_are_ordered() -> None:
    for seed in range(CASES):
        trace, setup = random_case(seed)
        result = serve(trace, setup)
        served = ~result.rejected
        assert (result.finish_s[served] >= result.first_token_s[served]).all()
        assert (result.first_token_s[served] >= result.arrival_s[served] + result.queue_s[served]).all()
        assert np.isnan(result.finish_s[result.rejected]).all()
        assert (result.busy_s <= result.end_s).all()


def test_phases_add_up_to_the_whole_time() -> None:
    for seed in range(CASES):
        trace, setup = random_case(seed)
        result = serve(trace, setup)
        phases = ("queue_s", "network_s", "load_s", "transfer_s", "queue_again_s", "prefill_s", "prefill_again_s", "decode_s")
        spent = sum(np.rint(getattr(result, name)[~result.rejected] * 1e12) for name in phases)
        whole = np.rint((result.finish_s - result.arrival_s)[~result.rejected] * 1e12) - round(setup.costs.request_s * 1e12)
        assert (np.abs(spent - whole) <= 1).all()  # a finish beyond 9 s has no more than a picosecond's precision as a double
        again = result.queue_again_s + result.prefill_again_s
        assert (again[result.preemptions == 0] == 0)[~result.rejected[result.preemptions == 0]].all()


def test_every_token_is_found_or_has_a_reason() -> None:
    reasons = np.zeros(len(REASONS), np.int64)
    for seed in range(CASES):
        trace, setup = random_case(seed)
        result = serve(trace, replace(setup, note_misses=True))
        served = ~result.rejected
        missed = result.missed_tokens[served]
        assert (missed.sum(axis=1) + result.hit_tokens[served].sum(axis=1) == trace.input_tokens[served]).all()
        assert (
            differences(result, replace(serve(trace, replace(setup, note_misses=False)), missed_tokens=result.missed_tokens))
            == []
        )
        reasons += missed.sum(axis=0)
    reached = dict(zip(REASONS, reasons, strict=True))
    assert min(reached.values()) > 500, reached  # write_refused by quotas alone; test_reuse has a policy that refuses


def test_costs_are_not_written_to() -> None:
    """Arrays of a trace are sealed by itself; those of the costs are the caller's."""
    trace, setup = random_case(0)
    setup.costs.lin_s.flags.writeable = False
    serve(trace, setup)


def test_equal_from_one_run_to_the_next() -> None:
    """Memory kept between runs, and memos of a trace, leave no trace."""
    cases = [random_case(seed) for seed in range(20)]
    first = [digest(serve(*case)) for case in cases]
    again = [digest(serve(*case)) for case in reversed(cases)][::-1]
    assert first == again


def test_interpreted_equals_compiled() -> None:
    """Without compilation the kernels are plain Python, for a debugger to walk through, and give the same bytes."""
    seeds = range(0, 24, 2)
    code = (
        "from tests.simcore.serving.test_random_cases import digest; from tests.simcore.serving.cases import random_case;"
        f"from simcore.serving.serve import serve; print([digest(serve(*random_case(seed))) for seed in {seeds!r}])"
    )
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(Path(__file__).parents[3])}
    interpreted = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert interpreted.stdout.strip() == str([digest(serve(*random_case(seed))) for seed in seeds])


def digest(result: ServingResult) -> str:
    """Hash of all fields of a result."""
    values = (getattr(result, f.name) for f in fields(result))
    parts = [v.tobytes() if isinstance(v, np.ndarray) else repr(v).encode() for v in values]
    return hashlib.sha256(b"|".join(parts)).hexdigest()
