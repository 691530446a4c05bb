"""When requests arrive: open and closed loops, chains, barriers, a backlog; and those that never can be served."""

from __future__ import annotations

import numpy as np
import pytest

from simcore.serving.serve import serve
from simcore.traces.trace import Trace
from tests.simcore.serving.cases import UNIT, costs, setup_of, trace_of

ONE = 0.014  # a request of one block and one token, alone


def test_a_chained_request_follows_what_the_client_saw() -> None:
    trace = trace_of([(0, "a", 1), (0, "b", 1)], after=[-1, 0], think_s=[0, 2.0])
    result = serve(trace, setup_of(costs=costs(request_s=0.5)))
    assert result.arrival_s == pytest.approx([0, ONE + 0.5 + 2.0])
    assert result.finish_s[1] - result.arrival_s[1] == pytest.approx(ONE + 0.5)


def test_closed_loop_keeps_a_number_in_flight() -> None:
    trace = trace_of([(9, "a", 1), (9, "b", 1), (9, "c", 1)])
    result = serve(trace, setup_of(arrivals="closed", concurrency=2))
    # recorded times do not matter
    assert result.arrival_s == pytest.approx([0, 0, 0.018])
    assert result.finish_s == pytest.approx([0.018, 0.018, 0.018 + ONE])


def test_a_client_of_a_closed_loop_keeps_its_session() -> None:
    # a, then c after 5 s of thinking, in one client's place; b and d in the other's; then e in whichever is free first
    trace = trace_of([(0, w, 1) for w in "abcde"], after=[-1, -1, 0, -1, -1], think_s=[0, 0, 5.0, 0, 0])
    result = serve(trace, setup_of(arrivals="closed", concurrency=2))
    end = 0.018
    assert result.arrival_s == pytest.approx([0, 0, end + 5, end, end + ONE])
    alone = serve(trace, setup_of(arrivals="closed", concurrency=1))
    assert alone.arrival_s == pytest.approx([0, 5 + 2 * ONE, 5 + ONE, 5 + 3 * ONE, 5 + 4 * ONE])


def test_a_rejected_turn_passes_the_place_on() -> None:
    trace = trace_of(
        [(0, "vwxyz", 1), (0, "a", 1), (0, "vwxyz", 1), (0, "b", 1)], after=[-1, 0, 1, -1], think_s=[0, 1.0, 1.0, 0]
    )
    result = serve(trace, setup_of(4, arrivals="closed", concurrency=1))
    assert result.rejected.tolist() == [True, False, True, False]
    assert result.arrival_s == pytest.approx([0, 1, 2 + ONE, 2 + ONE])


def test_clients_may_start_one_after_the_other() -> None:
    trace = trace_of([(0, w, 1) for w in "abcde"])
    result = serve(trace, setup_of(arrivals="closed", concurrency=3, stagger_s=0.01))
    # a runs alone until 14 ms, when the first client takes c; b and c share a step, during which the third client starts
    assert result.arrival_s == pytest.approx([0, 0.01, ONE, 0.02, ONE + 0.018])


def test_a_chain_of_a_closed_loop_ends_with_its_wave() -> None:
    trace = trace_of([(0, "a", 1), (0, "b", 11), (0, "c", 1)], after=[-1, -1, 0], think_s=[0, 0, 9.0], wave=[0, 0, 1])
    result = serve(trace, setup_of(arrivals="closed", concurrency=1))
    assert result.arrival_s[2] == result.finish_s[1]  # else it would keep the place that b needs


def test_a_closed_loop_may_be_wider_than_the_trace() -> None:
    result = serve(trace_of([(0, "a", 1), (0, "b", 1)]), setup_of(arrivals="closed", concurrency=50))
    assert result.arrival_s.tolist() == [0, 0]


@pytest.mark.parametrize("leap", [True, False])
def test_a_closed_loop_goes_on_when_the_client_has_seen_the_end(leap: bool) -> None:
    trace = trace_of([(0, "a", 1), (0, "b", 11), (0, "c", 1), (0, "d", 1)])
    result = serve(trace, setup_of(arrivals="closed", concurrency=2, costs=costs(request_s=0.05)), leap)
    first, second, third, _ = result.finish_s
    assert first == pytest.approx(0.018 + 0.05)
    assert result.arrival_s.tolist() == [0, 0, first, third]
    assert third < second  # a place is free again when its own request is seen to end, whoever else runs


def test_a_client_that_reads_keeps_its_place_only() -> None:
    # the rejected one has no end to be read; of the two after it one takes the place never taken
    trace = trace_of([(0, "a", 1), (0, "vwxyz", 1), (0, "b", 1), (0, "c", 1)])
    result = serve(trace, setup_of(4, arrivals="closed", concurrency=2, costs=costs(request_s=0.5)))
    assert result.arrival_s.tolist() == [0, 0, 0, result.finish_s[0]]


