"""Order, packets, limits, victims and reserves by hand: 10 ms a step and 1 ms a token, pages of one token."""

from __future__ import annotations

import numpy as np
import pytest

from simcore.errors import InputError
from simcore.serving.result import ServingResult
from simcore.serving.serve import serve
from tests.simcore.serving.cases import setup_of, trace_of


@pytest.mark.parametrize(("interval", "packet"), [(1, 1), (3, 3), (20, 5)])
def test_the_first_token_arrives_with_the_first_packet(interval: int, packet: int) -> None:
    """Decode steps after the prefill until the packet holds as many tokens, or all."""
    result = serve(trace_of([(0, "ab", 5)]), setup_of(stream_interval=interval))
    assert result.first_token_s == pytest.approx([0.018 + 0.011 * (packet - 1)])
    assert result.finish_s == pytest.approx([0.018 + 0.011 * 4])


def test_packets_of_twenty_tokens_delay_the_first_by_nineteen_steps() -> None:
    """TensorRT-LLM's sweeps of Llama-3.1-70B: TTFT of 1,024/1,024 exceeds 1,024/8,192 by 18 to 20 TPOTs."""
    plain, packets = (serve(trace_of([(0, "ab", 100)]), setup_of(stream_interval=n)) for n in (1, 20))
    tpot = (plain.finish_s - plain.first_token_s) / 99
    assert packets.first_token_s - plain.first_token_s == pytest.approx(19 * tpot)
    assert (packets.finish_s == plain.finish_s).all()


def test_requests_beyond_the_limit_are_rejected() -> None:
    result = serve(trace_of([(0, "ab", 4), (0, "ab", 5), (0, "abcd", 1)]), setup_of(max_model_len=12))
    assert result.rejected.tolist() == [False, True, True]


def _one_at_a_time(**knobs: object) -> list[int]:
    trace = trace_of([(0, "a", 1), (0, "b", 1), (0.001, "c", 1), (0.002, "d", 1)], tenant=[0, 0, 1, 2])
    result = serve(trace, setup_of(max_num_seqs=1, **knobs))
    return [int(i) for i in np.argsort(result.first_token_s)]


def test_order_of_priority() -> None:
    assert _one_at_a_time() == [0, 1, 2, 3]
    # a running request is not displaced; of those waiting the lowest number comes first, then the earliest
    assert _one_at_a_time(scheduling="priority", tenant_priority=(1, 2)) == [0, 3, 1, 2]
    assert _one_at_a_time(scheduling="priority", tenant_priority=(1, 0, 0)) == [0, 2, 3, 1]
    assert _one_at_a_time(scheduling="priority") == [0, 1, 2, 3]


def _preempted(**knobs: object) -> list[int]:
    """Three requests of 4, 8 and 4 tokens fill a pool of 20 and decode until one has to go."""
    trace = trace_of([(0, "a", 6), (0, "bc", 6), (0, "d", 6)], tenant=[0, 1, 2])
    return serve(trace, setup_of(pool_blocks=5, **knobs)).preemptions.tolist()


def test_victims() -> None:
    assert _preempted() == [0, 1, 1]  # 9 + 13 tokens exceed 20 as well
    assert _preempted(scheduling="priority", tenant_priority=(0, 5, 0)) == [0, 1, 0]
    assert _preempted(scheduling="priority", tenant_priority=(5, 0, 0), preemption_victim="least_computed") == [1, 0, 1]
    assert _preempted(preemption_victim="least_computed") == [1, 0, 1]  # the last of equals, then the shorter


def test_least_computed_is_not_always_the_last() -> None:
    trace = trace_of([(0, "a", 9), (0, "bcd", 9)])
    knobs = {"pool_blocks": 5, "preemption_victim": "least_computed"}
    assert serve(trace, setup_of(**knobs)).preemptions.tolist() == [1, 0]
    assert serve(trace, setup_of(pool_blocks=5)).preemptions.tolist() == [0, 1]


def test_a_reserve_admits_later_and_preempts_nobody() -> None:
    """TensorRT-LLM's GUARANTEED_NO_EVICT: no two of the three fit with all their tokens (9 + 13 of 20)."""
    assert _preempted(reserve="output") == [0, 0, 0]
    trace = trace_of([(0, "a", 6), (0, "bc", 6), (0, "d", 6)])
    reserved = serve(trace, setup_of(pool_blocks=5, reserve="output"))
    assert reserved.queue_s == pytest.approx([0, *reserved.finish_s[:2]])
    assert reserved.recomputed_tokens.sum() == 0


@pytest.mark.parametrize("field", ["stream_interval", "max_model_len"])
def test_nothing_below_one(field: str) -> None:
    with pytest.raises(InputError, match=f"{field}: must be at least 1"):
        serve(trace_of([(0, "a", 1)]), setup_of(**{field: 0}))


@pytest.mark.parametrize("field", ["scheduling", "preemption_victim", "reserve"])
def test_unknown_words(field: str) -> None:
    with pytest.raises(InputError, match=f"{field}: must be one of"):
        serve(trace_of([(0, "a", 1)]), setup_of(**{field: "best"}))


def _swapping(**knobs: object) -> ServingResult:
    """Two requests of 8 tokens in a pool of 20; after two decode steps each the second has to go, with 10 tokens."""
    trace = trace_of([(0, "ab", 9), (0, "cd", 4)])
    links = {"host_link_read_s_per_block": 0.4, "host_link_write_s_per_block": 0.2}  # 0.1 and 0.05 s a token
    return serve(trace, setup_of(pool_blocks=5, **{"preemption": "swap", "swap_pages": 100, **links, **knobs}))


def test_a_swapped_request_moves_there_and_back() -> None:
    result = _swapping()
    gone = 0.026 + 2 * 0.012  # a prefill of 16 tokens, two decode steps of two
    first_ends = gone + 6 * 0.011
    assert result.finish_s[0] == pytest.approx(first_ends)
    # 10 pages went out until gone + 0.5; the first had to evict one of its two blocks, so 6 pages come back; one more token
    assert result.finish_s[1] == pytest.approx(gone + 10 * 0.05 + 6 * 0.1 + 0.011)
    assert (result.swaps, result.swapped_out_pages, result.swapped_in_pages) == (1, 10, 6)
    assert result.links["host"].write_busy_s == pytest.approx(0.5)
    assert result.recomputed_tokens.sum() == 0
    assert result.load_s[1] == pytest.approx(0.5 + 0.6 - 6 * 0.011)


def test_what_does_not_fit_into_swap_space_is_recomputed() -> None:
    result = _swapping(swap_pages=9)
    assert (result.swaps, result.swapped_out_pages) == (0, 0)
    assert result.recomputed_tokens.tolist() == [0, 10 - 4]
    assert result.preemptions.tolist() == _swapping().preemptions.tolist() == [0, 1]


def test_swapping_needs_space() -> None:
    with pytest.raises(InputError, match="swap_pages: must be at least 1"):
        _swapping(swap_pages=0)
