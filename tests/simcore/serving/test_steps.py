"""Steps by hand: their duration, what shares them, who waits. 10 ms a step, 1 ms a token, unless said otherwise."""

from __future__ import annotations

import pytest

from simcore.serving.serve import serve
from tests.simcore.serving.cases import costs, setup_of, trace_of


def test_one_request() -> None:
    result = serve(trace_of([(0.5, "ab", 3)]), setup_of())
    # prefill of 8 tokens, then two decode steps of 1 token
    assert result.first_token_s == pytest.approx([0.5 + 0.018])
    assert result.finish_s == pytest.approx([0.5 + 0.018 + 2 * 0.011])
    assert (result.steps, result.prefill_steps, result.prefill_tokens, result.decode_tokens) == (3, 1, 8, 2)
    assert result.busy_s == pytest.approx([0.040])
    assert result.end_s == pytest.approx(0.540)


def test_every_term_of_the_step_time() -> None:
    terms = costs(kv_s_per_token=1e-4, seq_s=2e-3, pair_s=1e-5, request_s=0.5)
    result = serve(trace_of([(0, "ab", 3)]), setup_of(costs=terms))
    prefill = 0.018 + 36e-5  # 8 tokens attend 1 + 2 + ... + 8 = 36 tokens
    decode = 2 * (0.011 + 2e-3) + (8 + 9) * 1e-4  # contexts of 8, then 9 tokens
    assert result.first_token_s == pytest.approx([prefill + 0.5])  # the client sees it later
    assert result.finish_s == pytest.approx([prefill + decode + 0.5])
    assert result.busy_s == pytest.approx([prefill + decode])


def test_a_long_prompt_is_cut_to_the_budget() -> None:
    terms = costs(8, pair_s=1e-5)
    result = serve(trace_of([(0, "abc", 1)]), setup_of(costs=terms, max_num_batched_tokens=8, max_num_seqs=8))
    # 8 tokens attend 36 tokens, then 4 attend 9 + 10 + 11 + 12 = 42
    assert result.first_token_s == pytest.approx([0.018 + 0.014 + (36 + 42) * 1e-5])


def test_prefill_shares_a_step_with_decoding() -> None:
    trace = trace_of([(0, "ab", 9), (0.001, "cd", 1)])
    result = serve(trace, setup_of(costs=costs(8), max_num_batched_tokens=8, max_num_seqs=8))
    # 8 of the first; then 1 decoding + 7 of the second; then 1 + 1
    assert result.first_token_s == pytest.approx([0.018, 0.018 + 0.018 + 0.012])


def test_whole_prompts_first_without_chunked_prefill() -> None:
    trace = trace_of([(0, "ab", 3), (0.001, "c", 1), (0.001, "de", 1)])
    knobs = {"costs": costs(8), "max_num_batched_tokens": 8, "max_num_seqs": 8, "chunked_prefill": False}
    result = serve(trace, setup_of(**knobs))
    # a step of 8, one of 4 (8 more do not fit into it), one of 8; only then the first decodes
    assert result.first_token_s == pytest.approx([0.018, 0.032, 0.050])
    assert result.finish_s == pytest.approx([0.050 + 2 * 0.011, 0.032, 0.050])


def test_a_prompt_longer_than_the_budget_without_chunked_prefill() -> None:
    knobs = {"costs": costs(8), "max_num_batched_tokens": 8, "max_num_seqs": 8, "chunked_prefill": False}
    result = serve(trace_of([(0, "abc", 1), (0, "d", 1)]), setup_of(**knobs))
    # 8 of the first; its other 4 and the second's 4
    assert result.first_token_s == pytest.approx([0.018 + 0.018] * 2)


def test_first_come_first_served_under_a_limit_of_sequences() -> None:
    result = serve(trace_of([(0, "a", 3), (0, "b", 1), (0, "c", 1)]), setup_of(max_num_seqs=1))
    alone = 0.014 + 2 * 0.011
    assert result.finish_s == pytest.approx([alone, alone + 0.014, alone + 0.028])
    assert result.queue_s == pytest.approx([0, alone, alone + 0.014])


def test_an_arrival_ends_a_leap_at_the_next_step() -> None:
    result = serve(trace_of([(0, "a", 100), (0.05, "b", 1)]), setup_of())
    # 14 ms, then decode steps of 11 ms: one ends at 58 ms; the second shares the next with 4 + 1 tokens
    assert result.queue_s[1] == pytest.approx(0.008)
    assert result.first_token_s[1] == pytest.approx(0.058 + 0.015)
    assert result.events < 12


def test_arrivals_of_one_instant_share_a_step() -> None:
    result = serve(trace_of([(1, "a", 1), (1, "b", 1)]), setup_of())
    assert result.first_token_s == pytest.approx([1.018, 1.018])


def test_blocks_of_a_step_are_there_for_others_in_it() -> None:
    result = serve(trace_of([(0, "ab", 1), (0, "abc", 1)]), setup_of())
    assert result.hit_tokens.tolist() == [[0], [8]]
    assert result.first_token_s == pytest.approx([0.022, 0.022])  # 8 + 4 tokens


def test_round_robin_in_order_of_arrival() -> None:
    result = serve(trace_of([(0, "a", 1), (0, "b", 1), (0, "c", 1)]), setup_of(replicas=2))
    assert result.replica.tolist() == [0, 1, 0]


def test_least_loaded_counts_waiting_and_admitted() -> None:
    trace = trace_of([(0, "a", 50), (0, "b", 1), (0.1, "c", 1), (0.1, "d", 1), (0.1, "e", 1)])
    result = serve(trace, setup_of(replicas=2, router="least_loaded"))
    # the first still decodes; the third goes to the idle replica, the fourth to the lower number of equals
    assert result.replica.tolist() == [0, 1, 1, 0, 1]


def test_a_saturated_step_is_exact_over_a_long_leap() -> None:
    terms = costs(kv_s_per_token=1e-7)
    n = 20_000
    result = serve(trace_of([(0, "a", n)]), setup_of(pool_blocks=n, costs=terms))
    contexts = sum(range(4, 4 + n - 1))
    assert result.finish_s[0] == pytest.approx(0.014 + (n - 1) * 0.011 + contexts * 1e-7, abs=1e-12)
    assert result.steps == n and result.events < 10


@pytest.mark.parametrize("knob", ["replicas", "max_num_seqs", "max_num_batched_tokens", "pool_pages"])
def test_more_of_it_serves_a_burst_faster(knob: str) -> None:
    trace = trace_of([(0, letter * 6, 20) for letter in "abcdefgh"])
    little = {"replicas": 1, "max_num_seqs": 2, "max_num_batched_tokens": 8, "pool_pages": 60}
    base = {"replicas": 1, "max_num_seqs": 8, "max_num_batched_tokens": 64, "pool_pages": 200}
    more = {"replicas": 2, "max_num_seqs": 8, "max_num_batched_tokens": 64, "pool_pages": 200}
    slow, fast = (serve(trace, setup_of(**{**base, knob: size[knob]})).end_s for size in (little, more))
    assert fast < slow
