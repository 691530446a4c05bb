"""What is found again: prefixes, tails, outputs, order of eviction, memory limits and preemption."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest

from simcore.serving.result import ServingResult
from simcore.serving.serve import serve
from simcore.serving.setup import ServingSetup, StoreSetup
from simcore.serving.state import REASONS
from simcore.traces.load import read_trace
from simcore.traces.trace import Trace
from tests.simcore.serving.cases import UNIT, costs, one_by_one, setup_of, trace_of


def hits(blocks: list[str], pool_blocks: int = 100, **knobs: object) -> list[int]:
    """Tokens found in HBM when requests of one output token come one by one."""
    result = one_by_one(trace_of([(0, b, 1) for b in blocks]), setup_of(pool_blocks, **knobs))
    return [int(h) for h in result.hit_tokens[:, 0]]


def test_the_longest_leading_run() -> None:
    assert hits(["abc", "abd", "ab", "xbc", "abcd"]) == [0, 8, 8, 0, 12]


def test_a_full_match_may_compute_its_last_block_again() -> None:
    assert hits(["abc", "abc"]) == [0, 12]
    assert hits(["abc", "abc"], recompute_last=True) == [0, 8]
    assert hits(["abc", "abcd"], recompute_last=True) == [0, 12]  # not a full match


def test_a_full_match_still_computes_one_token() -> None:
    result = one_by_one(trace_of([(0, "abc", 1), (0, "abc", 1)]), setup_of())
    assert result.finish_s[1] - result.arrival_s[1] == pytest.approx(0.011)
    assert result.prefill_tokens == 12 + 1


def test_a_partly_filled_block_may_be_an_identity() -> None:
    trace = Trace.of([0.0, 0.0], [6, 6], [1, 1], [[0, 1], [0, 1]], UNIT)
    for partial, recompute, found in ((False, False, 4), (True, False, 6), (True, True, 4), (False, True, 4)):
        result = one_by_one(trace, setup_of(partial_block=partial, recompute_last=recompute))
        assert result.hit_tokens[1, 0] == found


def test_a_partly_filled_block_keeps_its_pages() -> None:
    trace = Trace.of([0.0], [6], [4], [[0, 1]], UNIT)  # 8 pages of blocks, 3 of the outputs that are computed on
    assert not serve(trace, setup_of(partial_block=True, pool_pages=11)).rejected[0]
    assert serve(trace, setup_of(partial_block=True, pool_pages=10)).rejected[0]
    assert not serve(trace, setup_of(partial_block=False, pool_pages=9)).rejected[0]


def test_outputs_can_be_reused() -> None:
    # 8 tokens of prompt, 9 of output: the 17th token is never computed on, 16 are: blocks c and d
    trace = trace_of([(0, "abcde", 11), (0, "abcdefg", 1), (0, "abcdefg", 1)], has_output_ids=True)
    assert trace.input_tokens.tolist() == [9, 27, 27]
    result = one_by_one(trace, setup_of(output_reuse=True))
    assert result.hit_tokens[:, 0].tolist() == [0, 16, 24]  # token 20 has no place yet, so block e is not whole
    assert one_by_one(trace, setup_of(output_reuse=False)).hit_tokens[:, 0].tolist() == [0, 8, 24]


def test_a_sequence_leaves_tail_first() -> None:
    # pool of 4: d needs room, the tail c of the first goes, not a
    assert hits(["abc", "de", "ab", "abc"], 4) == [0, 0, 8, 8]


def test_lru_fifo_and_sieve_differ() -> None:
    # pool of 3; b and a are used again before d comes: LRU gives up c, FIFO and SIEVE's hand meet a first
    blocks = ["a", "b", "c", "a", "d", "a"]
    assert hits(blocks, 3, hbm_policy="lru") == [0, 0, 0, 4, 0, 4]
    assert hits(blocks, 3, hbm_policy="fifo") == [0, 0, 0, 4, 0, 0]
    assert hits(blocks, 3, hbm_policy="sieve") == [0, 0, 0, 4, 0, 4]
    # SIEVE spared a, took b, and goes on from there
    assert hits(["a", "b", "c", "a", "d", "e", "a", "c"], 3, hbm_policy="sieve") == [0, 0, 0, 4, 0, 0, 4, 0]


def test_running_sequences_keep_their_blocks() -> None:
    # a runs for long; b and c pass through the other two blocks of the pool; then a's block is still there
    trace = trace_of([(0, "a", 5), (0.015, "b", 1), (0.03, "c", 1), (1, "a", 1)])
    for policy in ("lru", "fifo", "sieve"):
        result = serve(trace, setup_of(3, hbm_policy=policy))
        assert result.hit_tokens[3, 0] == 4, policy


def test_preemption_takes_the_one_admitted_last_and_recomputes() -> None:
    # 6 pages for two sequences of 2 blocks of 1 token and 3 more tokens each: 3 + 3 pages fit, then no more
    trace = Trace.of([0.0, 0.0], [2, 2], [4, 4], [[0, 1], [2, 3]], 1)
    setup = ServingSetup(pool_pages=6, page_tokens=1, unit_tokens=1, costs=costs(), max_num_seqs=4, max_num_batched_tokens=64)
    result = serve(trace, setup)
    assert result.preemptions.tolist() == [0, 1]
    # 14 ms prefill; 12 ms with both; the second goes. Two steps of 11 ms finish the first
    assert result.finish_s[0] == pytest.approx(0.014 + 0.012 + 2 * 0.011)
    # the second had computed 3 tokens and generated 2; the first needed the page of its last block, not that of its first:
    # 3 tokens of prefill, 2 of them again, and a decode step
    assert result.recomputed_tokens.tolist() == [0, 2]
    assert result.finish_s[1] == pytest.approx(0.048 + 0.013 + 0.011)
    assert result.stores["hbm"].readmission_hits == 1
    assert result.first_token_s.tolist() == pytest.approx([0.014, 0.014])
    assert result.stores["hbm"].lookups == 4
    assert result.stores["hbm"].readmission_lookups == 2


def test_reuse_after_preemption_is_not_counted_as_reuse() -> None:
    trace = Trace.of([0.0, 0.0], [4, 4], [9, 9], [[0, 1], [2, 3]], 2)
    setup = ServingSetup(pool_pages=16, page_tokens=1, unit_tokens=2, costs=costs(), max_num_seqs=4, max_num_batched_tokens=64)
    result = serve(trace, setup)
    assert result.preemptions.sum() == 1
    assert result.hit_tokens.sum() == 0
    assert result.stores["hbm"].hits == 0


@pytest.fixture(scope="module")
def conversation(shared: Path) -> Trace:
    return read_trace(shared / "traces" / "kv" / "mooncake_conversation.jsonl.zst")


def literature(blocks: int, **knobs: object) -> ServingSetup:
    """One pool, hits counted as the literature does."""
    given = {"pool_pages": 32 * blocks, "page_tokens": 16, "unit_tokens": 512, "partial_block": True}
    return setup_of(**{**given, "costs": costs(8192), "max_num_batched_tokens": 8192, "write_backlog_s": 1e6, **knobs})


@pytest.mark.parametrize(
    ("blocks", "published"),
    [(1_000, 0.045), (3_000, 0.065), (10_000, 0.212), (30_000, 0.326), (50_000, 0.355), (100_000, 0.364), (200_000, 0.366)],
)
def test_hit_ratios_of_a_real_trace(conversation: Trace, blocks: int, published: float) -> None:
    hbm = one_by_one(conversation, literature(blocks)).stores["hbm"]
    assert hbm.hits / hbm.lookups == pytest.approx(published, abs=0.001)


def test_lru_on_a_real_trace_block_by_block(conversation: Trace) -> None:
    trace = without_outputs(conversation)
    result = one_by_one(trace, literature(5_000))
    assert (result.hit_tokens[:, 0] == prefix_lru(trace, 5_000)).all()


def test_exclusive_tiers_are_one_long_lru(conversation: Trace) -> None:
    """Pool and exclusive tiers of together 10,000 blocks find what one pool of 10,000 does, wherever it lies."""
    trace = without_outputs(conversation)
    sizes = [(10_000,), (1_000, 9_000), (1_000, 4_000, 5_000)]
    found = []
    for pool, *rest in sizes:
        tiers = tuple(StoreSetup(name=f"t{k}", capacity_blocks=size) for k, size in enumerate(rest))
        found.append(one_by_one(trace, literature(pool, tiers=tiers)).hit_tokens)
    assert (found[1].sum(1) == found[0].sum(1)).all()
    assert (found[2].sum(1) == found[0].sum(1)).all()
    assert (found[2][:, 0] == found[1][:, 0]).all()


def without_outputs(trace: Trace) -> Trace:
    """The trace with outputs of one token, which take no memory."""
    blocks = (np.asarray(trace.block_start), np.asarray(trace.block_ids))
    return Trace.of(trace.arrival_s, trace.input_tokens, np.ones(trace.n, np.int32), blocks, trace.granule_tokens)


def prefix_lru(trace: Trace, blocks: int) -> np.ndarray:
    """Tokens found by an LRU of so many blocks, a prompt's blocks being used last to first."""
    order: OrderedDict[int, None] = OrderedDict()
    found = np.zeros(trace.n, np.int64)
    for i in range(trace.n):
        ids = trace.prompt_blocks(i).tolist()
        run = next((k for k, block in enumerate(ids) if block not in order), len(ids))
        found[i] = min(run * trace.granule_tokens, trace.input_tokens[i])
        for block in reversed(ids):
            order[block] = None
            order.move_to_end(block)
        while len(order) > blocks:
            order.popitem(last=False)
    return found


