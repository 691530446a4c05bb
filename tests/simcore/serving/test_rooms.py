"""Contiguous memory against pages: the study that introduced paging, and regions by hand."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from simcore.errors import InputError
from simcore.serving.serve import serve
from simcore.serving.setup import StoreSetup
from simcore.traces.trace import Trace
from tests.simcore.serving.cases import costs, setup_of, trace_of

FIGURE_2 = {"max": 0.204, "pow2": 0.268, "oracle": 0.382, "paged": 0.963}
"""Kwon et al., arXiv 2309.06180, Fig. 2: share of KV memory that holds token states under Orca (Max, Pow2, Oracle) and vLLM."""


def sharegpt_like(n: int = 400) -> Trace:
    """Unrelated requests of ShareGPT's mean lengths in that paper (Fig. 11: 161 and 338 tokens), at most 2,048 together."""
    rng = np.random.default_rng(0)
    prompt = np.clip(rng.lognormal(np.log(161) - 0.5, 1.0, n), 4, 1024).astype(int)
    output = np.clip(rng.lognormal(np.log(338) - 0.32, 0.8, n), 4, 1023).astype(int)
    blocks = np.cumsum(np.concatenate(([0], -(-prompt // 16))))
    ids = [range(start, end) for start, end in pairwise(blocks)]
    return Trace.of(np.zeros(n), prompt, output, ids, 16)


def shares() -> dict[str, float]:
    found = {}
    for allocation in FIGURE_2:
        setup = setup_of(
            pool_blocks=0,
            pool_pages=15_700 // 16,  # Table 1: 12 GB for OPT-13B on an A100 with 40 GB
            page_tokens=16,
            unit_tokens=16,
            max_model_len=2048,
            allocation=allocation,
            costs=costs(2048),
            max_num_batched_tokens=2048,
            max_num_seqs=256,
        )
        result = serve(sharegpt_like(), setup)
        found[allocation] = result.full_tokens / (result.full_steps * setup.pool_pages * 16)
    return found


def test_the_order_of_the_paging_study() -> None:
    found = shares()
    assert sorted(found, key=lambda name: found[name]) == list(FIGURE_2)
    for allocation, published in FIGURE_2.items():
        assert found[allocation] == pytest.approx(published, abs=0.03), allocation


def test_regions_are_powers_of_two() -> None:
    """Of 20 pages in regions of 8, 8 and 4: requests of 5 tokens fit twice into the eights and not into the four."""
    trace = trace_of([(0, "a", 1), (0, "b", 1), (0, "c", 1)])
    result = serve(trace, setup_of(pool_blocks=5, allocation="oracle"))
    assert result.queue_s == pytest.approx([0, 0, 0.018])
    assert serve(trace, setup_of(pool_blocks=6, allocation="oracle")).queue_s.tolist() == [0, 0, 0]  # 8, 8, 8
    assert serve(trace_of([(0, "abcd", 1)]), setup_of(pool_blocks=7, allocation="oracle")).rejected.all()  # 32 of 28
    assert not serve(trace_of([(0, "abcd", 1)]), setup_of(pool_blocks=8, allocation="oracle")).rejected.any()


def test_what_is_reserved() -> None:
    """Prompt 4, output 5: 9 tokens, or 4 + 8 = 12 when rounded, or the limit."""
    trace = trace_of([(0, "a", 5), (0, "b", 5)])

    def waits(pages: int, allocation: str, limit: int) -> bool:
        setup = setup_of(pool_blocks=0, pool_pages=pages, allocation=allocation, max_model_len=limit)
        return bool(serve(trace, setup).queue_s[1] > 0)

    assert [waits(pages, "oracle", 40) for pages in (16, 32)] == [True, False]
    assert [waits(pages, "pow2", 40) for pages in (16, 32)] == [True, False]
    assert [waits(pages, "max", 40) for pages in (64, 128)] == [True, False]


def test_nothing_is_shared() -> None:
    result = serve(trace_of([(0, "ab", 1), (1, "ab", 1)]), setup_of(allocation="oracle"))
    assert result.hit_tokens.sum() == 0
    assert result.prefill_tokens == 16


def test_refusals() -> None:
    trace = trace_of([(0, "a", 1)])
    with pytest.raises(InputError, match="max_model_len: must be given with allocation max"):
        serve(trace, setup_of(allocation="max"))
    with pytest.raises(InputError, match="allocation: needs a pool without tiers below"):
        serve(trace, setup_of(allocation="pow2", tiers=[StoreSetup(name="dram", capacity_blocks=4)]))
    with pytest.raises(InputError, match="hbm_quota_blocks: needs allocation paged"):
        serve(trace, setup_of(allocation="oracle", hbm_quota_blocks=(4,)))
