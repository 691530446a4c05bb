"""Least squares on the logarithms of measured and simulated latencies, with priors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import least_squares

from simcore.calibration.runs import Deployment, Run, predict
from simcore.quantization.weights import find_weight_format
from simcore.roofline.constants import Constants

Floats = npt.NDArray[np.float64]
Slopes = npt.NDArray[np.float64]
"""(n, 2, constants) derivatives of scaled log errors by the logarithms of the constants."""
TTFT_SCALE, TPOT_SCALE = 0.2, 0.08
"""Relative errors that weigh as much as one standard deviation of a prior."""
SCALES = np.array([TTFT_SCALE, TPOT_SCALE])
STEP = 0.04
"""Step of the finite differences, in the logarithm of a constant: above the jumps of a discrete simulation."""
FAR = 2.0
"""Residual, in log, of a run that the simulated server cannot hold."""


@dataclass(frozen=True)
class Prior:
    """A constant to fit: its expected value, the standard deviation of its logarithm, and the range it must stay in."""

    name: str
    value: float
    spread: float
    low: float
    high: float


PRIORS = (
    Prior("weight_bandwidth_share", 0.78, 0.12, 0.4, 0.95),
    Prior("kv_bandwidth_share", 0.72, 0.2, 0.35, 0.95),
    Prior("mfu", 0.55, 0.2, 0.2, 0.8),
    Prior("mfu_fp8", 0.50, 0.2, 0.2, 0.8),
    Prior("mfu_fp4", 0.40, 0.25, 0.1, 0.8),
    Prior("step_s", 0.5e-3, 0.7, 0.05e-3, 8e-3),
    Prior("layer_s", 25e-6, 0.5, 4e-6, 150e-6),
    Prior("allreduce_s", 10e-6, 0.4, 2e-6, 60e-6),
    Prior("gpu_link_share", 0.45, 0.3, 0.1, 0.95),
    Prior("sequence_s", 17e-6, 0.5, 2e-6, 150e-6),
    Prior("request_s", 30e-3, 0.8, 3e-3, 300e-3),
)
NAMES = tuple(p.name for p in PRIORS)
CENTRE = np.log([p.value for p in PRIORS])
SPREAD = np.array([p.spread for p in PRIORS])
LOW, HIGH = np.log([p.low for p in PRIORS]), np.log([p.high for p in PRIORS])


def constants_at(theta: Floats, base: Constants) -> Constants:
    """`base` with the fitted constants at the logarithms `theta`."""
    return base.model_copy(update=dict(zip(NAMES, np.exp(theta).tolist(), strict=True)))


def log_errors(runs: Sequence[Run], deployment: Deployment, constants: Constants) -> Floats:
    """(n, 2) logarithms of simulated over measured TTFT and TPOT; NaN where not measured, `FAR` where it does not fit."""
    found = np.empty((len(runs), 2))
    for number, run in enumerate(runs):
        pair = predict(run, deployment, constants)
        for column, (ours, theirs) in enumerate(zip(pair, (run.ttft_s, run.tpot_s), strict=True)):
            found[number, column] = np.nan if theirs is None else FAR if np.isnan(ours) else np.log(ours / theirs)
    return found


def active(runs: Sequence[Run]) -> npt.NDArray[np.intp]:
    """Indices of the constants that these runs can say something about; the others stay at their expected values.

    Fixed time per step and per layer cannot be told apart within one number of layers.
    """
    formats = {find_weight_format(run.weight_format).compute for run in runs}
    several = any(run.gpu.count > 1 for run in runs)
    off = {"mfu_fp8": "fp8" not in formats, "mfu_fp4": "fp4" not in formats}
    off |= {"allreduce_s": not several, "gpu_link_share": not several}
    off |= {"step_s": len({run.model.layers for run in runs}) < 2}
    return np.array([k for k, name in enumerate(NAMES) if not off.get(name, False)])


def fit(
    runs: Sequence[Run],
    deployment: Deployment,
    base: Constants,
    *,
    start: Floats | None = None,
    evaluations: int = 6,
    slopes: Slopes | None = None,
) -> tuple[Floats, Slopes]:
    """Logarithms of the constants that fit `runs` best (soft L1 loss), kept near the priors.

    Args:
        start: where to begin; the expected values when None.
        evaluations: most evaluations of the residuals.
        slopes: derivatives of the log errors to use throughout, found on these runs; worked out anew when None.

    Returns:
        The constants, in the order of `NAMES`, and the slopes last used.
    """
    free = active(runs)
    last: list[tuple[bytes, Floats]] = []
    kept = [slopes]

    def full(part: Floats) -> Floats:
        theta = CENTRE.copy()
        theta[free] = part
        return theta

    def errors(part: Floats) -> Floats:
        if not last or last[0][0] != part.tobytes():
            found = np.nan_to_num(log_errors(runs, deployment, constants_at(full(part), base)) / SCALES)
            last[:] = [(part.tobytes(), found)]
        return last[0][1]

    def residuals(part: Floats) -> Floats:
        return np.concatenate((_soft(errors(part)).ravel(), (part - CENTRE[free]) / SPREAD[free]))

    def jacobian(part: Floats) -> Floats:
        now = errors(part).copy()
        found = slopes
        if found is None:
            found = np.zeros((*now.shape, len(NAMES)))
            for k, name in enumerate(free):
                step = STEP if part[k] + STEP <= HIGH[name] else -STEP
                moved = part.copy()
                moved[k] += step
                found[..., name] = (errors(moved) - now) / step
            kept[0] = found
        rows = (_soft_slope(now)[..., None] * found[..., free]).reshape(now.size, len(free))
        return np.concatenate((rows, np.diag(1 / SPREAD[free])))

    first = np.clip((CENTRE if start is None else start)[free], LOW[free] + 1e-6, HIGH[free] - 1e-6)
    bounds = (LOW[free], HIGH[free])
    solved = least_squares(residuals, first, jacobian, bounds=bounds, max_nfev=evaluations, ftol=3e-3, xtol=3e-3)
    assert kept[0] is not None
    return full(np.asarray(solved.x)), kept[0]


def _soft(z: Floats) -> Floats:
    """Residuals whose squares are the soft L1 loss of `z`; priors stay quadratic."""
    return np.asarray(np.sign(z) * np.sqrt(2 * (np.sqrt(1 + z * z) - 1)))


def _soft_slope(z: Floats) -> Floats:
    """Derivative of `_soft`; 1 at 0."""
    size = np.abs(_soft(z))
    return np.asarray(np.where(size > 1e-9, np.abs(z) / np.sqrt(1 + z * z) / np.maximum(size, 1e-9), 1.0))