@pytest.mark.parametrize("request_s", [0.0, 0.5])
@pytest.mark.parametrize("arrivals", ["open", "closed"])
def test_a_wave_waits_for_all_of_the_one_before(arrivals: str, request_s: float) -> None:
    trace = trace_of([(0, "a", 1), (0, "b", 11), (0, "c", 1), (0, "d", 1)], wave=[0, 0, 3, 4])
    result = serve(trace, setup_of(arrivals=arrivals, concurrency=4, costs=costs(request_s=request_s)))
    assert result.arrival_s[2] == result.finish_s[1]
    assert result.arrival_s[3] == result.finish_s[2]


def test_a_chained_request_of_a_later_wave_waits_for_both() -> None:
    chains = {"after": [-1, -1, 0, 1], "think_s": [0, 0, 0, 1.0], "wave": [0, 0, 1, 1]}
    result = serve(trace_of([(0, "a", 1), (0, "b", 11), (0, "c", 1), (0, "d", 1)], **chains), setup_of())
    assert result.arrival_s[2] == result.finish_s[1]  # its own predecessor was ready before
    assert result.arrival_s[3] == pytest.approx(result.finish_s[1] + 1.0)


@pytest.mark.parametrize("leap", [True, False])
@pytest.mark.parametrize(("first", "second", "waits"), [(50, 3, 1), (3, 50, 0)])
def test_a_newcomer_of_the_moment_meets_replicas_by_number(first: int, second: int, waits: int, leap: bool) -> None:
    # all steps take 10 ms, so both replicas are at a boundary when one of two requests is over and the third comes; it goes to
    # replica 0, which has started its next step already if it is replica 1 that brings it
    trace = trace_of([(0, "a", first), (0, "b", second), (0, "c", 1)])
    even = costs(lin_s=0.01, per_token_s=0.0)
    result = serve(trace, setup_of(replicas=2, costs=even, arrivals="closed", concurrency=2), leap)
    assert result.arrival_s[2] == pytest.approx(0.03)
    assert result.replica[2] == 0
    assert result.queue_s[2] == pytest.approx(0.01 * waits)


def test_backlog_is_all_at_once() -> None:
    trace = trace_of([(0, "a", 1), (5, "b", 1), (9, "c", 1)], after=[-1, 0, -1], think_s=[0, 3, 0], wave=[0, 0, 1])
    result = serve(trace, setup_of(arrivals="backlog"))
    assert result.arrival_s.tolist() == [0, 0, 0]
    assert result.finish_s == pytest.approx([0.022] * 3)


def test_what_can_never_fit_is_rejected_and_the_rest_is_served() -> None:
    # pool of 3 blocks of 4 tokens: 8 + 5 - 1 tokens fit, 8 + 6 - 1 do not
    trace = trace_of([(0, "ab", 5), (0, "cd", 6), (0, "e", 1)], after=[-1, -1, 1], think_s=[0, 0, 1.0])
    result = serve(trace, setup_of(3, replicas=2))
    assert result.rejected.tolist() == [False, True, False]
    assert result.replica.tolist() == [0, -1, 1]  # it takes no turn
    assert np.isnan([result.first_token_s[1], result.finish_s[1], result.queue_s[1]]).all()
    assert result.arrival_s[2] == pytest.approx(1.0)  # its successor comes all the same
    assert result.hit_tokens[1].sum() == 0


def test_all_rejected() -> None:
    result = serve(trace_of([(0, "abcd", 1), (1, "abcd", 1)]), setup_of(3))
    assert result.rejected.all()
    assert (result.steps, result.stores["hbm"].lookups, result.end_s) == (0, 0, 0.0)


def test_a_rejection_does_not_prolong_the_run() -> None:
    result = serve(trace_of([(0, "a", 1), (9, "vwxyz", 1)]), setup_of(4, costs=costs(request_s=0.5)))
    assert result.rejected.tolist() == [False, True]
    assert result.end_s == pytest.approx(ONE)  # of the last step; the client reads on


def test_a_pool_below_one_block_serves_what_has_none() -> None:
    trace = Trace.of([0.0, 0.0], [3, 4], [1, 1], [[0], [1]], UNIT)
    result = serve(trace, setup_of(pool_pages=3))
    assert result.rejected.tolist() == [False, True]
    assert result.stores["hbm"].capacity_blocks == 0


def test_rejection_does_not_hold_a_place_in_a_closed_loop() -> None:
    result = serve(trace_of([(0, "abcd", 1), (0, "a", 1)]), setup_of(3, arrivals="closed", concurrency=1))
    assert result.arrival_s.tolist() == [0, 0]
