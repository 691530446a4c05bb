"""Speculative decoding: the published mean of tokens a step and its speed-up, and steps by hand."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from simcore.errors import InputError
from simcore.serving.serve import serve
from tests.reference.serving import serve_slowly
from tests.simcore.serving.cases import costs, differences, random_case, setup_of, trace_of
from tests.simcore.serving.small import speculative


def tpot(**knobs: object) -> float:
    """Seconds a token of one long output, steps of equal length."""
    result = serve(trace_of([(0, "a", 4001)]), setup_of(2000, costs=costs(per_token_s=0.0), **knobs))
    return float((result.finish_s - result.first_token_s)[0] / 4000)


@pytest.mark.parametrize(
    ("accepted", "drafts", "cost", "factor"), [(0.75, 7, 0.02, 3.16), (0.8, 5, 0.02, 3.35), (0.53, 3, 0.02, 1.85)]
)
def test_the_published_speed_up(accepted: float, drafts: int, cost: float, factor: float) -> None:
    """Leviathan et al., arXiv 2211.17192, theorem 3.8: (1 - a^(k+1)) / ((1 - a)(k c + 1)) where verifying costs nothing."""
    expected = (1 - accepted ** (drafts + 1)) / ((1 - accepted) * (drafts * cost + 1))
    assert expected == pytest.approx(factor, abs=0.006)
    faster = tpot(draft_tokens=drafts, acceptance_rate=accepted, draft_cost=cost, max_num_seqs=8)
    assert tpot() / faster == pytest.approx(expected, rel=2e-3)


def test_steps_by_hand() -> None:
    """Two drafted, half accepted: 1.75 tokens a step, the clock reads 1, 3, 5, 7 after four steps of 3 tokens each."""
    knobs = {"draft_tokens": 2, "acceptance_rate": 0.5}
    for output, steps in ((2, 1), (3, 2), (4, 2), (5, 3), (6, 3), (7, 4), (8, 4)):
        result = serve(trace_of([(0, "ab", output)]), setup_of(**knobs))
        assert result.finish_s - result.first_token_s == pytest.approx([steps * 0.013]), output
        assert result.decode_tokens == output - 1
        assert result.steps == steps + 1


def test_all_or_nothing_accepted() -> None:
    assert tpot(draft_tokens=4, acceptance_rate=1.0, max_num_seqs=8) == pytest.approx(tpot() / 5)
    assert tpot(draft_tokens=4, acceptance_rate=0.0, max_num_seqs=8) == tpot()


def test_verified_tokens_take_time_and_budget() -> None:
    """A full batch pays for what it verifies: where time goes with tokens, drafts that are rejected only cost."""
    trace = trace_of([(0, letter, 50) for letter in "abcdefgh"])
    plain, wasted = (serve(trace, setup_of(200, max_num_seqs=8, draft_tokens=k, acceptance_rate=0.0)) for k in (0, 4))
    assert (wasted.finish_s > plain.finish_s).all()
    assert np.allclose(wasted.busy_s - plain.busy_s, 49 * 8 * 4 * 0.001)


def test_what_comes_back_from_swap_space_has_room_for_its_next_step() -> None:
    """With room for one token only where a step yields two, it was swapped out at once, and came back, without end."""
    swaps = 0
    for seed in (*range(22_000, 22_040), 22_537, 23_101, 23_691, 23_811):
        trace, setup = random_case(seed)
        if setup.allocation == "paged" and setup.max_num_batched_tokens >= 2 * setup.max_num_seqs:
            rng = Random(seed)
            setup = replace(setup, preemption="swap", reserve="none", swap_pages=1000, draft_tokens=0, hbm_policy="lru")
            case = trace, speculative(setup, rng.random(), rng.random())
            result = serve(*case)
            assert differences(result, serve_slowly(*case)) == [], f"case {seed}"
            assert differences(result, serve(*case, leap=False)) == [], f"case {seed}"
            swaps += result.swaps
    assert swaps > 100


def test_refusals() -> None:
    trace = trace_of([(0, "a", 1)])
    with pytest.raises(InputError, match=r"max_num_seqs: must not exceed max_num_batched_tokens \(64\) over 1 \+ draft_tokens"):
        serve(trace, setup_of(max_num_seqs=16, draft_tokens=4))
    with pytest.raises(InputError, match="acceptance_rate: must be between 0 and 1"):
        serve(trace, setup_of(max_num_seqs=4, draft_tokens=4, acceptance_rate=1.5))
