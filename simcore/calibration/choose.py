"""What a table of results leaves out, chosen by how well the constants can then explain it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from simcore.calibration.fit import CENTRE, SPREAD, TPOT_SCALE, TTFT_SCALE, Floats, constants_at, fit, log_errors
from simcore.calibration.runs import CLIENTS, Deployment, Run
from simcore.roofline.constants import Constants

SAMPLE = 14


def choose(runs: Sequence[Run], base: Constants, options: dict[str, tuple[Any, ...]], first: Deployment) -> Deployment:
    """The deployment, one field after another, whose quick fit on a sample of `runs` leaves the smallest errors.

    Args:
        options: values to try of each field of `Deployment`; the first of equals wins.
        first: the fields not yet tried.
    """
    sample = runs if len(runs) <= SAMPLE else [runs[k] for k in np.linspace(0, len(runs) - 1, SAMPLE).astype(int)]
    best, theta = first, None
    for name, values in options.items():
        trials: list[tuple[float, int, Deployment, Floats]] = []
        for value in values:
            tried = replace(best, **{name: value})
            found, _ = fit(sample, tried, base, start=theta, evaluations=2)
            trials.append((_loss(sample, tried, found, base), len(trials), tried, found))
        _, _, best, theta = min(trials, key=lambda t: t[:2])
    return best


def _loss(runs: Sequence[Run], deployment: Deployment, theta: Floats, base: Constants) -> float:
    """What `fit` makes small: errors, and constants far from what is expected of them."""
    errors = np.abs(log_errors(runs, deployment, constants_at(theta, base))) / (TTFT_SCALE, TPOT_SCALE)
    return float(np.nansum(np.sqrt(1 + errors**2) - 1) + np.sum(((theta - CENTRE) / SPREAD) ** 2) / 2)


def usual_options(family: str) -> dict[str, tuple[Any, ...]]:
    """What is tried for an engine family: the client, the cache's format, the packets of TensorRT-LLM, the prefill order."""
    options: dict[str, tuple[Any, ...]] = {"client": CLIENTS, "kv_format": ("bf16", "fp8_e4m3")}
    if family == "trtllm":
        options["stream_interval"] = (1, 10, 20)
    options["chunked_prefill"] = (True, False)
    return options
