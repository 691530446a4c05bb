"""Groups of questions about one long text each: every prompt is its group's prefix and a question of its own.

Questions of all groups arrive in random order as a Poisson process. This is the load of tenants with a long system prompt each,
or of documents asked about several times.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from simcore.traces.trace import Trace
from simcore.workloads.amounts import Tokens, uniforms
from simcore.workloads.arrivals import start_times
from simcore.workloads.spec import WorkloadSpec
from simcore.workloads.streams import offered, stream_trace


class Params(WorkloadSpec):
    """Parameters of `shared_prefix`.

    Attributes:
        groups, questions: prefixes, and questions asked about each.
        prefix_tokens: length of a group's prefix.
        question_tokens, output_tokens: what a question adds, and its answer.
        request_rate: without it all questions arrive at once.
    """

    kind: Literal["shared_prefix"] = "shared_prefix"
    groups: int = Field(100, ge=1, le=1_000_000)
    questions: int = Field(6, ge=1, le=1_000_000)
    prefix_tokens: Tokens = Tokens(constant=1024)
    question_tokens: Tokens = Tokens(constant=256)
    output_tokens: Tokens = Tokens(constant=16)


def generate(params: Params, seed: int) -> Trace:
    """The workload as a trace; same parameters and seed, same trace."""
    n = params.groups * params.questions
    group = np.argsort(uniforms(seed, "order", n), kind="stable") % params.groups
    prefix = params.prefix_tokens.draw(uniforms(seed, "prefix", params.groups))[group]
    prompt = prefix + params.question_tokens.draw(uniforms(seed, "question", n))
    arrival_s = np.zeros(n) if params.request_rate is None else start_times(params.arrivals, seed, "arrival", n)
    trace = stream_trace(
        arrival_s=arrival_s,
        prompt=prompt,
        output=params.output_tokens.draw(uniforms(seed, "output", n)),
        stream=np.arange(n),
        tenant=group,
        head_tokens=prefix,
        after=np.full(n, -1),
        think_s=np.zeros(n),
        wave=np.zeros(n, np.int64),
        source=f"shared prefix, {params.groups} groups of {params.questions} questions, seed {seed}",
    )
    return offered(trace, params)
