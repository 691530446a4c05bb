"""The boundary, the examples and the forest of `simcore.learning`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import ExtraTreesRegressor

from simcore.learning import DEPTH, FOREST_NUMBERS, SPLITS, TREE_NUMBERS, TREES, Window, boundary, flatten, train

NEVER = 1 << 62


def gaps_of(objects: list[int]) -> list[int]:
    """Touches until the next use of each."""
    return [next((k - i for k in range(i + 1, len(objects)) if objects[k] == obj), NEVER) for i, obj in enumerate(objects)]


def held(objects: list[int], size: list[int], shorter_than: float) -> float:
    """What a cache holds on average that keeps an object, after each touch, if its gap is shorter, until the next one."""
    gaps = gaps_of(objects)
    total, inside = 0, 0
    leaves: dict[int, int] = {}  # when, and how much
    for k, gap in enumerate(gaps):
        inside -= leaves.pop(k, 0)
        if gap < shorter_than:
            inside += size[k]
            leaves[k + gap] = leaves.get(k + gap, 0) + size[k]
        total += inside
    return total / len(objects)


def window_of(objects: list[int], size: list[int] | None = None) -> Window:
    n = len(objects)
    sizes = np.ones(n) if size is None else np.array(size, float)
    return Window(np.array(objects), np.arange(n), sizes, np.zeros((n, 5)))


@given(seed=st.integers(0, 2**32 - 1), sized=st.booleans(), share=st.floats(0, 1.2))
def test_the_boundary_fills_a_simulated_cache(seed: int, sized: bool, share: float) -> None:
    rng = np.random.default_rng(seed)
    objects = rng.integers(0, int(rng.integers(1, 30)), 150).tolist()
    sizes = rng.integers(1, 9, 30)[objects].tolist() if sized else [1] * 150
    gap = np.array(gaps_of(objects))
    capacity = share * held(objects, sizes, 1 << 61)
    found = boundary(gap, np.array(sizes, float), 150.0, capacity)
    assert 0 < found <= 50
    assert held(objects, sizes, found) <= capacity + 1e-9
    if found < 50:  # one that also keeps gaps as long as the boundary would hold more than there is room for
        assert held(objects, sizes, found + 1) > capacity - 1e-9


def test_the_boundary_by_hand() -> None:
    # 6 touches, gaps 1 1 2 2 and two never used again, sizes 1: gaps of 1 hold 2 of 6, those of 2 four more
    gap, size = np.array([1, 1, 2, 2, NEVER, NEVER]), np.ones(6)
    assert boundary(gap, size, 6.0, 0.3) == 1
    assert boundary(gap, size, 6.0, 2 / 6) == 2
    assert boundary(gap, size, 6.0, 100.0) == 2  # a third of the window
    assert boundary(gap, 10 * size, 60.0, 2 / 6) == 2
    assert boundary(gap, size, 60.0, 1000.0) == 20


def a_forest(seed: int) -> ExtraTreesRegressor:
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(int(rng.integers(30, 3000)), 6)).astype(np.float32)
    model = ExtraTreesRegressor(n_estimators=TREES, max_depth=DEPTH, min_samples_leaf=20, max_features=None, random_state=seed)
    return model.fit(inputs, inputs[:, 0] * inputs[:, 1] + rng.normal(size=len(inputs)))


def walk(tree: np.ndarray, features: np.ndarray) -> float:
    place = 0
    for _ in range(DEPTH):
        place = 2 * place + (1 if features[int(tree[place])] <= tree[SPLITS + place] else 2)
    return tree[SPLITS + place]


@pytest.mark.parametrize("seed", range(8))
def test_a_flattened_tree_predicts_the_same(seed: int) -> None:
    asked = np.random.default_rng(seed + 100).normal(size=(300, 6)).astype(np.float32)
    for tree in a_forest(seed).estimators_:
        flat = flatten(tree.tree_)
        assert flat.shape == (TREE_NUMBERS,)
        assert [walk(flat, row) for row in asked] == tree.predict(asked).tolist()


def test_a_tree_that_is_one_leaf() -> None:
    tree = ExtraTreesRegressor(n_estimators=1, max_depth=DEPTH).fit(np.zeros((5, 6)), np.full(5, 3.5)).estimators_[0]
    assert walk(flatten(tree.tree_), np.ones(6)) == 3.5


def a_window(n: int = 5000) -> Window:
    """Every second touch is of one of 20 objects, whose feature is 1; the others are never used again, theirs is 0."""
    rng = np.random.default_rng(5)
    objects = np.arange(1000, 1000 + n)
    hot = np.arange(n) % 2 == 0
    objects[hot] = rng.integers(0, 20, hot.sum())
    features = np.zeros((n, 5))
    features[hot, 2] = 1.0
    return Window(objects, np.arange(n), np.ones(n), features)


def forecast(forest: np.ndarray, features: list[float]) -> float:
    return float(np.mean([walk(tree, np.array(features)) for tree in forest.reshape(TREES, TREE_NUMBERS)]))


def test_it_foretells_the_wait_and_clips_what_is_beyond() -> None:
    forest = train(a_window(), 30.0, 7)
    assert forest is not None and forest.shape == (FOREST_NUMBERS,)
    hot, cold = (forecast(forest, [3.0, 0, 0, kind, 0, 0]) for kind in (1, 0))
    gap = np.array(gaps_of(a_window().objects.tolist()))
    beyond = np.log2(1 + 2 * boundary(gap, np.ones(5000), 5000.0, 30.0))
    assert hot < np.log2(1 + 2 * 40)  # mean gap 40, without memory
    assert cold == pytest.approx(beyond, abs=0.1)


def test_capacity_moves_the_boundary() -> None:
    small, large = train(a_window(), 3.0, 7), train(a_window(), 30.0, 7)
    assert small is not None and large is not None
    assert forecast(small, [1.0, 0, 0, 0, 0, 0]) < forecast(large, [1.0, 0, 0, 0, 0, 0])


def test_nothing_to_learn_from() -> None:
    assert train(window_of([0]), 5.0, 0) is None
    assert train(window_of(list(range(1000))), 5.0, 0) is None  # nothing is used again
    twice = Window(np.array([0, 0]), np.array([3, 3]), np.ones(2), np.zeros((2, 5)))  # at one moment, as below another tier
    assert train(twice, 5.0, 0) is None
    first = Window(*(column[:3] for column in a_window()))
    assert train(first, 0.0, 0) is None  # no outcome is known


SCRIPT = """
import hashlib
from tests.simcore.test_learning import a_window
from simcore.learning import train
forest = train(a_window(), 30.0, 7)
print(hashlib.sha256(forest.tobytes()).hexdigest())
"""


def test_the_same_bytes_in_every_process() -> None:
    def digest(hash_seed: str) -> str:
        environment = {"PYTHONHASHSEED": hash_seed, "PATH": ""}
        root = Path(__file__).resolve().parents[2]
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, env=environment, cwd=root
        )
        return done.stdout

    assert len({digest("1"), digest("2")}) == 1
    first, again, other = train(a_window(), 30.0, 7), train(a_window(), 30.0, 7), train(a_window(), 30.0, 8)
    assert first is not None and again is not None and other is not None
    assert first.tobytes() == again.tobytes() != other.tobytes()


def test_scikit_learn_is_loaded_only_to_train() -> None:
    check = "import sys, simcore.learning, simcore.policies.learned; sys.exit('sklearn' in sys.modules)"
    subprocess.run([sys.executable, "-c", check], check=True)
