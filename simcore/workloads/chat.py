"""Chat sessions: tenants with a system prompt each, users who read the answer, think, and ask again with the whole history.

A session picks a tenant by Zipf popularity (weight 1/rank^zipf) and has a geometric number of turns. The prompt of a turn
is the tenant's system prompt, all earlier questions and answers, and a new question; it is sent a think time after the
previous answer ended. Prompts and answers have ids, in granules of 16 tokens.

The load is a window of requests / request_rate seconds cut out of a stationary day: sessions start in it as a Poisson
process, and turns that would come after its end come as much later than its beginning instead. Those stand for sessions
under way when the window opens: their first prompt carries a history that no cache has seen (`warmup` leaves it out of the
metrics). So all turns together arrive at `request_rate` from the first second to the last, where the time that answering
takes is neglected against the think time. Changing only the rate keeps every session, length and think time; it moves the
starts, and which sessions the edge of the window cuts in two. In a closed loop (`concurrency`) sessions are whole.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from simcore.errors import InputError
from simcore.traces.trace import Trace
from simcore.workloads.amounts import Think, Tokens, uniforms
from simcore.workloads.arrivals import start_times
from simcore.workloads.spec import WorkloadSpec
from simcore.workloads.streams import Floats, Ints, stream_trace


class Params(WorkloadSpec):
    """Parameters of `chat`.

    Attributes:
        requests: turns of all sessions together; the last session is cut to fit.
        tenants: how many system prompts there are.
        zipf: exponent of tenant popularity; 0: all alike.
        system_tokens: length of a tenant's system prompt.
        user_tokens, output_tokens: of a question, of an answer.
        turns: mean turns a session, before the cap `max_turns`.
        think_time: from the end of an answer to the next question.
    """

    kind: Literal["chat"] = "chat"
    requests: int = Field(2000, ge=1, le=10_000_000)
    tenants: int = Field(20, ge=1, le=1_000_000)
    zipf: float = Field(1.0, ge=0, le=10)
    system_tokens: Tokens = Tokens(constant=512)
    user_tokens: Tokens = Tokens(p50=1020, p99=4142)
    output_tokens: Tokens = Tokens(p50=129, p99=601)
    turns: float = Field(4.0, ge=1, le=1000)
    max_turns: int = Field(12, ge=1, le=1000)
    think_time: Think = Think(p50_s=25.0, p90_s=100.0)


def generate(params: Params, seed: int) -> Trace:
    """The workload as a trace; same parameters and seed, same trace.

    Raises:
        InputError: neither `request_rate` nor `concurrency` is given.
    """
    if params.request_rate is None and params.concurrency is None:
        raise InputError("is required, or concurrency", path="request_rate", hint="write request_rate: 4")
    n = params.requests
    session, turn = _sessions(params, seed)
    tenant = _tenants(params, seed, int(session[-1]) + 1)[session]
    system = params.system_tokens.draw(uniforms(seed, "system", params.tenants))[tenant]
    user = params.user_tokens.draw(uniforms(seed, "user", n))
    output = params.output_tokens.draw(uniforms(seed, "output", n))
    prompt = system + _running(user, turn) + _running(output, turn) - output
    think_s = np.where(turn > 0, params.think_time.draw(uniforms(seed, "think", n)), 0.0)
    arrival_s, chained = _arrivals(params, seed, session, think_s)
    return stream_trace(
        arrival_s=arrival_s,
        prompt=prompt,
        output=output,
        stream=np.cumsum(~chained) - 1,
        tenant=tenant,
        head_tokens=system,
        after=np.where(chained, np.arange(n) - 1, -1),
        think_s=np.where(chained, think_s, 0.0),
        wave=np.zeros(n, np.int64),
        source=f"chat, {n} requests in {int(session[-1]) + 1} sessions of {params.tenants} tenants, seed {seed}",
    )


def _sessions(params: Params, seed: int) -> tuple[Ints, Ints]:
    """Session and turn number of each request, session by session."""
    n = params.requests
    u = uniforms(seed, "turns", n)
    turns = np.ones(n) if params.turns == 1 else np.ceil(np.log1p(-u) / np.log1p(-1 / params.turns))
    length = np.clip(turns, 1, params.max_turns).astype(np.int64)
    ends = np.cumsum(length)
    count = int(np.searchsorted(ends, n)) + 1
    session = np.repeat(np.arange(count), length[:count])[:n]
    return session, np.arange(n) - (ends - length)[session]


def _tenants(params: Params, seed: int, sessions: int) -> Ints:
    weight = np.arange(1, params.tenants + 1) ** -params.zipf
    share = np.cumsum(weight) / weight.sum()
    picked = np.searchsorted(share, uniforms(seed, "tenant", sessions))
    return np.minimum(picked, params.tenants - 1)


def _arrivals(params: Params, seed: int, session: Ints, think_s: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Earliest arrival of each request, and whether it follows the one before it; both session by session."""
    each = np.arange(len(session))
    chained = np.append(False, session[1:] == session[:-1])
    starts = start_times(params.arrivals, seed, "start", int(session[-1]) + 2)
    thought = np.cumsum(think_s)
    first = np.maximum.accumulate(np.where(chained, 0, each))
    arrival_s = starts[session] + thought - thought[first]
    if params.request_rate is None:
        return arrival_s, chained

    window_s = len(session) / params.request_rate
    lap, within_s = np.divmod(starts[session] * (window_s / starts[-1]) + thought - thought[first], window_s)
    chained[1:] &= lap[1:] == lap[:-1]
    roots = within_s[~chained]
    if len(roots) > 1:  # stretched by less than one gap at each end, so that requests over span is the rate to the digit
        within_s = (within_s - roots.min()) * (window_s / (roots.max() - roots.min()))
    first = np.maximum.accumulate(np.where(chained, 0, each))
    return within_s[first] + thought - thought[first], chained


def _running(values: Ints, turn: Ints) -> Ints:
    """Sums over the turns of each session so far, the present one included."""
    total = np.cumsum(values)
    first = np.arange(len(turn)) - turn
    return total - np.where(first > 0, total[first - 1], 0)
