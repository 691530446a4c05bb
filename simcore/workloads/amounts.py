"""Amounts that vary from request to request: token counts and think times, from named or given distributions.

A distribution is written in one of four ways: `{constant: 512}` (or just `512`), `{p50: 129, p99: 601}` (lognormal through
two quantiles; p90 may stand for p99), `{mean: 338}` (geometric for tokens, exponential for times), `{low: 100, high: 200}`
(uniform), or by the name of a published one. Each draw uses one uniform number, so that two workloads with the same seed
differ only in what was changed.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from statistics import NormalDist
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from simcore.errors import InputError, did_you_mean
from simcore.specs.base import Seconds, Spec

PUBLISHED: dict[str, dict[str, Any]] = {
    # Azure/AzurePublicDataset, AzureLLMInferenceTrace_{conv,code}.csv, 2023-11 (Splitwise, ISCA 2024), quantiles of all rows.
    # Means of the fits: 1,223 (data 1,155), 161 (211, two humps), 1,873 (2,048), 29 (28).
    "azure-conv-input": {"p50": 1020, "p99": 4142},
    "azure-conv-output": {"p50": 129, "p99": 601},
    "azure-code-input": {"p50": 1469, "p99": 7436},
    "azure-code-output": {"p50": 13, "p99": 251},
    # kvcache-ai/Mooncake, FAST25-release conversation trace, 2025. The input fit has p90 27,600 (data 27,367), mean 12,400
    # (12,035); the output fit p90 664 (597), mean 396 (343).
    "mooncake-conversation-input": {"p50": 6909, "p99": 85400},
    "mooncake-conversation-output": {"p50": 350, "p99": 1118},
    # ShareGPT as used by vLLM (SOSP 2023): only the means are published, the shape is an assumption.
    "sharegpt-input": {"mean": 161.31},
    "sharegpt-output": {"mean": 337.99},
    # callanjfox/kv-cache-tester, 116 coding-agent conversations, 2026: think time of 6,136 requests.
    "coding-agent-think": {"p50": "13 s", "p90": "185 s"},
}
_WAYS = "exactly one of: constant, p50 with p90 or p99, mean, low with high, published"
_WAY_KEYS = {frozenset(keys) for keys in (("constant",), ("mean",), ("low", "high"), ("p50", "p90"), ("p50", "p99"))}


def uniforms(seed: int, purpose: str, n: int) -> NDArray[np.float64]:
    """n numbers strictly inside (0, 1) from the stream of (seed, purpose); streams of different purposes are independent."""
    return np.clip(generator(seed, purpose).random(n), 2.0**-54, 1 - 2.0**-53)


def generator(seed: int, purpose: str) -> np.random.Generator:
    """The stream of (seed, purpose)."""
    return np.random.Generator(np.random.PCG64([seed, zlib.crc32(purpose.encode())]))


class _Amount(Spec):
    """What token counts and times have in common: which way the distribution is given, and its inverse."""

    shorthand: ClassVar[str | None] = "published"
    published: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _read(cls, raw: Any) -> Any:
        if isinstance(raw, (int, float)) and not isinstance(raw, bool):
            return {"constant": raw}
        expanded = cls.expand(raw)
        if not isinstance(expanded, Mapping) or expanded.get("published") is None:
            return expanded
        name = expanded["published"]
        if name not in PUBLISHED:
            raise InputError("unknown distribution", path="published", value=name, hint=did_you_mean(str(name), PUBLISHED))
        return {**PUBLISHED[name], **{key: value for key, value in expanded.items() if key != "published"}}

    def _parameters(self) -> dict[str, float]:
        raise NotImplementedError

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        given = self._parameters()
        if frozenset(given) not in _WAY_KEYS:
            raise InputError(f"needs {_WAYS}", value=", ".join(given) or "none of them")
        for low, high in (("low", "high"), ("p50", "p90"), ("p50", "p99")):
            if low in given and high in given and given[high] < given[low]:
                raise InputError(f"must not be below {low}", path=high, value=given[high])
        if given.get("p50") == 0:
            raise InputError("must be positive", path="p50", value=0)
        return self


def _quantile(given: Mapping[str, float], u: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Lognormal quantiles by median and an upper quantile, or the constant; None for the other ways."""
    if "constant" in given:
        return np.full(len(u), given["constant"])
    if "p50" not in given:
        return None
    normal = NormalDist()
    upper, share = (given["p90"], 0.9) if "p90" in given else (given["p99"], 0.99)
    sigma = np.log(upper / given["p50"]) / normal.inv_cdf(share)
    z = np.fromiter(map(normal.inv_cdf, u.tolist()), np.float64, len(u)) if sigma else np.zeros(len(u))
    result: NDArray[np.float64] = given["p50"] * np.exp(sigma * z)
    return result


class Tokens(_Amount):
    """A number of tokens, a whole number of at least 1."""

    constant: int | None = Field(None, ge=1)
    p50: float | None = Field(None, ge=1)
    p90: float | None = Field(None, ge=1)
    p99: float | None = Field(None, ge=1)
    mean: float | None = Field(None, ge=1)
    low: int | None = Field(None, ge=1)
    high: int | None = Field(None, ge=1)
    at_least: int = Field(1, ge=1)
    at_most: int = Field(1_000_000, ge=1, le=100_000_000)

    def _parameters(self) -> dict[str, float]:
        names = ("constant", "p50", "p90", "p99", "mean", "low", "high")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def draw(self, u: NDArray[np.float64]) -> NDArray[np.int64]:
        """One count for each uniform number, by the inverse of the distribution; i8, same shape."""
        given = self._parameters()
        values = _quantile(given, u)
        if "mean" in given:  # geometric on 1, 2, ...
            values = np.ceil(np.log1p(-u) / np.log1p(-1 / given["mean"])) if given["mean"] > 1 else np.ones(len(u))
        elif values is None:
            values = given["low"] + np.floor(u * (given["high"] - given["low"] + 1))
        return np.clip(np.rint(values), self.at_least, max(self.at_least, self.at_most)).astype(np.int64)


class Think(_Amount):
    """A time between an answer and the next question."""

    constant_s: Seconds | None = None
    p50_s: Seconds | None = None
    p90_s: Seconds | None = None
    p99_s: Seconds | None = None
    mean_s: Seconds | None = None
    low_s: Seconds | None = None
    high_s: Seconds | None = None
    at_most_s: Seconds = 86400.0

    @classmethod
    def expand(cls, raw: Any) -> Any:
        if isinstance(raw, str) and raw not in PUBLISHED and raw[:1].isdigit():
            return {"constant": raw}
        return super().expand(raw)

    def _parameters(self) -> dict[str, float]:
        names = ("constant", "p50", "p90", "p99", "mean", "low", "high")
        return {name: getattr(self, f"{name}_s") for name in names if getattr(self, f"{name}_s") is not None}

    def draw(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        """One time in seconds for each uniform number, by the inverse of the distribution; f8, same shape."""
        given = self._parameters()
        values = _quantile(given, u)
        if "mean" in given:
            values = -given["mean"] * np.log1p(-u)
        elif values is None:
            values = given["low"] + u * (given["high"] - given["low"])
        return np.minimum(values, self.at_most_s)
