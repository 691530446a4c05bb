"""Pareto functions against naive twins, on clouds full of ties."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dse import pareto

points = st.integers(1, 4).flatmap(
    lambda m: arrays(np.float64, st.tuples(st.integers(1, 25), st.just(m)), elements=st.integers(0, 5).map(float))
)


def dominates(a: np.ndarray, b: np.ndarray) -> bool:
    return bool((a <= b).all() and (a < b).any())


@given(points)
def test_non_dominated_is_what_nothing_dominates(values: np.ndarray) -> None:
    naive = [not any(dominates(other, row) for other in values) for row in values]
    assert pareto.non_dominated(values).tolist() == naive


@given(points)
def test_hypervolume_counts_the_dominated_unit_cells(values: np.ndarray) -> None:
    m = values.shape[1]
    cells = np.stack(np.meshgrid(*[np.arange(6)] * m, indexing="ij"), -1).reshape(-1, m)
    covered = sum(any((row <= cell).all() for row in values) for cell in cells)
    assert pareto.hypervolume(values, np.full(m, 6.0)) == pytest.approx(covered)


@given(points)
def test_hypervolume_in_the_box_never_falls_and_stays_below_one(values: np.ndarray) -> None:
    m = values.shape[1]
    boxed = pareto.squeezed(values, [2.0] * m, [False] * m)
    volumes = [pareto.hypervolume(boxed[:n], np.ones(m)) for n in range(len(values) + 1)]
    assert volumes == sorted(volumes)
    assert 0 <= volumes[-1] <= 1


def test_the_box_keeps_domination_for_both_directions() -> None:
    values = np.array([[1.0, -3.0], [2.0, -5.0], [4.0, -1.0]])
    boxed = pareto.squeezed(values, [1.0, 10.0], [False, True])
    assert (np.argsort(boxed[:, 0]) == [0, 1, 2]).all()
    assert (np.argsort(boxed[:, 1]) == [1, 0, 2]).all()
    assert boxed[0] == pytest.approx([0.5, 10 / 13])


def test_points_beyond_the_reference_add_nothing() -> None:
    assert pareto.hypervolume([[0.5, 3.0]], [1.0, 1.0]) == 0.0
    assert pareto.hypervolume(np.empty((0, 2)), [1.0, 1.0]) == 0.0


def test_knee_is_where_a_step_either_way_buys_least() -> None:
    front = [[2210, 704], [1480, 768], [910, 864], [560, 992], [505, 1152], [470, 1408], [452, 1856]]
    assert pareto.knee(front) == 3


@pytest.mark.parametrize(("front", "expected"), [([[1, 1]], 0), ([[1, 2], [2, 1]], 0), ([[1, 2], [1, 2]], 0), ([[3], [1]], 1)])
def test_knee_of_small_fronts_is_the_first_of_equals(front: list[list[float]], expected: int) -> None:
    assert pareto.knee(front) == expected


def test_a_far_end_of_the_front_does_not_choose_the_knee() -> None:
    """TTFT p99 in ms against USD of a real front: 30 USD more than 1,595 ms buy two thirds of it."""
    front = [[18007, 620], [7206, 650], [1595, 680], [502, 710], [453, 740], [451, 770], [442, 830]]
    assert pareto.knee(front) == 3
    assert pareto.knee([[-a, b] for a, b in [(1, 1), (50, 2), (100, 9)]]) == 1


def test_an_objective_that_is_constant_does_not_move_the_knee() -> None:
    front = np.array([[2210, 704], [560, 992], [452, 1856]], float)
    assert pareto.knee(front) == pareto.knee(np.c_[front, np.full(3, 7.0)])


def test_empty_fronts_have_no_knee() -> None:
    with pytest.raises(ValueError, match="no knee"):
        pareto.knee(np.empty((0, 2)))


@pytest.mark.parametrize("function", [pareto.non_dominated, pareto.normalised, pareto.knee])
@pytest.mark.parametrize("values", [[[np.nan, 1.0]], [[np.inf, 1.0]], [1.0, 2.0], np.empty((3, 0))])
def test_values_that_cannot_be_compared_are_refused(function: Callable[..., object], values: object) -> None:
    with pytest.raises(ValueError, match="values must"):
        function(values)


def test_inputs_are_not_changed(frozen: Callable[[np.ndarray], np.ndarray]) -> None:
    values, reference = frozen(np.random.default_rng(0).random((9, 2))), frozen(np.ones(2))
    pareto.non_dominated(values), pareto.hypervolume(values, reference)
    pareto.knee(values), pareto.squeezed(values, [1, 1], [True, False])
