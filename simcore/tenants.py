"""What each tenant of a simulated workload got, and how evenly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from simcore.outcome import Floats, Outcome


@dataclass(frozen=True)
class TenantOutcome:
    """One tenant over the counted requests. Of a tenant whose requests were all rejected, or in the warm-up, there is none.

    Attributes:
        throughput_tokens_per_s: its output tokens over the time from the first arrival to the last finish of all tenants.
        speed_tokens_per_s: its output tokens per second of its requests' latencies, arrival to last token.
    """

    tenant: int
    requests: int
    prompt_tokens: int
    output_tokens: int
    hit_ratio: float
    ttft_p50_s: float
    ttft_p99_s: float
    throughput_tokens_per_s: float
    speed_tokens_per_s: float


def tenant_outcomes(outcome: Outcome) -> list[TenantOutcome]:
    """The tenants by number; one if the workload has no tenants, none without a counted request."""
    m = len(outcome.arrival_s)
    if not m:
        return []
    tenant = outcome.tenant if len(outcome.tenant) else np.zeros(m, np.int64)
    order = np.argsort(tenant, kind="stable")
    numbers, first = np.unique(tenant[order], return_index=True)
    span_s = float(outcome.finish_s.max() - outcome.arrival_s.min())
    found = []
    for number, mine in zip(numbers.tolist(), np.split(order, first[1:]), strict=True):
        prompt, output = int(outcome.input_tokens[mine].sum()), int(outcome.output_tokens[mine].sum())
        p50, p99 = np.percentile(outcome.first_token_s[mine] - outcome.arrival_s[mine], [50, 99]).tolist()
        latency_s = float((outcome.finish_s[mine] - outcome.arrival_s[mine]).sum())
        found.append(
            TenantOutcome(
                tenant=number,
                requests=len(mine),
                prompt_tokens=prompt,
                output_tokens=output,
                hit_ratio=float(outcome.hit_tokens[mine].sum()) / prompt,
                ttft_p50_s=p50,
                ttft_p99_s=p99,
                throughput_tokens_per_s=output / span_s,
                speed_tokens_per_s=output / latency_s,
            )
        )
    return found


def jain(values: ArrayLike) -> float | None:
    """Jain's fairness index, (sum x)^2 / (n sum x^2): 1 when all are equal, 1/n when one has everything; None if all are 0.

    Source: Jain, Chiu, Hawe, DEC-TR-301, 1984.
    """
    x = np.asarray(values, np.float64)
    squares = float((x * x).sum())
    return float(x.sum()) ** 2 / (len(x) * squares) if squares > 0 else None


def fairness(outcome: Outcome) -> float | None:
    """Jain's index over tenants of their speed; None for fewer than two tenants."""
    return _between_tenants(outcome, outcome.output_tokens.astype(np.float64), outcome.finish_s - outcome.arrival_s)


def hit_fairness(outcome: Outcome) -> float | None:
    """Jain's index over tenants of their hit ratio; None for fewer than two tenants, or without a hit."""
    return _between_tenants(outcome, outcome.hit_tokens.sum(axis=1).astype(np.float64), outcome.input_tokens.astype(np.float64))


def _between_tenants(outcome: Outcome, above: Floats, below: Floats) -> float | None:
    """Jain's index of the sums of `above` over the sums of `below`, both (m,), by tenant."""
    if not len(outcome.tenant):
        return None
    there = np.bincount(outcome.tenant) > 0
    if there.sum() < 2:
        return None
    sums = (np.bincount(outcome.tenant, weights)[there] for weights in (above, below))
    return jain(np.divide(*sums))
