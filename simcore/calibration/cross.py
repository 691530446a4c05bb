"""Errors on runs that a fit has not seen."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from simcore.calibration.fit import CENTRE, HIGH, LOW, NAMES, Floats, Slopes, active, constants_at, fit, log_errors
from simcore.calibration.runs import Deployment, Run
from simcore.roofline.constants import Constants

FOLDS = 5
TPOT_LIMIT, TTFT_LIMIT = 0.35, 0.50
"""Median cross-validated errors above which the model does not explain a group."""
DEGENERATE = frozenset({"weight_bandwidth_share", "mfu_fp8", "mfu_fp4", "layer_s", "request_s"})
"""Constants that no sound fit pushes to an end of its range. Reading the cache and 16-bit attention do come near what the data
sheet promises, so those two are kept at their bound."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """Constants fitted to runs, with their errors.

    Attributes:
        runs, deployment: what was fitted, and what was assumed about it.
        theta: logarithms of the constants, in the order of `fit.NAMES`.
        errors: (n, 2) log errors of TTFT and TPOT with these constants.
        unseen: (n, 2) the same, each run with constants fitted without its cell.
    """

    runs: tuple[Run, ...]
    deployment: Deployment
    theta: Floats
    errors: Floats
    unseen: Floats

    @property
    def faults(self) -> list[str]:
        """Why these constants should not be used; empty when nothing is wrong with them."""
        found = []
        for kind, error, limit in zip(("TTFT", "TPOT"), medians(self.unseen), (TTFT_LIMIT, TPOT_LIMIT), strict=True):
            if error > limit:
                found.append(f"{kind} {100 * error:.0f} % off on runs left out")
        for k in active(self.runs):
            if NAMES[k] in DEGENERATE and not LOW[k] + 1e-3 < self.theta[k] < HIGH[k] - 1e-3:
                found.append(f"{NAMES[k]} at the end of its range")
        return found


def calibrate(runs: Sequence[Run], deployment: Deployment, base: Constants) -> Fitted:
    """Fit, and cross-validate over cells."""
    theta, slopes = fit(runs, deployment, base)
    errors = log_errors(runs, deployment, constants_at(theta, base))
    return Fitted(tuple(runs), deployment, theta, errors, cross_validate(runs, deployment, base, theta, slopes))


def cross_validate(runs: Sequence[Run], deployment: Deployment, base: Constants, theta: Floats, slopes: Slopes) -> Floats:
    """(n, 2) log errors of each run with constants fitted to the runs of the other folds of cells.

    Each fold starts at the joint fit and keeps its slopes: it finds the least-squares solution of its own runs without
    working out derivatives again.
    """
    fold = folds([run.cell for run in runs])
    found = np.full((len(runs), 2), np.nan)
    for number in sorted(set(fold)):
        seen = [k for k, f in enumerate(fold) if f != number]
        left = [k for k, f in enumerate(fold) if f == number]
        part = CENTRE
        if seen:
            part, _ = fit([runs[k] for k in seen], deployment, base, start=theta, evaluations=4, slopes=slopes[seen])
        found[left] = log_errors([runs[k] for k in left], deployment, constants_at(part, base))
    return found


def folds(cells: Sequence[Hashable]) -> list[int]:
    """The fold of each run: cells are dealt to `FOLDS` folds in a random order that is always the same."""
    distinct = sorted(set(cells), key=repr)
    order = np.random.default_rng(0).permutation(len(distinct))
    of = {cell: int(order[k]) % FOLDS for k, cell in enumerate(distinct)}
    return [of[cell] for cell in cells]


def medians(errors: Floats) -> tuple[float, float]:
    """Median relative errors of TTFT and TPOT; NaN where none was measured."""
    sizes = np.abs(np.expm1(errors))
    return tuple(float(np.nanmedian(column)) if np.isfinite(column).any() else float("nan") for column in sizes.T)  # type: ignore[return-value]
