"""`Trace`: invariants, sealing, identity by content, scaling of arrivals."""

from __future__ import annotations

import math
import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcore.errors import InputError
from simcore.traces.trace import Trace, densify, earliest_arrival, gather, renumber

# Granule of 10 tokens. Request 1 shares 20 tokens with request 0 and has a partly filled last granule.
GOOD = {
    "arrival_s": [0.0, 1.0, 1.0],
    "input_tokens": [30, 25, 5],
    "output_tokens": [1, 2, 3],
    "blocks": [[7, 9, 4], [7, 9, 5], [3]],
    "granule_tokens": 10,
}


def test_a_good_trace_has_its_ids_renumbered_by_first_appearance() -> None:
    trace = Trace.of(**GOOD)
    assert trace.n == 3
    assert trace.block_start.tolist() == [0, 3, 6, 7]
    assert trace.block_ids.tolist() == [0, 1, 2, 0, 1, 3, 4]
    assert trace.n_ids == 5
    assert trace.total_prompt_tokens == 60
    assert trace.total_output_tokens == 6
    assert trace.prompt_blocks(1).tolist() == [0, 1, 3]
    assert trace.after.tolist() == [-1, -1, -1]


def test_prompt_blocks_leave_out_the_output() -> None:
    trace = Trace.of([0.0], [15], [20], [[0, 1, 2, 3]], 10, has_output_ids=True)
    assert trace.prompt_blocks(0).tolist() == [0, 1]


