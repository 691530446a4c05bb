"""Reuse blocks and the reuse ceiling against naive twins, hand-worked cases and a real trace."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcore.errors import InputError
from simcore.traces.load import read_trace
from simcore.traces.reuse import ideal_hit, reuse_unit, units
from simcore.traces.trace import Trace


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    """Requests whose token streams share prefixes: streams over a small alphabet, cut at random lengths."""
    granule = draw(st.sampled_from([1, 2, 3]))
    with_output = draw(st.booleans())
    streams = draw(st.lists(st.lists(st.integers(0, 1), min_size=2, max_size=14), min_size=1, max_size=6))
    inputs = [draw(st.integers(1, len(s) - 1)) for s in streams]
    outputs = [len(s) - n for s, n in zip(streams, inputs, strict=True)]
    names: dict[tuple[int, ...], int] = {}
    blocks = []
    for stream, n in zip(streams, inputs, strict=True):
        covered = stream if with_output else stream[:n]
        ends = [*range(granule, len(covered), granule), len(covered)]
        blocks.append([names.setdefault(tuple(covered[:end]), len(names)) for end in ends])
    arrival = np.sort(draw(st.lists(st.integers(0, 9), min_size=len(streams), max_size=len(streams))))
    return Trace.of(arrival, inputs, outputs, blocks, granule, has_output_ids=with_output)


def naive_units(trace: Trace, unit: int, *, partial_block: bool, output: bool) -> tuple[list[list[int]], list[int]]:
    """Per request the granule ids that name its blocks, and how many of them lie in the prompt."""
    step = unit // trace.granule_tokens
    rows, prompts = [], []
    for i in range(trace.n):
        prompt = int(trace.input_tokens[i])
        covered = prompt + (int(trace.output_tokens[i]) if output and trace.has_output_ids else 0)
        ids = trace.block_ids[trace.block_start[i] : trace.block_start[i + 1]].tolist()
        row = [ids[(u + 1) * step - 1] for u in range(covered // unit)]
        inside = prompt // unit
        if partial_block and not trace.has_output_ids and prompt % unit:
            row.append(ids[-1])
            inside += 1
        rows.append(row)
        prompts.append(inside)
    return rows, prompts


def naive_ideal(trace: Trace, unit: int, *, partial_block: bool, output: bool, recompute_last: bool) -> list[tuple[int, int]]:
    rows, prompts = naive_units(trace, unit, partial_block=partial_block, output=output)
    seen: set[int] = set()
    found = []
    for row, inside, prompt in zip(rows, prompts, trace.input_tokens.tolist(), strict=True):
        hit = 0
        while hit < inside and row[hit] in seen:
            hit += 1
        if recompute_last and hit * unit >= prompt:
            hit -= 1
        found.append((hit, min(hit * unit, prompt)))
        seen.update(row)
    return found


@settings(max_examples=150)
@given(traces(), st.integers(1, 4), st.booleans(), st.booleans())
def test_units_equal_the_naive_twin(trace: Trace, factor: int, partial_block: bool, output: bool) -> None:
    unit = factor * trace.granule_tokens
    view = units(trace, unit, partial_block=partial_block, output=output)
    rows, prompts = naive_units(trace, unit, partial_block=partial_block, output=output)
    assert view.prompt_units.tolist() == prompts
    assert np.diff(view.start).tolist() == [len(row) for row in rows]
    flat = [v for row in rows for v in row]
    renamed = {old: new for new, old in enumerate(sorted(set(flat)))}
    assert view.ids.tolist() == [renamed[v] for v in flat]
    assert view.n_ids == len(renamed)
    assert (view.start.dtype, view.ids.dtype, view.prompt_units.dtype) == (np.int64, np.uint32, np.int32)


@settings(max_examples=150)
@given(traces(), st.integers(1, 4), st.booleans(), st.booleans(), st.booleans())
def test_ideal_hit_equals_the_naive_twin(
    trace: Trace, factor: int, partial_block: bool, output: bool, recompute_last: bool
) -> None:
    unit = factor * trace.granule_tokens
    options = {"partial_block": partial_block, "output": output, "recompute_last": recompute_last}
    ideal = ideal_hit(trace, unit, **options)
    assert list(zip(ideal.hit_units.tolist(), ideal.hit_tokens.tolist(), strict=True)) == naive_ideal(trace, unit, **options)
    assert ideal.prompt_tokens == trace.total_prompt_tokens
    assert 0 <= ideal.token_ratio < 1 or not recompute_last


def three() -> Trace:
    """Granule 4. A: 8 tokens; B: the same 8 and 3 more; C: exactly A again."""
    return Trace.of([0, 1, 2], [8, 11, 8], [1, 1, 1], [[0, 1], [0, 1, 2], [0, 1]], 4)


def test_worked_by_hand() -> None:
    ideal = ideal_hit(three(), partial_block=True, recompute_last=False)
    assert ideal.hit_units.tolist() == [0, 2, 2]
    assert (ideal.prompt_units, ideal.unit_ratio) == (7, 4 / 7)
    assert ideal.hit_tokens.tolist() == [0, 8, 8]
    engine = ideal_hit(three())  # whole blocks only; a prompt found whole computes its last block again
    assert engine.hit_units.tolist() == [0, 2, 1]
    assert (engine.prompt_units, engine.token_ratio) == (6, 12 / 27)
    wide = ideal_hit(three(), 8, recompute_last=False)
    assert wide.hit_units.tolist() == [0, 1, 1]
    assert wide.prompt_units == 3


def test_prompts_shorter_than_a_block_reuse_nothing() -> None:
    ideal = ideal_hit(three(), 16)
    assert (ideal.unit_ratio, ideal.token_ratio, ideal.prompt_units) == (0.0, 0.0, 0)


def test_reuse_unit_is_the_least_common_multiple() -> None:
    assert [reuse_unit(16, 512), reuse_unit(1024, 512), reuse_unit(48, 64)] == [512, 1024, 192]


def test_a_unit_that_cuts_granules_is_refused() -> None:
    with pytest.raises(InputError, match="must be a multiple of the trace's granule of 4 tokens; got 6"):
        units(three(), 6, partial_block=False, output=False)


def test_mooncake_ceiling(shared: Path) -> None:
    trace = read_trace(shared / "traces/kv/mooncake_conversation.jsonl.zst")
    ideal = ideal_hit(trace, partial_block=True, recompute_last=False)
    assert (int(ideal.hit_units.sum()), ideal.prompt_units) == (288_500 - 182_790, 288_500)
    assert round(ideal.unit_ratio, 4) == 0.3664
    assert (ideal.hit_units == 0).sum() == 1  # all but the first begin with the same block


def test_blocks_too_large_to_count_are_refused() -> None:
    assert reuse_unit(2**61, 512) == 2**61
    with pytest.raises(InputError, match="block_size: is too large with granules of 512 tokens; got 99999999999999999"):
        reuse_unit(99999999999999999, 512)
