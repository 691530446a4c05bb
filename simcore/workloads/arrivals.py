"""When requests of an open loop arrive: renewal processes, by name and coefficient of variation."""

from __future__ import annotations

import math
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from simcore.errors import InputError
from simcore.specs.base import Spec
from simcore.workloads.amounts import generator, uniforms

Floats = NDArray[np.float64]
_SHAPES = (0.05, 2000.0)  # of a Weibull: coefficients of variation from 0.0007 to 10^8


class Arrivals(Spec):
    """A renewal process: independent gaps of one distribution, whose mean the request rate sets.

    Measured LLM traffic is burstier than Poisson; its gaps are fitted by Gammas and Weibulls (ServeGen, arXiv 2505.09999).

    Attributes:
        process: "poisson" (exponential gaps), "gamma", "weibull", or "constant".
        cv: standard deviation of the gaps over their mean, of "gamma" and "weibull"; 1 is Poisson, above is burstier.
    """

    shorthand: ClassVar[str | None] = "process"
    process: Literal["poisson", "gamma", "weibull", "constant"] = "poisson"
    cv: float | None = Field(None, ge=0.01, le=100)

    @model_validator(mode="after")
    def _cv_where_free(self) -> Self:
        free = self.process in ("gamma", "weibull")
        if free and self.cv is None:
            raise InputError(f"is required for {self.process}", path="cv", hint="1 is Poisson, 3 is bursty")
        if not free and self.cv is not None:
            raise InputError(f"is fixed for {self.process}", path="cv", value=self.cv, hint="take gamma or weibull")
        return self


def start_times(arrivals: Arrivals | None, seed: int, purpose: str, n: int) -> Floats:
    """n arrival times of the process (None: Poisson) at 1 per second, the first at 0; f8, sorted."""
    process = "poisson" if arrivals is None else arrivals.process
    if process == "constant":
        gaps = np.ones(n)
    elif process == "gamma":
        shape = 1 / arrivals.cv**2  # type: ignore[union-attr, operator]
        gaps = generator(seed, purpose).standard_gamma(shape, n) / shape
    else:
        gaps = -np.log1p(-uniforms(seed, purpose, n))
        if process == "weibull":
            shape = weibull_shape(arrivals.cv)  # type: ignore[union-attr, arg-type]
            gaps = gaps ** (1 / shape) / math.gamma(1 + 1 / shape)
    gaps[0] = 0.0
    return np.cumsum(gaps)


def weibull_shape(cv: float) -> float:
    """Shape k of the Weibull distribution whose coefficient of variation is `cv`, by bisection.

    cv^2 = Gamma(1 + 2/k) / Gamma(1 + 1/k)^2 - 1, which falls with k.
    """
    low, high = (math.log(shape) for shape in _SHAPES)
    for _ in range(80):
        middle = (low + high) / 2
        inverse = math.exp(-middle)
        spread = math.lgamma(1 + 2 * inverse) - 2 * math.lgamma(1 + inverse)
        if spread > math.log1p(cv * cv):
            low = middle
        else:
            high = middle
    return math.exp((low + high) / 2)
