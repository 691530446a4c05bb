"""The streaming numbering of objects against a dictionary."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcore.errors import InputError
from simcore.traces.densify import Densifier
from simcore.traces.trace import densify


def naive(keys: list[Any]) -> list[int]:
    numbers: dict[Any, int] = {}
    return [numbers.setdefault(key, len(numbers)) for key in keys]


CHUNKS = st.lists(st.lists(st.integers(-3, 3) | st.integers(-(2**63), 2**63 - 1)), max_size=6)


@given(CHUNKS)
def test_signed_keys(chunks: list[list[int]]) -> None:
    numbers = Densifier()
    found = [i for chunk in chunks for i in numbers.add(np.array(chunk, np.int64)).tolist()]
    expected = naive([key for chunk in chunks for key in chunk])
    assert found == expected
    assert len(numbers) == max(expected, default=-1) + 1


@given(st.lists(st.lists(st.integers(0, 3) | st.integers(0, 2**64 - 1)), max_size=6))
def test_unsigned_keys(chunks: list[list[int]]) -> None:
    numbers = Densifier()
    found = [i for chunk in chunks for i in numbers.add(np.array(chunk, np.uint64)).tolist()]
    assert found == naive([key for chunk in chunks for key in chunk])


@given(st.lists(st.lists(st.text(max_size=2)), max_size=6))
def test_texts(chunks: list[list[str]]) -> None:
    numbers = Densifier()
    found = [i for chunk in chunks for i in numbers.add(np.array(chunk, object)).tolist()]
    expected = naive([key for chunk in chunks for key in chunk])
    assert found == expected
    assert len(numbers) == max(expected, default=-1) + 1


@pytest.mark.parametrize("chunk", [1_000, 77_777, 10**6])
@pytest.mark.parametrize(
    "scramble",
    [
        lambda ids: ids,
        lambda ids: ids << 32,
        lambda ids: ids * 4096,
        lambda ids: ids * 0x9E3779B97F4A7C15,
        lambda ids: ids << 44 | ids,
        lambda ids: -ids,
    ],
)
def test_many_keys_of_any_pattern(scramble: Any, chunk: int) -> None:
    ids = np.random.default_rng(0).integers(0, 300_000, 10**6)
    with np.errstate(over="ignore"):
        keys = scramble(ids.astype(np.int64)) if scramble(1) < 1 << 63 else (ids.astype(np.uint64) * np.uint64(scramble(1)))
    numbers = Densifier()
    began = time.thread_time()
    found = np.concatenate([numbers.add(keys[at : at + chunk]) for at in range(0, len(keys), chunk)])
    assert time.thread_time() - began < 5.0  # also with the compilation; clustered keys would take minutes
    expected, n = densify(ids)
    assert len(numbers) == n
    assert np.array_equal(found, expected)


def test_other_layouts_of_arrays() -> None:
    numbers = Densifier()
    assert numbers.add(np.array([5, 6, 5], np.int32)).tolist() == [0, 1, 0]
    assert numbers.add(np.arange(12, dtype=">i8")[::3]).tolist() == [2, 3, 1, 4]
    raw = np.frombuffer(b"\0" + np.array([9, 3], np.int64).tobytes(), np.uint8)[1:].view(np.int64)
    assert numbers.add(raw).tolist() == [4, 3]
    assert numbers.add(np.zeros(0, np.int64)).tolist() == []


def test_kinds_that_cannot_be_mixed() -> None:
    numbers = Densifier()
    numbers.add(np.array([-1, 5]))
    numbers.add(np.array([5], np.uint64))
    with pytest.raises(InputError, match="both keys of kind 'below 0' and '2\\^63 or more'"):
        numbers.add(np.array([2**64 - 1], np.uint64))
    with pytest.raises(InputError, match="both keys of kind 'text' and 'number'"):
        numbers.add(np.array(["a"], object))
    with pytest.raises(InputError, match="keys must be whole numbers or texts; got float64"):
        Densifier().add(np.array([0.5]))
