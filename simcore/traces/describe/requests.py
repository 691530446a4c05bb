"""Requests with prompts and answers in numbers: lengths, sessions, the ideal prefix hit."""

from __future__ import annotations

from typing import Any

import numpy as np

from simcore.traces.describe.summary import summary
from simcore.traces.reuse import ideal_hit
from simcore.traces.trace import Trace


def describe_lengths(trace: Trace, *, blocks: bool) -> dict[str, Any]:
    """Tokens of prompts and answers, and, if the format has them, whole or partly filled blocks of a prompt."""
    count = -(-trace.input_tokens.astype(np.int64) // trace.granule_tokens)
    return {
        "input_tokens": summary(trace.input_tokens),
        "output_tokens": summary(trace.output_tokens),
        "prompt_blocks": summary(count) if blocks else None,
    }


def describe_sessions(trace: Trace) -> dict[str, Any] | str:
    """Sessions (None: each request is one), tenants, requests of a session, requests that wait for the answer before, and how
    long after it they come in s (`think_s`)."""
    _, requests = np.unique(trace.session, return_counts=True)
    alone = len(requests) == trace.n
    tenants = len(np.unique(trace.tenant))
    chained = trace.after >= 0
    if alone and tenants == 1 and not chained.any():
        return "the format tells none, or each request is a session of its own"
    return {
        "sessions": None if alone else len(requests),
        "tenants": tenants,
        "requests_per_session": None if alone else summary(requests),
        "chained_requests": int(chained.sum()),
        "think_s": summary(trace.think_s[chained]) if chained.any() else None,
    }


def describe_prefixes(trace: Trace) -> dict[str, float]:
    """What an unbounded prefix cache finds of all prompts, by blocks and by tokens: of each request the longest run of leading
    blocks that an earlier one contained, partly filled last blocks included."""
    ideal = ideal_hit(trace, partial_block=True, output=False, recompute_last=False)
    return {"prefix_hit_blocks": ideal.unit_ratio, "prefix_hit_tokens": ideal.token_ratio}