def missing(result: ServingResult) -> list[dict[str, int]]:
    """Of each request, the tokens that were not found, by reason."""
    return [{name: int(n) for name, n in zip(REASONS, row, strict=True) if n} for row in result.missed_tokens]


def test_why_tokens_are_missing() -> None:
    noted = {"note_misses": True, "recompute_last": True}
    trace = trace_of([(0, "abc", 1), (0, "abc", 1), (0, "xyz", 1), (0, "abcd", 1)])
    first = {"first_use": 12}
    assert missing(one_by_one(trace, setup_of(**noted))) == [first, {"alignment": 4}, first, {"first_use": 4}]
    small = one_by_one(trace, setup_of(4, **noted))  # xyz drives out c and b
    assert missing(small) == [first, {"alignment": 4}, first, {"first_use": 4, "capacity": 8}]
    for policy, tier, reason in (("lru", {"write_backlog_s": 0.0}, "write_backlog"), ("static", {}, "write_refused")):
        slow = StoreSetup(name="dram", capacity_blocks=1, policy=policy, write_s_per_block=1000.0)
        below = one_by_one(trace, setup_of(4, tiers=[slow], **{"write_backlog_s": 1e5, **tier}, **noted))
        assert missing(below)[3] == {"first_use": 4, reason: 8}  # c went down, b did not: without it c cannot be reached


def test_a_block_that_another_replica_has_or_computes() -> None:
    trace = trace_of([(0, "abc", 1), (0, "abc", 1)])
    result = serve(trace, setup_of(replicas=2, max_num_batched_tokens=8, max_num_seqs=8, note_misses=True))
    assert missing(result) == [{"first_use": 12}, {"other_replica": 8, "in_flight": 4}]  # a step computes two of the blocks
    only = serve(trace_of([(0, "abc", 1), (0, "xyz", 1), (9, "xyz", 1)]), setup_of(replicas=2, note_misses=True))
    assert missing(only)[2] == {"other_replica": 12}


def test_a_run_that_is_not_loaded() -> None:
    tier = StoreSetup(name="dram", capacity_blocks=9)
    trace = trace_of([(0, "abc", 1), (0, "xyz", 1), (0, "abc", 1)])
    result = one_by_one(trace, setup_of(4, tiers=[tier], load_rule="never", note_misses=True))
    assert missing(result)[2] == {"not_loaded": 8}
