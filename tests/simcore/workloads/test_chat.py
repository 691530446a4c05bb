"""The chat generator: structure of sessions, load, popularity, and what a seed and a rate may change."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcore.errors import InputError
from simcore.specs.base import validate
from simcore.traces.reuse import ideal_hit
from simcore.traces.trace import Trace
from simcore.workloads.chat import Params, generate


def chat(seed: int = 0, **changes: Any) -> Trace:
    params = validate(Params, {"kind": "chat", "request_rate": 4, "requests": 600, **changes})
    return generate(params, seed)


SMALL: dict[str, Any] = {
    "system_tokens": 40,
    "user_tokens": {"low": 1, "high": 60},
    "output_tokens": {"low": 1, "high": 40},
}


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10**9),
    tenants=st.integers(1, 5),
    turns=st.floats(1, 6),
    rate=st.sampled_from([0.05, 1.0, 50.0]),
    requests=st.integers(1, 60),
)
def test_a_turn_extends_the_one_it_follows(seed: int, tenants: int, turns: float, rate: float, requests: int) -> None:
    trace = chat(seed, tenants=tenants, turns=turns, request_rate=rate, requests=requests, **SMALL)
    assert trace.n == requests
    assert trace.has_output_ids
    for i, j in enumerate(trace.after.tolist()):
        assert trace.input_tokens[i] > 40
        if j < 0:
            assert trace.think_s[i] == 0
            continue
        heard = int(trace.input_tokens[j] + trace.output_tokens[j])
        assert trace.input_tokens[i] > heard
        assert (trace.session[i], trace.tenant[i]) == (trace.session[j], trace.tenant[j])
        assert trace.arrival_s[i] == pytest.approx(trace.arrival_s[j] + trace.think_s[i], abs=3e-6)
        whole = heard // 16
        mine, theirs = (trace.block_ids[trace.block_start[k] :][:whole].tolist() for k in (i, j))
        assert mine == theirs
    roots = trace.session[trace.after < 0]
    assert len(set(roots.tolist())) == len(roots)


def test_sessions_of_a_tenant_share_its_system_prompt_and_nothing_else() -> None:
    trace = chat(tenants=3, turns=1, system_tokens=100, requests=50)
    prefixes = {int(t): set() for t in trace.tenant}
    for i in range(trace.n):
        ids = trace.prompt_blocks(i).tolist()
        prefixes[int(trace.tenant[i])].add(tuple(ids[:6]))  # 100 tokens fill 6 granules of 16
        others = [set(trace.prompt_blocks(k).tolist()[6:]) for k in range(trace.n) if k != i]
        assert not set(ids[6:]).intersection(*[set().union(*others)])
    assert [len(p) for p in prefixes.values()] == [1] * len(prefixes)
    assert len(set().union(*prefixes.values())) == len(prefixes)


@pytest.mark.parametrize("rate", [0.5, 4.0, 20.0])
def test_the_asked_rate_is_realised_all_through(rate: float) -> None:
    """Mean over seeds of the arrivals in each quarter of the window, as if answers took no time."""
    quarters = np.zeros(4)
    for seed in range(10):
        trace = chat(seed, request_rate=rate, requests=2000, **SMALL)
        assert trace.mean_rate_per_s == pytest.approx(rate, rel=1e-6)
        window_s = trace.n / rate
        assert trace.arrival_s[-1] < 1.05 * window_s
        quarters += np.histogram(trace.arrival_s, bins=np.linspace(0, window_s, 5))[0] / (window_s / 4)
    assert quarters / 10 == pytest.approx([rate] * 4, rel=0.06)


def requests_of(trace: Trace) -> list[tuple[int, ...]]:
    return sorted(zip(trace.tenant.tolist(), trace.input_tokens.tolist(), trace.output_tokens.tolist(), strict=True))


def test_a_rate_moves_times_only() -> None:
    slow, fast = chat(request_rate=1), chat(request_rate=16)
    assert requests_of(slow) == requests_of(fast)
    assert slow.span_s == pytest.approx(16 * fast.span_s)
    thinks = [set(t.think_s[t.after >= 0].tolist()) for t in (slow, fast)]
    assert len(thinks[1] - thinks[0]) <= 0.1 * len(thinks[1])  # the same ones, except where the window's edge cut a chain


def test_a_parameter_changes_only_its_own_draws() -> None:
    base, longer = chat(), chat(output_tokens={"p50": 400, "p99": 900})
    assert sorted(base.session.tolist()) == sorted(longer.session.tolist())
    assert base.arrival_s.tolist() == longer.arrival_s.tolist()
    first = base.after < 0
    assert (base.input_tokens[first] <= longer.input_tokens[first]).all()


def test_in_a_closed_loop_sessions_are_whole() -> None:
    trace = chat(request_rate=None, concurrency=8)
    assert (trace.after < 0).sum() == trace.session.max() + 1
    open_loop = chat(request_rate=4)
    assert (open_loop.after < 0).sum() > (trace.after < 0).sum()
    with pytest.raises(InputError, match="request_rate: is required, or concurrency"):
        chat(request_rate=None)


def test_turns_and_popularity_follow_their_laws() -> None:
    whole = chat(request_rate=None, concurrency=1, requests=20_000, turns=3, max_turns=1000, tenants=10, zipf=1, **SMALL)
    length = np.bincount(whole.session)
    assert length.mean() == pytest.approx(3, rel=0.03)
    assert (length == 1).mean() == pytest.approx(1 / 3, rel=0.05)
    per_tenant = np.bincount(whole.tenant[whole.after < 0], minlength=10)
    expected = 1 / np.arange(1, 11) / (1 / np.arange(1, 11)).sum()
    assert per_tenant / per_tenant.sum() == pytest.approx(expected, abs=0.012)
    capped = chat(request_rate=None, concurrency=1, turns=3, max_turns=2, **SMALL)
    assert np.bincount(capped.session).max() == 2
    even = chat(request_rate=None, concurrency=1, requests=20_000, turns=1, tenants=4, zipf=0, **SMALL)
    assert np.bincount(even.tenant) / 20_000 == pytest.approx([0.25] * 4, abs=0.012)


def test_every_parameter_matters() -> None:
    base = chat()
    changes: list[dict[str, Any]] = [
        {"requests": 601}, {"request_rate": 5}, {"tenants": 21}, {"zipf": 0.5}, {"system_tokens": 513}, {"user_tokens": 700},
        {"output_tokens": 90}, {"turns": 4.1}, {"max_turns": 11}, {"think_time": "9 s"},
    ]  # fmt: skip
    hashes = {chat(**change).sha256 for change in changes} | {base.sha256, chat(seed=1).sha256}
    assert len(hashes) == len(changes) + 2


def test_the_same_seed_gives_the_same_bytes_in_another_process() -> None:
    code = (
        "from simcore.workloads.chat import Params, generate\nprint(generate(Params(request_rate=4, requests=600), 0).sha256)"
    )
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == chat().sha256


def test_golden_counts() -> None:
    trace = chat()
    found = ideal_hit(trace)
    counts = (trace.total_prompt_tokens, trace.total_output_tokens, trace.n_ids, int(found.hit_units.sum()))
    assert counts == (3_058_898, 92_276, 83_854, 113_376)


def test_five_thousand_requests_are_quick() -> None:
    chat(1)
    began = time.process_time()
    trace = chat(2, requests=5000)
    assert time.process_time() - began < 0.2
    assert trace.n == 5000
