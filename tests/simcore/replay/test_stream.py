"""A trace in chunks gives what the whole trace gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcore.errors import InputError
from simcore.replay.run import replay
from simcore.replay.setup import Tier
from simcore.replay.stream import replay_stream
from simcore.traces.accesses import DTYPES, Accesses
from simcore.traces.zipf import zipf_stream
from tests.simcore.replay.test_distances import chains, singles


def pieces(accesses: Accesses, length: int) -> Iterator[Accesses]:
    """Chunks of `length` requests."""
    for first in range(0, accesses.n_requests, length):
        end = min(first + length, accesses.n_requests)
        start = accesses.request_start
        a, b = (first, end) if start is None else (int(start[first]), int(start[end]))
        columns: dict[str, Any] = {
            name: getattr(accesses, name)[a:b]
            for name in DTYPES
            if getattr(accesses, name) is not None and name != "request_start"
        }
        if start is not None:
            columns |= {"request_start": start[first : end + 1] - a, "chain": accesses.chain}
        yield Accesses(n_objects=accesses.n_objects, **columns)


@settings(max_examples=60)
@given(
    accesses=st.one_of(singles(sizes=False), singles(sizes=True)),
    length=st.integers(1, 120),
    capacity=st.integers(0, 60),
    policy=st.sampled_from(["lru", "sieve"]),
    warmup=st.integers(0, 299),
)
def test_chunks_change_nothing(accesses: Accesses, length: int, capacity: int, policy: str, warmup: int) -> None:
    warmup = min(warmup, len(accesses) - 1)
    tiers = [Tier(capacity=capacity, policy=policy), Tier(name="below", capacity=2 * capacity)]
    whole = replay(accesses, tiers, warmup=warmup)
    assert replay_stream(pieces(accesses, length), accesses.n_objects, tiers, warmup=warmup) == whole


@settings(max_examples=30)
@given(accesses=chains(), length=st.integers(1, 20), capacity=st.integers(0, 30))
def test_chunks_of_chains_change_nothing(accesses: Accesses, length: int, capacity: int) -> None:
    start = accesses.request_start
    assert start is not None
    full = np.unique(start)  # without requests for nothing
    accesses = accesses.with_columns(request_start=full)
    tiers = [Tier(capacity=capacity)]
    assert replay_stream(pieces(accesses, length), accesses.n_objects, tiers) == replay(accesses, tiers)


def test_arrays_are_chunks_and_progress_is_told() -> None:
    chunks = [np.array([0, 1, 0]), np.array([], np.int64), np.array([2, 0], np.uint32)]
    seen: list[int] = []
    result = replay_stream(chunks, 3, [Tier(capacity=3)], progress=seen.append)
    assert (result.hits, result.accesses, result.distinct, result.one_hit, seen) == (2, 5, 3, 2, [3, 5])


@pytest.mark.parametrize(
    ("chunks", "options", "message"),
    [
        ([np.array([0, 3])], {}, "chunks[0]: must be between 0 and 2"),
        ([np.array([0]), np.array([7], np.uint32)], {}, "chunks[1].ids[0]: must be between 0 and 2"),
        ([np.array([0]), np.array([0.5])], {}, "chunks[1]: must be whole numbers"),
        (
            [np.array([0]), Accesses.of([0], sizes=[1])],
            {},
            "chunks[1]: must have the columns of the first, ids; got ids, sizes",
        ),
        ([Accesses.of(np.arange(4))], {}, "chunks[0].n_objects: must be at most 3"),
        ([np.array([0])], {"warmup": 1}, "warmup: must be below the 1 requests"),
        ([], {}, "warmup: must be below the 0 requests"),
        ([np.array([0])], {"warmup": -1}, "warmup: must not be negative"),
        ([np.array([0])], {"order": "any"}, "order: must be one of"),
    ],
)
def test_bad_chunks_are_refused(chunks: list[Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        replay_stream(chunks, 3, [Tier(capacity=1)], **options)
    assert str(caught.value).startswith(message)


def test_a_policy_that_needs_the_future_is_refused() -> None:
    with pytest.raises(InputError, match="needs next_use, which a stream does not know"):
        replay_stream([np.array([0])], 1, [Tier(capacity=1, policy="belady")])


def test_an_endless_stream_can_be_interrupted() -> None:
    def stop(done: int) -> None:
        if done > 3_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replay_stream(zipf_stream(1 << 60, 100, 1.0, chunk=1_000), 100, [Tier(capacity=10)], progress=stop)
