"""`Accesses`: parts of it, the next use, blocks of request traces, batches and in-batch deduplication."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcore.errors import InputError
from simcore.traces import accesses as accesses_module
from simcore.traces.accesses import Accesses, next_use
from simcore.traces.batches import batched, deduplicated
from simcore.traces.blocks import block_accesses
from simcore.traces.load import read_trace
from simcore.traces.trace import Trace

KEYS = st.lists(st.integers(0, 6), min_size=1, max_size=60)


def grouped(keys: list[int], lengths: list[int]) -> Accesses:
    """Requests of the given lengths (cut or filled up to fit the keys), with every column."""
    ends = [end for end in np.cumsum([0, *lengths]).tolist() if end <= len(keys)]
    m = len(keys)
    return Accesses.of(
        keys,
        request_start=np.array([*ends, m] if ends[-1] < m or len(ends) == 1 else ends),
        sizes=np.arange(m) + 1,
        tokens=np.arange(m) + 2,
        category=np.arange(m) % 3,
        time_s=np.arange(m) / 2,
    )


@given(KEYS)
def test_next_use(keys: list[int]) -> None:
    accesses = Accesses.of(keys)
    expected = [next((j for j in range(i + 1, len(keys)) if keys[j] == keys[i]), 1 << 62) for i in range(len(keys))]
    assert next_use(accesses.ids).tolist() == expected


def test_next_use_of_nothing() -> None:
    assert next_use(np.zeros(0, np.uint32)).tolist() == []


@given(KEYS, st.lists(st.integers(0, 5), max_size=20), st.data())
def test_first_requests(keys: list[int], lengths: list[int], data: st.DataObject) -> None:
    for accesses in (Accesses.of(keys), grouped(keys, lengths)):
        start = accesses.request_start
        first_filled = 1 if start is None else int(np.argmax(start > 0))
        n = data.draw(st.integers(first_filled, accesses.n_requests))
        part = accesses.first(n)
        m = n if start is None else int(start[n])
        assert part.n_requests == n
        assert part.ids.tolist() == accesses.ids[:m].tolist()
        assert part.n_objects == len(set(keys[:m]))
        if accesses.sizes is not None and part.sizes is not None:
            assert part.sizes.tolist() == accesses.sizes[:m].tolist()
        assert (part.key == accesses.key) == (len(part) == len(accesses) and n == accesses.n_requests)


def test_first_of_too_few() -> None:
    with pytest.raises(InputError, match="requests: must be between 1 and the 3 requests of given; got 4"):
        Accesses.of([1, 2, 3]).first(4)


@given(KEYS, st.lists(st.integers(0, 5), max_size=20), st.data())
def test_selected_accesses(keys: list[int], lengths: list[int], data: st.DataObject) -> None:
    mask = data.draw(st.lists(st.booleans(), min_size=len(keys), max_size=len(keys)).filter(any))
    accesses = grouped(keys, lengths)
    part = accesses.selected(np.array(mask))
    kept = [key for key, keep in zip(keys, mask, strict=True) if keep]
    assert part.ids.tolist() == Accesses.of(kept).ids.tolist()
    assert part.n_objects == len(set(kept))
    assert part.tokens is not None and part.tokens.tolist() == [i + 2 for i, keep in enumerate(mask) if keep]
    assert part.request_start is not None and accesses.request_start is not None
    assert np.diff(part.request_start).tolist() == [sum(mask[a:b]) for a, b in _ranges(accesses)]


def test_selection_that_cannot_be() -> None:
    accesses = Accesses.of([1, 2, 3])
    with pytest.raises(InputError, match="mask: must have one entry per access"):
        accesses.selected(np.ones(2, np.bool_))
    with pytest.raises(InputError, match="at least one access"):
        accesses.selected(np.zeros(3, np.bool_))
    chain = Accesses.of([1, 2, 3], request_start=np.array([0, 3]), chain=True)
    with pytest.raises(InputError, match="prefix chains"):
        chain.selected(np.ones(3, np.bool_))
    with pytest.raises(InputError, match="batch_size: requests that are prefix chains cannot be joined"):
        batched(chain, 2)


def _ranges(accesses: Accesses) -> list[tuple[int, int]]:
    start = accesses.request_start
    ends = list(range(len(accesses) + 1)) if start is None else start.tolist()
    return list(pairwise(ends))


@given(KEYS, st.lists(st.integers(0, 5), max_size=20), st.integers(1, 9))
def test_batches(keys: list[int], lengths: list[int], size: int) -> None:
    for accesses in (Accesses.of(keys), grouped(keys, lengths)):
        together = batched(accesses, size)
        ranges = _ranges(accesses)
        expected = [(part[0][0], part[-1][1]) for part in (ranges[i : i + size] for i in range(0, len(ranges), size))]
        assert _ranges(together) == expected
        assert together.ids.tolist() == accesses.ids.tolist()
    with pytest.raises(InputError, match="batch_size: must be at least 1; got 0"):
        batched(accesses, 0)


@given(KEYS, st.lists(st.integers(0, 9), max_size=12))
def test_deduplication_within_requests(keys: list[int], lengths: list[int]) -> None:
    accesses = grouped(keys, lengths)
    kept = []
    counts = []
    for first, last in _ranges(accesses):
        places = [i for i in range(first, last) if keys[i] not in keys[first:i]]
        kept += places
        counts.append(len(places))
    unique = deduplicated(accesses)
    assert unique.ids.tolist() == [accesses.ids[i] for i in kept]
    assert unique.request_start is not None and np.diff(unique.request_start).tolist() == counts
    assert unique.n_objects == accesses.n_objects
    assert unique.sizes is not None and unique.sizes.tolist() == [i + 1 for i in kept]
    assert unique.tokens is not None and unique.tokens.tolist() == [i + 2 for i in kept]
    assert unique.category is not None and unique.category.tolist() == [i % 3 for i in kept]
    assert unique.time_s is not None and unique.time_s.tolist() == [i / 2 for i in kept]
    assert deduplicated(unique) is unique
    ungrouped = Accesses.of(keys)
    assert deduplicated(ungrouped) is ungrouped


def test_blocks_of_the_published_trace(shared: Path) -> None:
    trace = read_trace(shared / "traces/kv/mooncake_conversation.jsonl.zst")
    accesses = block_accesses(trace, None)
    assert (len(accesses), accesses.n_objects, accesses.n_requests, accesses.chain) == (288_500, 182_790, 12_031, True)
    assert accesses.tokens is not None and int(accesses.tokens.sum()) == 144_793_823 == trace.total_prompt_tokens
    assert accesses.ids.tolist() == trace.block_ids.tolist()
    assert deduplicated(accesses) is accesses
    larger = block_accesses(trace, 1024)
    assert larger.tokens is not None and int(larger.tokens.sum()) == 144_793_823
    assert block_accesses(trace, 16).ids.tolist() == accesses.ids.tolist()  # nothing smaller than a granule has an identity


def test_blocks_by_hand() -> None:
    trace = Trace.of([0.0, 1.0, 2.5], [30, 25, 5], [1, 2, 3], [[7, 9, 4], [7, 9, 5], [3]], 10, tenant=[0, 2, 1])
    every = block_accesses(trace, 10)
    assert (every.ids.tolist(), list(every.tokens)) == ([0, 1, 2, 0, 1, 3, 4], [10, 10, 10, 10, 10, 5, 5])  # type: ignore[arg-type]
    assert list(every.category) == [0, 0, 0, 2, 2, 2, 1]  # type: ignore[arg-type]
    assert list(every.time_s) == [0, 0, 0, 1, 1, 1, 2.5]  # type: ignore[arg-type]
    whole = block_accesses(trace, 20, partial_block=False)
    assert (whole.ids.tolist(), list(whole.tokens), list(whole.request_start)) == ([0, 0], [20, 20], [0, 1, 2, 2])  # type: ignore[arg-type]
    pairs = block_accesses(trace, 20)
    assert (pairs.ids.tolist(), list(pairs.tokens)) == ([0, 1, 0, 2, 3], [20, 10, 20, 5, 5])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="at least one access"):
        block_accesses(trace, 40, partial_block=False)
    with pytest.raises(InputError, match="block_size"):
        block_accesses(trace, 0)


def test_blocks_go_on_over_the_output() -> None:
    trace = Trace.of([0.0, 1.0], [15, 35], [20, 9], [[0, 1, 2, 3], [0, 1, 2, 4, 5]], 10, has_output_ids=True)
    accesses = block_accesses(trace, None, output=True)
    assert (accesses.ids.tolist(), list(accesses.tokens)) == ([0, 1, 2, 0, 1, 2, 3], [10] * 7)  # type: ignore[arg-type]
    assert block_accesses(trace, None).ids.tolist() == [0, 0, 1, 2]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"ids": [0, 2**32]}, r"ids\[1\]: must be between 0 and 1; got 4294967296"),
        ({"ids": [0, -1]}, r"ids\[1\]: must be between 0 and 1; got -1"),
        ({"ids": [0, 1.9]}, "ids: must be whole numbers; got float64"),
        ({"ids": ["a", "b"]}, "ids: must be whole numbers; got <U1"),
        ({"ids": [[0, 1]]}, "ids: must be a list; got 2 dimensions"),
        ({"ids": [0, 1], "tokens": [1, 2**32 + 5]}, r"tokens\[1\]: must be between 1 and 2147483647; got 4294967301"),
        ({"ids": [0, 1], "category": [2**31, 0]}, r"category\[0\]: must be between 0 and 2147483647; got 2147483648"),
        ({"ids": [0, 1], "category": [True, False]}, "category: must be whole numbers; got bool"),
        ({"ids": [0, 1], "sizes": np.array([1, 2**63], np.uint64)}, r"sizes\[1\]: must be between 1 and 9223372036854775807"),
        ({"ids": [0, 1], "sizes": [1.0, 2.0]}, "sizes: must be whole numbers; got float64"),
        ({"ids": [0, 1], "request_start": [0, 1.5, 2]}, "request_start: must be whole numbers; got float64"),
        ({"ids": [0, 1], "time_s": ["0", "1"]}, "time_s: must be numbers; got <U1"),
    ],
)
def test_entries_are_refused_and_never_changed(columns: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Accesses(n_objects=2, **columns)  # type: ignore[arg-type]


def test_other_types_that_hold_the_same_entries_will_do() -> None:
    small = Accesses(
        ids=np.array([0, 1], np.int8),  # type: ignore[arg-type]
        n_objects=2,
        tokens=np.array([7, 2**31 - 1], np.uint64),  # type: ignore[arg-type]
        time_s=[0, 1],  # type: ignore[arg-type]
    )
    assert small.ids.tolist() == [0, 1] and small.tokens is not None and small.tokens.tolist() == [7, 2**31 - 1]
    assert small.time_s is not None and small.time_s.tolist() == [0.0, 1.0]
    with pytest.raises(InputError, match="at least one access"):
        Accesses(ids=[], n_objects=0)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="keys: must be whole numbers; got float64"):
        Accesses.of([1.0, 2.0])


def test_arrays_of_the_right_type_are_kept_and_looked_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    plain = accesses_module._refuse_outside
    monkeypatch.setattr(accesses_module, "_refuse_outside", lambda name, *rest: (looked.append(name), plain(name, *rest)))
    ids = np.array([0, 1, 0], np.uint32)
    kept = Accesses(ids=ids, n_objects=2, sizes=np.array([4, 5, 4]))
    assert looked == ["sizes", "ids"] and np.shares_memory(kept.ids, ids)


def test_sizes_must_sum_to_less_than_64_bits_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accesses_module, "_CHECKED_AT_ONCE", 3)
    most = 2**62 - 1
    Accesses.of([1], sizes=[most])
    Accesses.of([1, 2, 3, 4, 5], sizes=[2**61, 1, 1, 2**61 - 4, 1])  # length times maximum alone would not do
    for sizes in ([2**62], [most, 1], [2**61, 1, 1, 2**61 - 3, 1], [2**62] * 7):
        with pytest.raises(InputError, match=f"sizes: must sum to less than 2\\^62 bytes; got {sum(sizes)}"):
            Accesses.of(range(len(sizes)), sizes=sizes)
