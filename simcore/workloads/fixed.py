"""Prompts and answers of one length, or varied about it, with nothing in common: what benchmark clients send.

As `vllm bench serve --dataset-name random` or `sglang.bench_serving --dataset-name random` with `--max-concurrency`: a closed
loop of `concurrency` clients over `rounds` times as many requests. With lengths of one size the clients stay in lockstep, each
wave a burst of prefills, and TTFT is several times that of lengths that vary ("0.8-1.0" is a random-range-ratio of 0.8).
"""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from simcore.errors import InputError
from simcore.traces.trace import Trace
from simcore.workloads.amounts import uniforms
from simcore.workloads.arrivals import start_times
from simcore.workloads.spec import WorkloadSpec
from simcore.workloads.streams import Ints, offered, stream_trace

ROUNDS = 10


def _shares(value: Any) -> Any:
    """ "fixed", or "low-high" in its shortest form."""
    found = re.fullmatch(r"\s*(\d*\.?\d+)\s*-\s*(\d*\.?\d+)\s*", value) if isinstance(value, str) else None
    if value == "fixed":
        return value
    if found is None or not 0 < float(found[1]) <= float(found[2]) <= 10:
        raise InputError("must be fixed, or two shares between 0 and 10", value=value, hint="for example 0.8-1.0")
    low, high = float(found[1]), float(found[2])
    return "fixed" if low == high == 1 else f"{low:g}-{high:g}"


class Params(WorkloadSpec):
    """Parameters of `fixed`.

    Attributes:
        isl, osl: tokens of a prompt, of an answer.
        lengths: "fixed", or shares of `isl` and `osl` between which both lengths are uniform, each for itself: "0.8-1.0".
        rounds: requests of each client of a closed loop; None: 10, or as `requests` says.
    """

    concurrency_shapes_requests: ClassVar[bool] = True
    kind: Literal["fixed"] = "fixed"
    isl: int = Field(1024, ge=1, le=10_000_000)
    osl: int = Field(128, ge=1, le=10_000_000)
    lengths: Annotated[str, BeforeValidator(_shares)] = "fixed"
    rounds: int | None = Field(None, ge=1, le=100_000)

    @model_validator(mode="after")
    def _so_many(self) -> Self:
        if self.rounds is not None and self.requests is not None:
            raise InputError("excludes requests", path="rounds", value=self.rounds, hint="give one of the two")
        if self.rounds is not None and self.concurrency is None:
            raise InputError("needs a concurrency", path="rounds", value=self.rounds, hint="give requests instead")
        return self

    @property
    def count(self) -> int:
        """How many requests.

        Raises:
            InputError: neither `concurrency` nor `requests` says so.
        """
        if self.requests is not None:
            return self.requests
        if self.concurrency is None:
            raise InputError("is required without a concurrency", path="requests", hint="write requests: 1000")
        return (self.rounds or ROUNDS) * self.concurrency


def generate(params: Params, seed: int) -> Trace:
    """The workload as a trace; same parameters and seed, same trace.

    Raises:
        InputError: as `Params.count`.
    """
    n = params.count
    arrival_s = np.zeros(n) if params.request_rate is None else start_times(params.arrivals, seed, "arrival", n)
    none = np.zeros(n, np.int64)
    trace = stream_trace(
        arrival_s=arrival_s,
        prompt=_lengths(params, params.isl, seed, "prompt", n),
        output=_lengths(params, params.osl, seed, "output", n),
        stream=np.arange(n),
        tenant=none,
        head_tokens=none,
        after=none - 1,
        think_s=np.zeros(n),
        wave=none,
        source=f"{n} requests of {params.isl} + {params.osl} tokens, lengths {params.lengths}, seed {seed}",
    )
    return offered(trace, params)


def _lengths(params: Params, tokens: int, seed: int, purpose: str, n: int) -> Ints:
    if params.lengths == "fixed":
        return np.full(n, tokens, np.int64)
    low, high = (float(share) * tokens for share in params.lengths.split("-"))
    drawn = low + (high - low) * uniforms(seed, purpose, n)
    return np.maximum(np.rint(drawn), 1).astype(np.int64)