def test_arrays_are_copies_nobody_can_change() -> None:
    arrival = np.array([0.0, 1.0, 1.0])
    trace = Trace.of(**{**GOOD, "arrival_s": arrival})
    arrival[0] = 0.5
    assert trace.arrival_s[0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        trace.block_ids[0] = 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"arrival_s": [0.0, 2.0, 1.0]}, r"arrival_s\[2\]: times must be sorted; got 1"),
        ({"arrival_s": [-1.0, 1.0, 1.0]}, r"arrival_s\[0\]: must not be negative"),
        ({"arrival_s": [0.0, 1.0, math.inf]}, r"arrival_s\[2\]: must be finite"),
        ({"arrival_s": [0.0, 1.0]}, r"must have one entry per request"),
        ({"input_tokens": [30, 25, 0]}, r"input_tokens\[2\]: must be at least 1"),
        ({"output_tokens": [1, 0, 3]}, r"output_tokens\[1\]: must be at least 1; got 0"),
        ({"input_tokens": [30.5, 25, 5]}, r"input_tokens: must be whole numbers"),
        ({"output_tokens": [1, 2, 2**31]}, r"output_tokens\[2\]: must be between"),
        ({"blocks": [[7, 9, 4], [7, 9], [3]]}, r"block_ids\[1\]: must hold one id per 10 tokens: 3 for 25 tokens; got 2"),
        ({"blocks": [[7, 9, 4], [9, 7, 5], [3]]}, r"block_ids\[0\]: equal ids must stand for equal prefixes"),
        ({"blocks": [[7, 9, 4], [7, 9, 4], [3]]}, r"equal ids must stand for equal prefixes"),  # 30 and 25 tokens
        ({"after": [-1, 1, -1]}, r"after\[1\]: must be -1 or an earlier request"),
        ({"after": [-1, 0, 0]}, r"after\[1\]: a request may trigger only one other"),
        ({"think_s": [0.0, -1.0, 0.0]}, r"think_s\[1\]"),
        ({"wave": [0, 1, 0]}, r"wave\[2\]: must not decrease"),
        ({"session": [0, -1, 0]}, r"session\[1\]: must not be negative"),
        ({"granule_tokens": 0}, r"granule_tokens: must be at least 1"),
        ({"arrival_s": [], "input_tokens": [], "output_tokens": [], "blocks": []}, "at least one request"),
    ],
)
def test_each_broken_invariant_is_named(change: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Trace.of(**{**GOOD, **change})


def test_unused_ids_are_refused() -> None:
    good = Trace.of(**GOOD)
    fields = {name: getattr(good, name) for name in good.__dataclass_fields__ if name != "n_ids"}
    with pytest.raises(InputError, match="exactly 0 to n_ids-1"):
        Trace(n_ids=6, **fields)


def test_identity_is_by_content() -> None:
    one, same = Trace.of(**GOOD), Trace.of(**{**GOOD, "source": "elsewhere"})
    other = Trace.of(**{**GOOD, "output_tokens": [1, 2, 4]})
    assert one.sha256 == same.sha256 != other.sha256
    assert pickle.loads(pickle.dumps(one)).sha256 == one.sha256


def test_scaling_moves_unchained_arrivals_and_keeps_think_times() -> None:
    # Two sessions start at 0 and 4; the second request of the first comes 3 s after it. Rate 3/4 = 0.75 per second.
    trace = Trace.of(
        [0.0, 3.0, 4.0],
        [10, 20, 10],
        [1, 1, 1],
        [[0], [0, 1], [2]],
        10,
        after=[-1, 0, -1],
        think_s=[0.0, 3.0, 0.0],
        session=[0, 0, 1],
    )
    assert trace.mean_rate_per_s == 0.75
    fast = trace.scaled_to_rate(3.0)  # the second session now starts at 1, before the chained request
    assert fast.mean_rate_per_s == 3.0
    assert fast.arrival_s.tolist() == [0.0, 1.0, 3.0]
    assert fast.session.tolist() == [0, 1, 0]
    assert fast.after.tolist() == [-1, -1, 0]
    assert fast.think_s.tolist() == [0.0, 0.0, 3.0]
    assert [fast.prompt_blocks(i).tolist() for i in range(3)] == [[0], [2], [0, 1]]
    assert trace.scaled_to_rate(0.75).sha256 == trace.sha256


@pytest.mark.parametrize("rate", [0.0, -1.0, math.nan, math.inf])
def test_a_rate_must_be_positive(rate: float) -> None:
    with pytest.raises(InputError, match="request_rate: must be positive"):
        Trace.of(**GOOD).scaled_to_rate(rate)


def test_a_burst_has_no_rate_to_scale() -> None:
    burst = Trace.of(**{**GOOD, "arrival_s": [2.0, 2.0, 2.0]})
    assert burst.mean_rate_per_s == math.inf
    with pytest.raises(InputError, match="all requests arrive at one instant"):
        burst.scaled_to_rate(1.0)


def test_first_keeps_requests_and_renumbers_ids() -> None:
    trace = Trace.of(**GOOD)
    assert trace.first(3) is trace
    short = trace.first(2)
    assert (short.n, short.n_ids) == (2, 4)
    with pytest.raises(InputError, match="requests: must be between 1 and the 3 requests of given; got 4"):
        trace.first(4)


def test_waves_stay_in_order_when_scaled() -> None:
    trace = Trace.of([0.0, 1.0, 5.0], [10, 20, 10], [1, 1, 1], [[0], [0, 1], [2]], 10, wave=[0, 0, 1], after=[-1, 0, -1])
    assert trace.scaled_to_rate(6.0).wave.tolist() == [0, 0, 1]


@given(st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=40), st.integers(1, 3))
def test_densify_numbers_by_first_appearance(values: list[int], repeat: int) -> None:
    raw = np.array(values * repeat)
    ids, count = densify(raw)
    known: dict[int, int] = {}
    assert ids.tolist() == [known.setdefault(value, len(known)) for value in raw.tolist()]
    assert count == len(known)


@given(st.lists(st.lists(st.integers(0, 9), max_size=4), min_size=1, max_size=6), st.data())
def test_gather_takes_rows(rows: list[list[int]], data: st.DataObject) -> None:
    order = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=8))
    start = np.cumsum([0, *map(len, rows)])
    flat = np.array([v for row in rows for v in row], np.uint32)
    new_start, values = gather(start, flat, np.array(order))
    taken = [values[a:b].tolist() for a, b in pairwise(new_start)]
    assert taken == [rows[i] for i in order]


def test_renumber_keeps_the_order_of_ids() -> None:
    ids, count = renumber(np.array([5, 2, 5, 9], np.uint32), 10)
    assert (ids.tolist(), count) == ([1, 0, 1, 2], 3)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 50)), min_size=1, max_size=30))
def test_earliest_arrival_follows_chains(steps: list[tuple[bool, int]]) -> None:
    after = np.array([i - 1 if chained and i else -1 for i, (chained, _) in enumerate(steps)])
    think = np.array([float(t) for _, t in steps])
    arrival = np.arange(len(steps), dtype=float)
    expected = arrival.copy()
    for i, j in enumerate(after):
        if j >= 0:
            expected[i] = expected[j] + think[i]
    assert earliest_arrival(arrival, after, think).tolist() == expected.tolist()
