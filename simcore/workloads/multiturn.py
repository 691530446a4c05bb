"""Clients that each hold one conversation of a fixed number of rounds, as in SGLang's hierarchical-cache benchmark.

Every round adds `new_tokens` to what was said before, answers included. With a barrier a round starts when the one before
has finished for all clients. With constant new tokens that fill whole blocks and answers of one token, round k (from 0)
finds exactly k of the k+1 parts of its prompt in a cache that lost nothing.
Source: sgl-project/sglang, benchmark/hicache/bench_multiturn.py (options num-clients, num-rounds, request-length,
output-length, enable-round-barrier).
"""

from __future__ import annotations

from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator

from simcore.errors import InputError
from simcore.traces.trace import Trace, earliest_arrival
from simcore.workloads.amounts import Think, Tokens, uniforms
from simcore.workloads.arrivals import start_times
from simcore.workloads.spec import WorkloadSpec
from simcore.workloads.streams import offered, stream_trace


class Params(WorkloadSpec):
    """Parameters of `multiturn`.

    Attributes:
        clients, rounds: conversations, and turns of each.
        new_tokens, output_tokens: of a question, of an answer.
        barrier: no client starts a round before all have finished the one before.
        think_time: from an answer to the client's next question; none with a barrier.
        request_rate: clients start as a Poisson process, scaled so that all rounds together give this rate; none with a
            barrier. Without it all clients start at once.
    """

    kind: Literal["multiturn"] = "multiturn"
    clients: int = Field(20, ge=1, le=1_000_000)
    rounds: int = Field(9, ge=1, le=10_000)
    new_tokens: Tokens = Tokens(constant=4096)
    output_tokens: Tokens = Tokens(constant=1)
    barrier: bool = True
    think_time: Think = Think(constant_s=0.0)

    @model_validator(mode="after")
    def _barrier_alone(self) -> Self:
        if self.barrier and self.request_rate is not None:
            hint = "set barrier: false, or limit it by concurrency"
            raise InputError("a barrier starts every round at once", path="request_rate", value=self.request_rate, hint=hint)
        if self.barrier and self.think_time != Think(constant_s=0.0):
            raise InputError("a barrier starts every round at once", path="think_time", hint="set barrier: false")
        return self


def generate(params: Params, seed: int) -> Trace:
    """The workload as a trace; same parameters and seed, same trace."""
    shape = (params.rounds, params.clients)
    n = params.rounds * params.clients
    question = params.new_tokens.draw(uniforms(seed, "new", n)).reshape(shape)
    answer = params.output_tokens.draw(uniforms(seed, "output", n)).reshape(shape)
    prompt = np.cumsum(question + answer, axis=0) - answer
    turn, client = np.divmod(np.arange(n), params.clients)
    chained = (turn > 0) & (not params.barrier)
    after = np.where(chained, np.arange(n) - params.clients, -1)
    think_s = np.where(chained, params.think_time.draw(uniforms(seed, "think", n)), 0.0)
    starts = np.zeros(params.clients)
    if params.request_rate is not None:
        starts = start_times(params.arrivals, seed, "start", params.clients)
    trace = stream_trace(
        arrival_s=earliest_arrival(starts[client], after, think_s),
        prompt=prompt.ravel(),
        output=answer.ravel(),
        stream=client,
        tenant=np.zeros(n, np.int64),
        head_tokens=np.zeros(n, np.int64),
        after=after,
        think_s=think_s,
        wave=turn if params.barrier else np.zeros(n, np.int64),
        source=f"multiturn, {params.clients} clients of {params.rounds} rounds, seed {seed}",
    )
    return offered(trace, params)
