"""The tenants of a simulated workload, as a table and as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from dse.analysis.table import Column, render
from dse.analysis.values import percent, scale_for
from simcore import TenantOutcome

MOST = 8
"""Tenants that the table names: those with the most prompt tokens."""


def tenant_lines(tenants: Sequence[TenantOutcome]) -> list[str]:
    """The table of the largest tenants; nothing where there is only one."""
    if len(tenants) < 2:
        return []
    shown = sorted(tenants, key=lambda t: (-t.prompt_tokens, t.tenant))[:MOST]
    prompt = sum(t.prompt_tokens for t in tenants)

    def column(head: str, unit: str, key: str) -> Column:
        values = [getattr(t, key) for t in shown]
        scale = scale_for(unit, values)
        return Column(head, scale.label, tuple(map(scale.number, values)))

    columns = [
        Column("tenant", "", tuple(str(t.tenant) for t in shown), "left"),
        Column("requests", "", tuple(str(t.requests) for t in shown)),
        Column("prompts", "% of all", tuple(percent(t.prompt_tokens / prompt) for t in shown)),
        Column("hit ratio", "%", tuple(percent(t.hit_ratio) for t in shown)),
        column("TTFT p50", "s", "ttft_p50_s"),
        column("TTFT p99", "s", "ttft_p99_s"),
        column("output", "tokens/s", "throughput_tokens_per_s"),
        column("speed", "tokens/s", "speed_tokens_per_s"),
    ]
    more = f" The {MOST} largest of {len(tenants)} tenants." if len(tenants) > MOST else ""
    return [*render(columns), f" Speed: output tokens per second of latency.{more}"]


def tenant_data(tenants: Sequence[TenantOutcome]) -> list[dict[str, Any]]:
    """One mapping per tenant: the shape of `--json`."""
    return [asdict(tenant) for tenant in tenants]
