"""A small forest that foretells how long it takes until an object is asked for again, as far as that matters to a cache.

After Song et al., "Learning Relaxed Belady for Content Distribution Network Caching", NSDI 2020 (LRB): it does not matter which
object leaves, if only its next use lies beyond Belady's boundary, so what is learnt is the logarithm of the wait until then,
and all waits of twice the boundary or more are one. The boundary is taken here from Little's law instead of tuned: it is the
gap B for which a cache that keeps every object for the gap to its next use, if that is shorter than B, and otherwise not at
all, holds its capacity on average.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

TREES = 8
DEPTH = 6  # of a tree: all its paths are that long, so a walk needs no test for leaves
LEAVES = 1 << DEPTH
SPLITS = LEAVES - 1
TREE_NUMBERS = 2 * SPLITS + LEAVES  # features, thresholds, values
FOREST_NUMBERS = TREES * TREE_NUMBERS
_SAMPLES = 30_000
_NEVER = 1 << 62


class Window(NamedTuple):
    """Touches of a stretch of time, in order: objects i8 (n,), clock i8 (n,), size f8 (n,), features f8 (n, k) at the touch."""

    objects: NDArray[np.int64]
    clock: NDArray[np.int64]
    size: NDArray[np.float64]
    features: NDArray[np.float64]


def boundary(gap: NDArray[np.int64], size: NDArray[np.float64], span: float, capacity: float) -> float:
    """The shortest gap that is not worth keeping: over the gaps below it, gap * size sums to at most capacity * span (Little's
    law). At most a third of the window, so that for its first third all outcomes up to twice the boundary are known.

    Args:
        gap: i8 (n,), to the next use of each touch, in touches; at least 2^61 if none was seen.
        size: f8 (n,), of the objects, in units of the capacity.
        span: of the window, in touches.
    """
    order = np.argsort(gap, kind="stable")
    held = np.cumsum(np.minimum(gap[order], span) * size[order])
    kept = int(np.searchsorted(held, capacity * span, side="right"))
    return float(min(gap[order[kept]], span / 3)) if kept < len(gap) else span / 3


def train(window: Window, capacity: float, seed: int) -> NDArray[np.float64] | None:
    """The numbers of a forest (see `flatten`) for the wait until an object is used again: log2(1 + touches), at most that of
    twice the boundary. A forest of extremely randomised trees (Geurts et al. 2006), the mean of whose trees is the forecast.

    Each touch of the window gives an example: the object as it is at a random moment until its next use, weighted by how long
    that takes, as an object that waits longer is looked at more often. Its first feature is the age, log2(1 + touches since its
    last use); the others are those of the touch. Moments too late in the window for the outcome to be known are left out.

    Args:
        window: at least one touch.
        capacity: of the cache, in the units of the sizes.
        seed: of the moments, the choice of examples and the trees; in [0, 2^31).

    Returns:
        f8 (FOREST_NUMBERS,), or None if no outcome is known yet, or none is a use within twice the boundary.
    """
    from sklearn.ensemble import ExtraTreesRegressor

    rng = np.random.default_rng(seed)
    end = int(window.clock[-1])
    gap = _next_touch(window.objects, window.clock) - window.clock
    horizon = 2 * boundary(gap, window.size, float(end - window.clock[0] + 1), capacity)
    waits = np.minimum(np.minimum(gap, end - window.clock), horizon)
    age = np.floor(rng.random(len(gap)) * (waits + 1))
    known = end - window.clock - age >= horizon
    rows = np.flatnonzero(known & (waits > 0))
    if len(rows) > _SAMPLES:
        rows = np.sort(rng.choice(rows, _SAMPLES, replace=False))
    if len(rows) == 0 or gap[rows].min() >= horizon:
        return None
    wait = np.log2(1.0 + np.minimum(gap[rows] - age[rows], horizon))
    inputs = np.column_stack([np.log2(1.0 + age[rows]), window.features[rows]])
    forest = ExtraTreesRegressor(
        n_estimators=TREES, max_depth=DEPTH, min_samples_leaf=20, max_features=None, random_state=seed, bootstrap=False
    )
    forest.fit(inputs.astype(np.float32), wait, sample_weight=waits[rows])
    return np.concatenate([flatten(tree.tree_) for tree in forest.estimators_])


def _next_touch(objects: NDArray[np.int64], clock: NDArray[np.int64]) -> NDArray[np.int64]:
    order = np.argsort(objects, kind="stable")
    same = objects[order[1:]] == objects[order[:-1]]
    following = np.full(len(objects), _NEVER, np.int64)
    following[order[:-1][same]] = clock[order[1:][same]]
    return following


def flatten(tree: Any) -> NDArray[np.float64]:
    """A fitted tree as a complete one: f8 (TREE_NUMBERS,), features of the splits, their thresholds, then the values of the
    leaves. From split i it goes on to place 2i+1 if the feature is <= the threshold, otherwise to 2i+2; places from SPLITS on
    are leaves. A leaf further up is repeated below."""
    feature, threshold, value = np.zeros(SPLITS), np.full(SPLITS, np.inf), np.zeros(LEAVES)
    todo = [(0, 0)]
    while todo:
        place, node = todo.pop()
        if place >= SPLITS:
            value[place - SPLITS] = tree.value[node].item()
            continue
        left, right = int(tree.children_left[node]), int(tree.children_right[node])
        if left >= 0:
            feature[place], threshold[place] = tree.feature[node], tree.threshold[node]
        todo += [(2 * place + 1, max(left, node)), (2 * place + 2, max(right, node))]
    return np.concatenate([feature, threshold, value])
