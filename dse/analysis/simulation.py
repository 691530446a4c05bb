"""One simulated scenario as a text: the scenario in words, tiers, latencies, load, costs, and what the words mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dse.analysis.labels import INACTIVE, metric_label, word
from dse.analysis.table import Column, render, table_width
from dse.analysis.tenant_table import tenant_data, tenant_lines
from dse.analysis.values import Scale, listing, percent, scale_for, wrapped
from simcore import find_metric, tenant_outcomes
from simcore.units import GIB, format_value

if TYPE_CHECKING:
    from simcore import Errors, Outcome

Values = Mapping[str, float | None]
LATENCIES = ("ttft", "tpot", "e2e")
WAITS = ("queue_mean", "load_mean", "transfer_mean")
REACHED = 0.01
"""A cache that finds this little less than the ceiling holds all that is reused."""
STATISTICS = ("mean", "p50", "p90", "p99")
LOAD = ("request_rate", "sustainable_rate", "utilisation", "saturated", "throughput", "goodput", "prefill_busy", "decode_busy")
COUNTS = ("preemptions", "recomputed_tokens", "rejected_requests")
COSTS = (
    "hbm_bytes",
    "hbm_cost_usd",
    "memory_cost_usd",
    "system_cost_usd",
    "cost_usd_per_million_tokens",
    "energy_j_per_token",
    "quality_loss",
)
REUSE = ("hit_ratio", "block_hit_ratio", "hit_ceiling")
TENANTS = ("fairness_jain", "fairness_jain_hits")
DEFINED = ("ttft_p99", "tpot_p99", "hit_ratio", "hit_ceiling", "utilisation", "saturated", "throughput", "hbm_bytes")
SUMMARY = (
    *(f"{name}_{statistic}" for name in ("ttft", "tpot", "e2e") for statistic in ("p50", "p90", "p99")),
    *LOAD,
    *REUSE,
    *TENANTS,
    *COUNTS,
    *COSTS,
)


@dataclass(frozen=True)
class Simulated:
    """A member of a scenario set (or the only scenario) with what its simulation gave."""

    name: str
    outcome: Outcome
    metrics: Values
    errors: Errors | None = None

    def off_by(self) -> dict[str, Any] | None:
        """Expected relative errors of the latencies, and what they rest on."""
        return None if self.errors is None else {"kind": self.errors.kind, **off_by(self.metrics, self.errors)}

    def tiers(self) -> list[dict[str, Any]]:
        """One mapping per tier, top to bottom: the shape of `--json`."""
        busy = {link.name: link.busy for link in self.outcome.links}
        return [
            {
                "name": tier.name,
                "capacity_bytes": tier.capacity_bytes,
                "hit_ratio": self.metrics.get(f"hit_ratio_{tier.name}"),
                "prompt_share": self.metrics.get(f"prompt_share_{tier.name}"),
                "bytes_in": tier.bytes_in,
                "bytes_out": tier.bytes_out,
                "bytes_resident": tier.bytes_resident,
                "refused_bytes": tier.refused_bytes,
                "link_busy": busy.get(tier.name),
            }
            for tier in self.outcome.tiers
        ]

    def tenants(self) -> list[dict[str, Any]]:
        """One mapping per tenant: the shape of `--json`."""
        return tenant_data(tenant_outcomes(self.outcome))


def tier_lines(run: Simulated) -> list[str]:
    """The table of tiers, links that belong to no tier under it."""
    tiers = run.tiers()
    moved = scale_for("bytes", [t[k] for t in tiers for k in ("bytes_in", "bytes_out")])

    def column(head: str, sub: str, key: str, show: Any, last: str = "") -> Column:
        cells = [INACTIVE if t[key] is None else show(t[key]) for t in tiers]
        return Column(head, sub, (*cells, last))

    columns = [
        Column("tier", "", (*(word(t["name"]) for t in tiers), "prefill"), "left"),
        column("capacity", "GiB", "capacity_bytes", lambda b: f"{b / GIB:.4g}"),
        column("hit ratio", "of rest %", "hit_ratio", percent),
        column("tokens", "from it %", "prompt_share", percent, percent(run.metrics.get("prompt_share_prefill"))),
        column("in", moved.label, "bytes_in", moved.number),
        column("out", moved.label, "bytes_out", moved.number),
        column("refused", moved.label, "refused_bytes", moved.number),
        column("link busy", "%", "link_busy", percent),
    ]
    lines = render(columns)
    others = [link for link in run.outcome.links if link.name not in run.outcome.tier_names]
    for link in others:
        read, written = (moved.text(b) for b in (link.bytes_read, link.bytes_written))
        lines.append(f" {link.name} link: {read} read, {written} written, busy {percent(link.busy)} %")
    return [*lines, " Bytes are those of all replicas together."]


def regime(run: Simulated) -> str:
    """Whether what is reused fits, and where: this decides whether a lower tier can help at all."""
    ceiling, found = run.metrics.get("hit_ceiling"), run.metrics.get("hit_ratio")
    if ceiling is None or found is None:
        return ""
    so_far, names = 0.0, list[str]()
    for tier in run.outcome.tier_names:
        so_far += run.metrics.get(f"prompt_share_{tier}") or 0.0
        names.append(word(tier))
        if so_far >= ceiling - REACHED:
            rest = " Lower tiers cannot help." if len(names) < len(run.outcome.tiers) else ""
            return f"What is reused fits {listing(names)}: {_found(found, ceiling)}.{rest}"
    last = run.outcome.tiers[-1]
    lost = (last.dropped_bytes + last.refused_bytes) / max(last.bytes_in + last.refused_bytes, 1)
    text = f"Not all that is reused is found: {_found(found, ceiling)}. {names[-1]} lost {percent(lost)} % of what came "
    return f"{text}to it; prefixes held by another replica or not yet computed are not found either."


def _found(found: float, ceiling: float) -> str:
    return f"{percent(found)} % of prompt tokens found of the {percent(ceiling)} % that any cache could find"


def off_by(values: Values, errors: Errors) -> dict[str, float | None]:
    """Expected relative error of each latency."""
    e2e = errors.e2e(values.get("ttft_mean_s"), values.get("e2e_mean_s"))
    return {"ttft": errors.ttft, "tpot": errors.tpot, "e2e": e2e}


def latency_lines(values: Values, errors: Errors | None = None) -> list[str]:
    """Mean and percentiles of each latency that applies, with its expected error; one line each, one unit a line."""
    rows = []
    for name in LATENCIES:
        found = [values.get(f"{name}_{s}_s") for s in STATISTICS]
        if any(v is not None for v in found):
            scale = scale_for("s", found)
            label = f"{word(name)} {scale.label}"
            off = off_by(values, errors)[name] if errors is not None else None
            cells = [INACTIVE if v is None else scale.number(v) for v in found]
            rows.append((label, [*cells, "?" if off is None else f"{percent(off)} %"]))
    columns = [Column("latency", "", tuple(label for label, _ in rows), "left")]
    columns += [Column(s, "", tuple(cells[i] for _, cells in rows)) for i, s in enumerate(STATISTICS)]
    if errors is not None:
        columns.append(Column("off by", "", tuple(cells[-1] for _, cells in rows)))
    return render(columns)


def error_sentence(errors: Errors | None) -> str:
    """What the expected errors rest on."""
    if errors is None:
        return ""
    unknown = "" if errors.ttft is not None else "; how far off was never measured (?)"
    return f" Step times: {errors.kind}{unknown}."


def load_sentence(values: Values) -> str:
    """Under which load the latencies are: beside them, since none means anything without it."""
    load = values.get("utilisation")
    if load is None:
        return " Load: how much of what the system sustains is unknown, too few requests to queue."
    closed = values.get("saturated") == 0.0 and load >= 1.0
    state = "saturated" if values.get("saturated") else "a closed loop, which cannot saturate" if closed else "not saturated"
    return f" Load: {percent(load)} % of the sustainable rate, {state}."


def pairs_line(label: str, names: Sequence[str], values: Values, width: int) -> list[str]:
    """ "label  name value, name value": the metrics of `names` that are known here."""
    parts = []
    for name in names:
        metric = find_metric(name)
        value = values.get(metric.key)
        if value is not None:
            parts.append(f"{metric_label(metric)} {format_value(value, metric.unit)}")
    return wrapped(f" {label:<10}{', '.join(parts)}", width, " " * 11) if parts else []


def member_table(runs: Sequence[Simulated], combined: Values, how: str, width: int) -> list[str]:
    """Every metric by member, and combined over the scenario set; members that do not fit go into a further table."""
    metrics = [m for m in map(find_metric, SUMMARY) if combined.get(m.key) is not None]
    rows = [*(r.metrics for r in runs), combined]
    scales = [scale_for(m.unit, [values.get(m.key) for values in rows]) for m in metrics]
    labels = tuple(f"{metric_label(m)} {scale.label}".strip() for m, scale in zip(metrics, scales, strict=True))
    heads = {r.name.partition("=")[0] for r in runs}
    group = heads.pop() if len(heads) == 1 and all("=" in r.name for r in runs) else ""
    names = [(r.name.partition("=")[2] if group else r.name, group) for r in runs]
    columns = []
    for (name, shared), values in zip([*names, (how, "")], rows, strict=True):
        cells = tuple(_cell(m, values.get(m.key), scale) for m, scale in zip(metrics, scales, strict=True))
        columns.append(Column("" if shared else name, name if shared else "", cells, group=shared))
    lines: list[str] = []
    label = Column("", "", labels, "left")
    while columns:
        taken = [columns.pop(0)]
        while columns and table_width([label, *taken, columns[0]]) <= width:
            taken.append(columns.pop(0))
        lines += [*render([label, *taken]), ""]
    return lines[:-1]


def _cell(metric: Any, value: float | None, scale: Scale) -> str:
    return ("yes" if value else "no") if metric.unit == "bool" else scale.number(value)


def definitions(values: Values, width: int) -> list[str]:
    """What the words that differ in the field mean here."""
    lines = ["What the words mean"]
    for name in DEFINED:
        metric = find_metric(name)
        if values.get(metric.key) is not None:
            lines += wrapped(f"  {metric_label(metric)}: {metric.definition}.", width, "    ")
    lines += wrapped("  hit ratio of rest: prompt tokens found in a tier over those not found above it.", width, "    ")
    return lines


def warnings(values: Values) -> list[str]:
    """What keeps this scenario from being a design to build, one sentence each."""
    found = []
    excess, load, rejected = (values.get(key) for key in ("hbm_excess_bytes", "utilisation", "rejected_requests"))
    if excess is not None and excess > 0:
        found.append(f"Does not fit: {format_value(excess, 'bytes')} per GPU more than there is.")
    if values.get("saturated"):
        at = f", at {percent(load)} % of what it sustains" if load is not None else ""
        found.append(f"Saturated{at}: the latencies below grow with the length of the trace.")
    if rejected:
        found.append(f"{rejected:.0f} requests are longer than the HBM pool or engine.max_model_len and were not served.")
    return found


def simulation_lines(run: Simulated, width: int) -> list[str]:
    """Tables and figures of one member."""
    values = run.metrics
    said = [sentence for sentence in (*warnings(values), regime(run)) if sentence]
    lines = [line for sentence in said for line in wrapped(sentence, width, "  ")]
    lines += ["", *tier_lines(run), "", *latency_lines(values, run.errors)]
    lines += [*wrapped(load_sentence(values) + error_sentence(run.errors), width, "   "), ""]
    if tenants := tenant_lines(tenant_outcomes(run.outcome)):
        lines += [*tenants, ""]
    for label, names in (
        ("waits", WAITS),
        ("load", LOAD),
        ("reuse", REUSE),
        ("tenants", TENANTS),
        ("events", COUNTS),
        ("cost", COSTS),
    ):
        lines += pairs_line(label, names, values, width)
    return lines
