"""How far a front may be trusted: whether the search had settled."""

from __future__ import annotations

from collections.abc import Sequence

from dse.analysis.view import Front

SETTLED = 0.1
QUIET = 20
"""The search counts as settled when this share of its designs, and at least this many, the last ones, added nothing."""


def convergence(fronts: Sequence[Front]) -> str:
    """When a front last grew, and how many designs since then added nothing.

    The front's own designs are enough: the last of them to be found is the last gain in hypervolume.
    """
    trials, size = fronts[0].trials, fronts[0].space.size()
    last_gain = max(t.number for front in fronts for t in front.designs)
    after = sum(t.number > last_gain for t in trials)
    if size is not None and len(trials) >= size:
        return f"Complete: all {size} designs of the space were evaluated."
    rest = "last design" if after == 1 else f"last {after} designs"
    since = f"last gain at design {last_gain}; the {rest} added nothing"
    if after == 0:
        since = f"the last design, {last_gain}, still added to the front"
    if after >= max(SETTLED * len(trials), QUIET):
        return f"Converged: {since}."
    return f"Not converged: {since}. More trials may move it."
