"""Turns of conversations: as recorded, or derived from what a prompt begins with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simcore.traces.blocks import block_accesses
from simcore.traces.load import read_trace
from simcore.traces.trace import Trace
from simcore.traces.turns import turns
from tests.reference.turns import naive_turns


@given(seed=st.integers(0, 2**32 - 1), granule=st.integers(1, 3), has_output_ids=st.booleans())
def test_as_derived_by_comparing_all(seed: int, granule: int, has_output_ids: bool) -> None:
    rng = np.random.default_rng(seed)
    numbers: dict[tuple[int, ...], int] = {}
    blocks, inputs, outputs, prompts = [], [], [], []
    for _ in range(30):
        n, out = int(rng.integers(1, 6 * granule)), int(rng.integers(1, 4))
        tokens = rng.integers(0, 2, n + out if has_output_ids else n)
        ends = [*range(granule, len(tokens), granule), len(tokens)]
        blocks.append([numbers.setdefault(tuple(tokens[:end].tolist()), len(numbers)) for end in ends])
        inputs.append(n)
        outputs.append(out)
        prompts.append(blocks[-1][: n // granule])
    trace = Trace.of(np.arange(30), inputs, outputs, blocks, granule, has_output_ids=has_output_ids)
    assert turns(trace).tolist() == naive_turns(prompts, [len(ids) for ids in prompts])


def test_a_conversation_by_hand() -> None:
    #          system prompt   a           another     a again       the same prompt as the first of a
    prompts = [[0], [0, 1, 2], [0, 1], [0, 3, 4], [0, 1, 2, 5, 6], [0, 1, 2]]
    trace = Trace.of(range(6), [10 * len(ids) for ids in prompts], [1] * 6, prompts, 10)
    assert turns(trace).tolist() == [1, 1, 1, 1, 2, 2]
    # a granule that is not filled ends nobody's prompt
    short = Trace.of(range(2), [25, 40], [1, 1], [[0, 1, 2], [0, 1, 3, 4]], 10)
    assert turns(short).tolist() == [1, 2]


def test_recorded_sessions_and_chains_tell_the_turn() -> None:
    blocks = [[0], [0], [1], [0], [1]]
    given_sessions = Trace.of(range(5), [5] * 5, [1] * 5, blocks, 10, session=[7, 7, 3, 7, 3])
    assert turns(given_sessions).tolist() == [1, 2, 1, 3, 2]
    chained = Trace.of(range(5), [5] * 5, [1] * 5, blocks, 10, after=[-1, -1, 0, 2, 1])
    assert turns(chained).tolist() == [1, 1, 2, 3, 2]


def test_categories_are_tenants_and_turns_up_to_the_eighth() -> None:
    session = [0] * 10 + [1, 1] + [2]
    tenant = [1] * 10 + [2_000_000_000] * 2 + [0]
    trace = Trace.of(range(13), [5] * 13, [1] * 13, [[0]] * 13, 10, session=session, tenant=tenant)
    category = block_accesses(trace, None).category
    assert category is not None and category.tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 8, 8, 9, 10, 0]


def test_turns_of_the_published_trace(shared: Path) -> None:
    trace = read_trace(shared / "traces/kv/mooncake_conversation.jsonl.zst")
    found = turns(trace)
    assert np.bincount(np.minimum(found, 8)).tolist() == [0, 8056, 2032, 799, 397, 218, 132, 86, 311]
    for block_size in (None, 2048):  # a turn does not depend on the blocks of a cache
        accesses = block_accesses(trace, block_size)
        assert accesses.request_start is not None and accesses.category is not None
        assert np.array_equal(accesses.category[accesses.request_start[:-1]], np.minimum(found, 8) - 1)
