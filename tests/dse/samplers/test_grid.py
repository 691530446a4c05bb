"""The grid: a seeded permutation that is never built."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.asking.asker import Asker
from dse.samplers.grid import limit, permuted
from simcore.errors import InputError
from tests.dse.fake_space import FakeDimension, FakeSpace, dimensions


@given(st.integers(1, 400), st.integers(0, 5))
def test_every_index_is_sent_to_another(size: int, seed: int) -> None:
    assert sorted(permuted(i, size, seed) for i in range(size)) == list(range(size))


def test_the_permutation_is_the_same_everywhere_and_depends_on_the_seed() -> None:
    assert [permuted(i, 10**12, 7) for i in range(3)] == [964686770901, 608670538224, 72677098949]
    assert permuted(0, 10**12, 8) != permuted(0, 10**12, 7)


def test_the_first_tenth_is_an_even_sample() -> None:
    first = [permuted(i, 1000, 0) for i in range(100)]
    assert all(4 <= sum(low <= cell < low + 100 for cell in first) <= 18 for low in range(0, 1000, 100))


@pytest.mark.parametrize("index", [-1, 5])
def test_indices_outside_are_refused(index: int) -> None:
    with pytest.raises(ValueError, match="index must be"):
        permuted(index, 5, 0)


def test_a_huge_grid_starts_at_once() -> None:
    many = tuple(FakeDimension(f"x{i}", low=1, high=1000) for i in range(20))
    space = FakeSpace(dimensions=(*dimensions(), *many))
    assert limit(space) > 10**60  # type: ignore[arg-type]
    assert len(Asker(space, "grid", 0).ask(10)) == 10  # type: ignore[arg-type]


def test_a_range_without_step_is_refused() -> None:
    space = FakeSpace(dimensions=(*dimensions(), FakeDimension("load.factor", low=0, high=1, continuous=True)))
    with pytest.raises(InputError, match=r"search\.load\.factor: .* step"):
        Asker(space, "grid", 0)  # type: ignore[arg-type]
