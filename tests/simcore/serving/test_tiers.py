"""Tiers below HBM by hand: who holds a block, when it is usable, whether it is loaded.

Blocks of 4 tokens, requests of one output token, so a lone request of b blocks to compute takes 10 + 4 b ms.
"""

from __future__ import annotations

from typing import Any

import pytest

from simcore.errors import InputError
from simcore.serving.result import ServingResult
from simcore.serving.serve import serve
from simcore.serving.setup import StoreSetup
from tests.simcore.serving.cases import costs, one_by_one, setup_of, trace_of


def tier(name: str = "dram", capacity_blocks: int = 100, **fields: Any) -> StoreSetup:
    return StoreSetup(name=name, capacity_blocks=capacity_blocks, **fields)


def run(blocks: list[str], pool_blocks: int, *tiers: StoreSetup, **knobs: Any) -> ServingResult:
    return one_by_one(trace_of([(0, b, 1) for b in blocks]), setup_of(pool_blocks, tiers=tiers, **knobs))


def found(result: ServingResult) -> list[list[int]]:
    """Blocks found by request and tier."""
    return (result.hit_tokens // 4).tolist()


def test_exclusive_takes_victims_and_gives_them_back() -> None:
    result = run(["ab", "cd", "ab"], 2, tier())
    assert found(result) == [[0, 0], [0, 0], [0, 2]]
    hbm, dram = result.stores["hbm"], result.stores["dram"]
    assert (hbm.in_computed, hbm.in_loaded, hbm.out_evicted, hbm.out_dropped) == (4, 2, 4, 0)
    assert (dram.in_demoted, dram.out_promoted, dram.resident_blocks) == (4, 2, 2)
    assert (dram.lookups, dram.hits, dram.misses) == (6, 2, 4)
    host, link = result.links["host"], result.links["dram"]
    assert (host.written_blocks, host.read_blocks, link.written_blocks, link.read_blocks) == (4, 2, 4, 2)


def test_inclusive_gets_a_copy_when_a_block_is_completed_and_keeps_it() -> None:
    result = run(["ab", "cd", "ab"], 2, tier(placement="inclusive"))
    assert found(result) == [[0, 0], [0, 0], [0, 2]]
    hbm, dram = result.stores["hbm"], result.stores["dram"]
    assert (hbm.out_evicted, hbm.out_dropped) == (4, 0)  # a copy is below
    assert (dram.in_written, dram.in_demoted, dram.out_promoted, dram.resident_blocks) == (4, 0, 0, 4)


def test_inclusive_takes_no_victims() -> None:
    # the tier of one block keeps only the last one completed; a victim of HBM without a copy is lost
    result = run(["a", "b", "c", "a"], 2, tier(capacity_blocks=1, placement="inclusive"))
    assert found(result) == [[0, 0], [0, 0], [0, 0], [0, 0]]
    assert result.stores["hbm"].out_dropped == 2


def test_a_victim_goes_to_the_first_exclusive_tier_and_pushes_on() -> None:
    tiers = tier("dram", 1), tier("nvme", 1)
    result = run(["a", "b", "c", "d", "a"], 1, *tiers)
    # HBM d; dram c; nvme b; a fell out
    assert found(result) == [[0, 0, 0]] * 5
    result = run(["a", "b", "c", "d", "c", "b"], 1, *tiers)
    # c comes up from dram, d goes down and stays; b is still in nvme
    assert found(result)[4:] == [[0, 1, 0], [0, 0, 1]]
    assert result.stores["dram"].out_dropped == 0
    assert result.stores["nvme"].out_dropped == 1
    assert result.links["host"].written_blocks == 5 and result.links["nvme"].written_blocks == 3


def test_a_victim_skips_inclusive_tiers_and_stops_at_a_copy() -> None:
    # dram (inclusive, 1 block) holds the last completed; what it pushes out goes to nvme
    tiers = tier("dram", 1, placement="inclusive"), tier("nvme", 9)
    result = run(["a", "b", "c"], 1, *tiers)
    dram, nvme = result.stores["dram"], result.stores["nvme"]
    # a leaves HBM while its copy is in dram; b's copy pushes a's to nvme; the same for b and c
    assert (result.stores["hbm"].out_evicted, dram.in_written, dram.out_evicted, nvme.in_demoted) == (2, 3, 2, 2)
    assert found(run(["a", "b", "c", "a"], 1, *tiers))[3] == [0, 0, 1]


def test_write_through_goes_to_every_inclusive_tier() -> None:
    result = run(["ab"], 9, tier("dram", placement="inclusive"), tier("cxl"), tier("nvme", placement="inclusive"))
    assert [result.stores[name].in_written for name in ("dram", "cxl", "nvme")] == [2, 0, 2]
    assert result.links["host"].written_blocks == 2  # the second copy is made from the first


def test_a_copy_of_a_copy_starts_when_that_is_usable() -> None:
    # done at 14 ms; 1 s over the host link, 2 s into dram, usable 0.5 s later, then 4 s into nvme
    dram = tier("dram", 1, placement="inclusive", write_s_per_block=2.0, write_latency_s=0.5)
    nvme = tier("nvme", placement="inclusive", write_s_per_block=4.0)
    trace = trace_of([(0, "a", 1), (0, "x", 1), (0.5, "a", 1)])
    result = serve(trace, setup_of(1, tiers=(dram, nvme), host_link_write_s_per_block=1.0, write_backlog_s=99.0))
    # x pushes a out of HBM and, 3.514 s later than it was, out of dram
    assert found(result)[2] == [0, 0, 1]
    assert result.arrival_s[2] + result.load_s[2] == pytest.approx(0.014 + 7.5, abs=1e-3)


def test_write_back_keeps_its_copy_when_it_is_loaded() -> None:
    back = tier(placement="inclusive", write_policy="write_back")
    result = run(["ab", "cd", "ab", "cd"], 2, back)
    assert found(result) == [[0, 0], [0, 0], [0, 2], [0, 2]]
    hbm, dram = result.stores["hbm"], result.stores["dram"]
    assert (dram.in_demoted, dram.in_written, dram.out_promoted, dram.resident_blocks) == (4, 0, 0, 4)
    assert hbm.out_evicted == 6 and result.links["dram"].written_blocks == 4  # a and b are still below when they leave again


@pytest.mark.parametrize(("uses", "expected"), [(1, 2), (2, 1), (3, 0)])
def test_selective_copies_what_enough_requests_have_used(uses: int, expected: int) -> None:
    selective = tier(placement="inclusive", write_policy="write_through_selective", write_after_uses=uses)
    # a is used twice, b once before cd push them out
    result = run(["ab", "a", "cd", "ab"], 2, selective)
    assert found(result)[3] == [0, expected]
    assert result.stores["dram"].in_written == {1: 4 + 0, 2: 1, 3: 0}[uses]


def test_uses_are_those_since_the_block_came_into_hbm() -> None:
    selective = tier(placement="inclusive", write_policy="write_through_selective", write_after_uses=2)
    assert run(["a", "b", "a", "b", "a"], 1, selective).stores["dram"].in_written == 0
    assert run(["a", "a", "b", "b"], 1, selective).stores["dram"].in_written == 2


def test_the_write_policy_moves_the_hits() -> None:
    """Of HBM 2 and dram 3 blocks: who gets in decides."""
    asked = ["a", "a", "b", "c", "d", "e", "a"]
    hits = {
        policy: int(run(asked, 1, tier(capacity_blocks=3, placement="inclusive", write_policy=policy)).hit_tokens[:, 1].sum())
        for policy in ("write_back", "write_through", "write_through_selective")
    }
    assert hits == {"write_back": 0, "write_through": 0, "write_through_selective": 4}
    asked = ["a", "b", "a", "c", "d", "b"]
    hits = {
        policy: int(run(asked, 2, tier(capacity_blocks=2, placement="inclusive", write_policy=policy)).hit_tokens[:, 1].sum())
        for policy in ("write_back", "write_through", "write_through_selective")
    }
    assert hits == {"write_back": 4, "write_through": 0, "write_through_selective": 0}


def test_an_exclusive_tier_holds_no_copies() -> None:
    for policy in ("write_through", "write_through_selective"):
        with pytest.raises(InputError, match="must be write_back where placement is exclusive") as caught:
            run(["a"], 1, tier(write_policy=policy))
        assert caught.value.path == "tiers.0.write_policy"


def test_a_shared_tier_serves_other_replicas() -> None:
    for shared, expected in ((True, [0, 2]), (False, [0, 0])):
        result = run(["ab", "ab"], 9, tier(placement="inclusive", shared=shared), replicas=2)
        assert found(result)[1] == expected
        assert result.stores["dram"].capacity_blocks == (100 if shared else 200)
        assert result.links["dram"].links == (1 if shared else 2)
        assert result.links["host"].links == 2


@pytest.mark.parametrize(("later", "blocks", "wait"), [(0.0, 0, 0.0), (9.99, 0, 0.0), (10.0, 2, 1.0), (10.25, 2, 0.75)])
def test_a_copy_is_made_when_the_step_that_computes_the_block_has_ended(later: float, blocks: int, wait: float) -> None:
    # replica 0 computes from 0 to 10 s, then writes for 1 s; replica 1 is asked for the same
    trace = trace_of([(0, "ab", 1), (later, "ab", 1)])
    shared = tier(placement="inclusive", shared=True, write_s_per_block=0.5)
    slow = costs(lin_s=10.0, per_token_s=0.0)
    result = serve(trace, setup_of(9, tiers=(shared,), replicas=2, costs=slow, write_backlog_s=1.0))
    assert found(result) == [[0, 0], [0, blocks]]
    assert result.load_s[1] == pytest.approx(wait)
    assert result.stores["dram"].in_written == 2  # where both compute it, the first copy stands


def test_each_step_of_a_prompt_copies_what_it_has_completed() -> None:
    # steps of two blocks, 18 ms each; replica 1 is asked during the second
    trace = trace_of([(0, "abcd", 1), (0.02, "abcd", 1)])
    shared = tier(placement="inclusive", shared=True)
    knobs = {"max_num_seqs": 8, "max_num_batched_tokens": 8, "costs": costs(8), "replicas": 2}
    assert found(serve(trace, setup_of(9, tiers=(shared,), **knobs)))[1] == [0, 2]


def test_copies_of_a_prompt_come_before_those_of_an_output() -> None:
    # the step that computes c is the last of the first request, whose output completes a; the link takes one block
    trace = trace_of([(0, "ab", 5), (0.04, "cd", 1), (1, "wxyz", 1), (2, "ab", 1), (3, "cd", 1)], has_output_ids=True)
    assert trace.input_tokens.tolist() == [3, 7, 15, 7, 7]
    inclusive = tier(placement="inclusive", write_s_per_block=0.1)
    result = serve(trace, setup_of(4, tiers=(inclusive,), output_reuse=True, write_backlog_s=0.0))
    assert result.finish_s[0] == result.finish_s[1]
    assert found(result)[3:] == [[0, 0], [0, 1]]


def test_a_load_passes_both_links_block_by_block() -> None:
    slow = tier(read_s_per_block=0.003, read_latency_s=0.1)
    link = {"host_link_read_s_per_block": 0.002, "host_link_latency_s": 0.01}
    result = run(["abcd", "wxyz", "abcd"], 4, slow, **link)
    # 4 blocks at 3 ms, the last then 2 ms on the host link, then both latencies; then the one token of a full match
    assert result.load_s[2] == pytest.approx(4 * 0.003 + 0.002 + 0.11)
    assert result.first_token_s[2] - result.arrival_s[2] == pytest.approx(0.124 + 0.011)
    # with the host link the slower one, the first block waits for the tier's link only once
    link["host_link_read_s_per_block"] = 0.005
    assert run(["abcd", "wxyz", "abcd"], 4, slow, **link).load_s[2] == pytest.approx(0.003 + 4 * 0.005 + 0.11)


def test_loads_queue_on_a_link() -> None:
    trace = trace_of([(0, "ab", 1), (1, "cd", 1), (2, "wxyz", 1), (9, "ab", 1), (9, "cd", 1)])
    result = serve(trace, setup_of(4, tiers=(tier(read_s_per_block=0.05),)))
    assert result.load_s[3:] == pytest.approx([0.1, 0.2])


def test_others_run_while_a_load_is_on_the_way() -> None:
    trace = trace_of([(0, "ab", 1), (1, "wxyz", 1), (9, "ab", 1), (9.01, "u", 1)])
    result = serve(trace, setup_of(4, tiers=(tier(read_s_per_block=0.5),)))
    assert result.first_token_s[2:] == pytest.approx([10.0 + 0.011, 9.01 + 0.014])


def test_whoever_needs_a_block_on_its_way_waits_for_it() -> None:
    trace = trace_of([(0, "ab", 1), (1, "wxyz", 1), (9, "ab", 1), (9.5, "abu", 1)])
    result = serve(trace, setup_of(4, tiers=(tier(read_s_per_block=0.5),)))
    assert result.load_s[2:] == pytest.approx([1.0, 0.5])
    assert result.hit_tokens[3].tolist() == [8, 0]  # it is HBM's by then
    assert result.links["dram"].read_blocks == 2


def test_a_block_is_not_loaded_before_it_was_written() -> None:
    slow = tier(write_s_per_block=2.0, write_latency_s=0.5)
    trace = trace_of([(0, "a", 1), (1, "b", 1), (2, "a", 1)])
    result = serve(trace, setup_of(1, tiers=(slow,), host_link_write_s_per_block=0.25, write_backlog_s=9.0))
    # evicted at 1 s: 0.25 s on the host link, 2 s on the tier's, 0.5 s latency
    assert result.load_s[2] == pytest.approx(1 + 0.25 + 2.0 + 0.5 - 2)


def test_a_write_that_would_wait_too_long_is_dropped() -> None:
    slow = tier(write_s_per_block=0.2, placement="inclusive")
    result = run(["abcdef"], 9, slow, write_backlog_s=0.5)
    # waits of 0, 0.2, 0.4 s are fine, 0.6 s is not
    dram = result.stores["dram"]
    assert (dram.in_written, dram.writes_refused) == (3, 3)
    # the host link counts too, from HBM
    result = run(["abcdef"], 9, tier(placement="inclusive"), host_link_write_s_per_block=0.2, write_backlog_s=0.5)
    assert result.stores["dram"].writes_refused == 3


def test_a_refused_victim_is_lost() -> None:
    result = run(["abcd", "wxyz"], 4, tier(write_s_per_block=0.2), write_backlog_s=0.3)
    hbm, dram = result.stores["hbm"], result.stores["dram"]
    assert (hbm.out_evicted, hbm.out_dropped, dram.in_demoted, dram.writes_refused) == (2, 2, 2, 2)


def test_never_and_always() -> None:
    for rule, expected in (("always", [0, 2]), ("never", [0, 0])):
        result = run(["ab", "cd", "ab"], 2, tier(), load_rule=rule)
        assert found(result)[2] == expected


@pytest.mark.parametrize(("minimum", "expected"), [(8, 2), (9, 0)])
def test_threshold_on_tokens(minimum: int, expected: int) -> None:
    result = run(["ab", "cd", "ab"], 2, tier(), load_rule="threshold", min_load_tokens=minimum, max_waiting=1)
    assert found(result)[2] == [0, expected]


@pytest.mark.parametrize(("waiting", "expected"), [(3, 2), (2, 0)])
def test_threshold_on_the_queue(waiting: int, expected: int) -> None:
    trace = trace_of([(0, "ab", 1), (1, "cd", 1), (2, "ab", 1), (2, "w", 1), (2, "x", 1)])
    rule = {"load_rule": "threshold", "max_waiting": waiting}
    assert serve(trace, setup_of(4, tiers=(tier(),), **rule)).hit_tokens[2].sum() == 8  # in HBM: no question
    result = serve(trace, setup_of(2, tiers=(tier(),), **rule))
    assert found(result)[2] == [0, expected]  # itself and two behind it


def test_cheaper_weighs_load_against_compute() -> None:
    # 2 of 3 blocks: computing them takes 8 ms more, plus their attention: 1 + ... + 8 = 36 pairs of 0.1 ms
    for per_block, pair_s, expected in ((0.004, 0.0, 2), (0.0041, 0.0, 0), (0.0058, 1e-4, 2), (0.0059, 1e-4, 0)):
        knobs = {"load_rule": "cheaper", "costs": costs(pair_s=pair_s)}
        result = run(["ab", "cde", "abx"], 3, tier(read_s_per_block=per_block), **knobs)
        assert found(result)[2] == [0, expected]
    # latency and the other link count
    for knobs in ({"host_link_latency_s": 0.0041}, {"host_link_read_s_per_block": 0.0041}):
        result = run(["ab", "cde", "abx"], 3, tier(read_s_per_block=0.002), load_rule="cheaper", **knobs)
        assert found(result)[2] == [0, 0]


def test_cheaper_sees_the_queue_of_the_link() -> None:
    trace = trace_of([(0, "ab", 1), (1, "cd", 1), (2, "wxyz", 1), (9, "ab", 1), (9, "cd", 1)])
    result = serve(trace, setup_of(4, tiers=(tier(read_s_per_block=0.003),), load_rule="cheaper"))
    # 6 ms against 8 - 1 ms for the first; the second would be done after 12 ms
    assert found(result)[3:] == [[0, 2], [0, 0]]


@pytest.mark.parametrize(("later", "expected"), [(0.0, 1), (0.0129, 1), (0.0131, 0)])
def test_cheaper_does_not_charge_the_load_for_what_recomputing_waits_for_too(later: float, expected: int) -> None:
    # a ... f are under way for 22 ms, against 23 ms to compute them. Without loading g its request waits for them as well, then
    # computes for 3 ms more; g takes 12 ms, or 14 ms with f right before it on the link
    trace = trace_of([(0, "abcdefg", 1), (1, "stuvwxyz", 1), (9, "abcdef", 1), (9 + later, "abcdefg", 1)])
    dram = tier(read_s_per_block=0.002, read_latency_s=0.01)
    assert found(serve(trace, setup_of(8, tiers=(dram,), load_rule="cheaper")))[2:] == [[0, 6], [6, expected]]


def test_not_loading_cuts_the_run_at_the_first_block_below() -> None:
    # x takes the room of c, the tail
    assert found(run(["abc", "x", "abc"], 3, tier(), load_rule="always"))[2] == [2, 1]
    assert found(run(["abc", "x", "abc"], 3, tier(), load_rule="never"))[2] == [2, 0]
    # FIFO gives up a, the head: without it b and c in HBM are of no use
    assert found(run(["abc", "x", "abc"], 3, tier(), load_rule="always", hbm_policy="fifo"))[2] == [2, 1]
    assert found(run(["abc", "x", "abc"], 3, tier(), load_rule="never", hbm_policy="fifo"))[2] == [0, 0]


def test_policies_of_tiers_are_their_own() -> None:
    blocks = ["a", "b", "c", "a", "d", "e", "a"]
    lru, fifo = (
        run(blocks, 1, tier(capacity_blocks=3, placement="inclusive", policy=policy)).hit_tokens.sum(0)
        for policy in ("lru", "fifo")
    )
    assert lru[1] == 8 and fifo[1] == 4  # the hit on a keeps it in one and not in the other


# Of "abcdef", ab are computed again and cd ... are loaded for 12 or 40 ms; ef take 18 ms to compute.


@pytest.mark.parametrize(
    ("overlap", "per_block_ms", "first_ms"),
    [
        ("none", 3, 12 + 18),
        ("layer", 3, 18 + 12 / 4),
        ("full", 3, 18),
        ("none", 10, 40 + 18),
        ("layer", 10, 40 + 18 / 4),
        ("full", 10, 40),
    ],
)
def test_overlap_of_a_load_with_the_prefill_behind_it(overlap: str, per_block_ms: float, first_ms: float) -> None:
    slow = tier(read_s_per_block=per_block_ms / 1000)
    result = run(["abcd", "uvwxyz", "abcdef"], 6, slow, overlap=overlap, layers=4)
    assert found(result)[2] == [0, 4]
    assert 1000 * (result.first_token_s[2] - result.arrival_s[2]) == pytest.approx(first_ms)
    assert 1000 * result.load_s[2] == pytest.approx(4 * per_block_ms if overlap == "none" else first_ms - 18)
    assert 1000 * result.prefill_s[2] == pytest.approx(18)


def test_layers_hold_up_the_whole_step() -> None:
    """Who decodes meanwhile gets on without overlap, and waits for the layers with it."""
    trace = trace_of([(0, "ab", 1), (1, "wxyz", 1), (8.95, "u", 12), (9, "ab", 1)])
    ends = [
        serve(trace, setup_of(7, tiers=(tier(read_s_per_block=0.5),), overlap=overlap)).finish_s[2]
        for overlap in ("none", "full")
    ]
    assert ends[0] < 9.1 and ends[1] > 10


def test_cheaper_knows_what_overlap_hides() -> None:
    # 2 of 6 blocks: 8 ms more to compute them, 24 ms for the rest; loading takes 30 ms
    slow = tier(read_s_per_block=0.015)
    for overlap, expected in (("none", 0), ("full", 2)):
        result = run(["ab", "uvwxyz", "abcdef"], 6, slow, overlap=overlap, load_rule="cheaper")
        assert found(result)[2] == [0, expected]


def queued(arrival_s: float, **knobs: Any) -> ServingResult:
    """When ab is asked for again it is in nvme, 0.1 s a block away, and another request has the only seat until 3.344 s."""
    trace = trace_of([(0, "ab", 1), (1, "cdefghijkl", 1), (2, "mnopqrstuv", 1), (3, "z", 31), (arrival_s, "ab", 1)])
    tiers = tier("dram", 10), tier("nvme", read_s_per_block=0.1)
    return serve(trace, setup_of(10, tiers=tiers, max_num_seqs=1, **knobs))


def test_prefetch_uses_the_time_in_the_queue() -> None:
    without, fetched = queued(3.01), queued(3.01, prefetch="wait")
    assert fetched.finish_s[3] == without.finish_s[3] == pytest.approx(3.344)
    assert found(without)[4] == [0, 0, 2] and without.load_s[4] == pytest.approx(0.2)
    assert found(fetched)[4] == [0, 2, 0] and fetched.load_s[4] == 0
    assert (fetched.stores["dram"].in_loaded, fetched.stores["nvme"].out_promoted) == (2, 2)
    assert fetched.links["nvme"].read_blocks == 2 and fetched.links["host"].read_blocks == 2


@pytest.mark.parametrize(
    ("rule", "timeout_s", "blocks", "load_s"),
    [
        ("wait", 0, 2, 0.45 - 0.344),
        ("best_effort", 0, 0, 0),
        ("timeout", 0.12, 1, 0.35 - 0.344),
        ("timeout", 0.25, 2, 0.45 - 0.344),
    ],
)
def test_what_is_not_there_when_its_request_is_scheduled(rule: str, timeout_s: float, blocks: int, load_s: float) -> None:
    result = queued(3.25, prefetch=rule, prefetch_timeout_s=timeout_s)
    assert found(result)[4] == [0, blocks, 0]
    assert result.load_s[4] == pytest.approx(load_s, abs=1e-9)


def test_best_effort_finds_nothing_where_nobody_waits() -> None:
    """As SGLang has it: a request that can be scheduled ends its prefetch at once, however much is below."""
    result = queued(9, prefetch="best_effort")
    assert found(result)[4] == [0, 0, 0] and result.links["nvme"].read_blocks == 2


def test_an_inclusive_tier_keeps_what_is_prefetched() -> None:
    trace = trace_of([(0, "ab", 1), (1, "cd", 1), (2, "ef", 1), (3, "ab", 1)])
    tiers = tier("dram", 2), tier("nvme", placement="inclusive")
    result = serve(trace, setup_of(2, tiers=tiers, prefetch="wait"))
    assert found(result)[3] == [0, 2, 0]
    assert (result.stores["nvme"].out_promoted, result.stores["nvme"].resident_blocks) == (0, 6)


def test_prefetch_needs_somewhere_to_fetch_to() -> None:
    with pytest.raises(InputError, match="prefetch: needs two tiers below HBM"):
        run(["a"], 1, tier(), prefetch="wait")


@pytest.mark.parametrize(
    ("start", "persistent", "expected"),
    [("cold", True, [0, 0]), ("warm", False, [2, 0]), ("restart", True, [0, 2]), ("restart", False, [0, 0])],
)
def test_what_a_start_leaves(start: str, persistent: bool, expected: list[int]) -> None:
    result = run(["ab"], 9, tier(placement="inclusive", persistent=persistent), start=start)
    assert found(result) == [expected]
    assert result.stores["dram"].at_start == (2 if start == "warm" or (start, persistent) == ("restart", True) else 0)
    assert result.stores["hbm"].at_start == (2 if start == "warm" else 0)
    assert result.stores["hbm"].lookups == 2 and result.prefill_tokens == (8 if expected == [0, 0] else 1)


def test_a_share_of_the_requests_before() -> None:
    for share, expected in ((0.1, [1, 0, 0]), (0.34, [1, 1, 0]), (1.0, [1, 1, 1])):
        result = run(["a", "b", "c"], 9, start="warm", start_share=share)
        assert result.hit_tokens[:, 0].tolist() == [4 * blocks for blocks in expected]


def test_a_warm_store_goes_on_in_the_order_it_had() -> None:
    # a, b, a leave b the older in a pool of two
    result = one_by_one(trace_of([(0, blocks, 1) for blocks in "abacb"]), setup_of(2, start="warm", start_share=0.6))
    assert result.hit_tokens[:, 0].tolist() == [4, 4, 4, 0, 0]
    again = one_by_one(trace_of([(0, blocks, 1) for blocks in "abaca"]), setup_of(2, start="warm", start_share=0.6))
    assert again.hit_tokens[:, 0].tolist() == [4, 4, 4, 0, 4]


@pytest.mark.parametrize("share", [0.0, 1.1, float("nan")])
def test_a_share_is_a_share(share: float) -> None:
    with pytest.raises(InputError, match="start_share: must be above 0 and at most 1"):
        run(["a"], 1, start="warm", start_share=share)


def test_a_busy_link_answers_later() -> None:
    """Blocks of 0.25 ms: the busy share of the last millisecond grows by a quarter of what is left, 0, 1/4, 7/16, 37/64."""
    curve = ((0.25, 0.010), (0.5, 0.030), (1.0, 0.070))
    busy = tier(read_s_per_block=0.00025, read_latency_s=0.002, loaded_latency_s=curve)
    for blocks, latency_s in (("a", 0.002), ("ab", 0.010), ("abc", 0.025), ("abcd", 0.030 + 0.04 * (37 / 64 - 0.5) / 0.5)):
        result = run([blocks, "wxyz", blocks], len("wxyz"), busy)
        assert found(result)[2] == [0, len(blocks)]
        assert result.load_s[2] == pytest.approx(0.00025 * len(blocks) + latency_s, abs=1e-9)


def test_a_link_left_alone_answers_soon_again() -> None:
    """4 blocks of 0.25 ms leave it busy for 175/256; half a millisecond later half of that is left, later nothing."""
    curve = ((1.0, 1.0),)
    busy = tier("dram", read_s_per_block=0.00025, loaded_latency_s=curve)
    for gap_s, share in ((0.0, 175 / 256), (0.0005, 175 / 512), (0.001, 0.0), (1.0, 0.0)):
        # all eight are in dram; p loads four blocks at 2 s, q one of its own `gap_s` after the last of them has passed
        trace = trace_of([(0, "abcd", 1), (0, "e", 1), (1, "wxyz", 1), (1, "uvst", 1), (2, "abcd", 1), (2.001 + gap_s, "e", 1)])
        result = serve(trace, setup_of(8, tiers=(busy,)))
        assert found(result)[4:] == [[0, 4], [0, 1]]
        assert result.load_s[5] == pytest.approx(0.00025 + share, abs=1 / 1024)


def test_loading_that_takes_long_on_a_busy_link_is_left() -> None:
    """The load rule sees the latency that the load will have: four blocks would arrive after 13 ms, computing them takes 16."""
    for latency_s, blocks in ((0.012, 4), (0.026, 0)):
        busy = tier(read_s_per_block=0.00025, loaded_latency_s=((37 / 64, latency_s),))
        result = run(["abcd", "wxyz", "abcd"], 4, busy, load_rule="cheaper", recompute_last=False)
        assert found(result)[2] == [0, blocks]


@pytest.mark.parametrize(
    "points",
    [((0.0, 1.0),), ((0.5, 1.0), (0.5, 2.0)), ((0.5, 2.0), (0.8, 1.0)), ((1.5, 1.0),), ((0.5, 0.001),), ((1.0, 4000.0),)],
)
def test_a_latency_that_does_not_grow_with_load_is_refused(points: tuple[tuple[float, float], ...]) -> None:
    with pytest.raises(InputError, match="loaded_latency_s"):
        tier(read_latency_s=0.01, loaded_latency_s=points).validate()
