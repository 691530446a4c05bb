"""The METRICS table: every number a user may ask for, with unit, direction, definition and how it is computed.

Short names are used in YAML and on screen; exported keys (CSV, parquet, JSON, MLflow) carry the unit (`ttft_p99_s`). Both are
accepted on input. A value of None means that it cannot be known for this scenario.

Latencies, waits, hit ratios and prompt shares are those of the requests after the warm-up; throughput, utilisation, energy,
bytes moved and the counts of events are those of the whole run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from simcore.errors import InputError, did_you_mean
from simcore.outcome import Floats, Outcome
from simcore.tenants import fairness, hit_fairness

Direction = Literal["min", "max"]
Compute = Callable[[Outcome], float | None]
AMORTISATION_S = 4 * 365.25 * 86400.0


@dataclass(frozen=True)
class Metric:
    """One row of METRICS. `suffix` is what the exported key adds to the short name."""

    name: str
    unit: str
    direction: Direction
    definition: str
    suffix: str = ""
    families: tuple[str, ...] = ("kv",)
    static: bool = False

    @property
    def key(self) -> str:
        """The exported key."""
        return self.name + self.suffix


_ROWS: list[tuple[Metric, Compute]] = []


def _row(
    name: str,
    unit: str,
    direction: Direction,
    definition: str,
    compute: Compute,
    *,
    suffix: str = "",
    static: bool = False,
) -> None:
    _ROWS.append((Metric(name, unit, direction, definition, suffix, ("kv",), static), compute))


def _static(name: str, unit: str, definition: str, *, suffix: str = "", direction: Direction = "min") -> None:
    key = name + suffix
    _row(name, unit, direction, definition, lambda o: o.static.get(key), suffix=suffix, static=True)


def ttft_s(outcome: Outcome) -> Floats:
    """(m,) seconds from arrival to the first output token."""
    return outcome.first_token_s - outcome.arrival_s


def tpot_s(outcome: Outcome) -> Floats:
    """Seconds per output token after the first, for requests with at least two output tokens."""
    many = outcome.output_tokens > 1
    return (outcome.finish_s - outcome.first_token_s)[many] / (outcome.output_tokens[many] - 1)


def e2e_s(outcome: Outcome) -> Floats:
    """(m,) seconds from arrival to the last output token."""
    return outcome.finish_s - outcome.arrival_s


def _percentile(times: Callable[[Outcome], Floats], q: float | None) -> Compute:
    def compute(outcome: Outcome) -> float | None:
        values = times(outcome)
        if len(values) == 0:
            return None
        return float(np.mean(values) if q is None else np.percentile(values, q))

    return compute


for _name, _times, _text in (
    ("ttft", ttft_s, "time from arrival to the first output token, queueing included"),
    ("tpot", tpot_s, "time per output token after the first, one value per request"),
    ("e2e", e2e_s, "time from arrival to the last output token"),
):
    for _label, _q in (("mean", None), ("p50", 50.0), ("p90", 90.0), ("p99", 99.0)):
        _row(f"{_name}_{_label}", "s", "min", f"{_label} of the {_text}", _percentile(_times, _q), suffix="_s")


def _throughput(o: Outcome) -> float | None:
    return o.total_output_tokens / o.duration_s if o.duration_s > 0 else None


def _request_rate(o: Outcome) -> float | None:
    return o.total_requests / o.duration_s if o.duration_s > 0 else None


def _goodput(o: Outcome) -> float | None:
    rate = _request_rate(o)
    if (o.slo_ttft_s is None and o.slo_tpot_s is None) or rate is None or len(o.arrival_s) == 0:
        return None
    good = np.ones(len(o.arrival_s), bool)
    if o.slo_ttft_s is not None:
        good &= ttft_s(o) <= o.slo_ttft_s
    if o.slo_tpot_s is not None:
        many = o.output_tokens > 1
        good[many] &= tpot_s(o) <= o.slo_tpot_s
    return float(good.mean()) * rate


def _over(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _hit_ratio(o: Outcome) -> float | None:
    prompt = int(o.input_tokens.sum())
    return float(o.hit_tokens.sum()) / prompt if prompt else None


def _utilisation(o: Outcome) -> float | None:
    offered = o.offered_rps if o.offered_rps is not None else _request_rate(o)
    return offered / o.sustainable_rps if offered is not None and o.sustainable_rps else None


def _saturated(o: Outcome) -> float | None:
    """An open-loop load at or above the sustainable rate; a closed loop waits for its answers and cannot saturate."""
    utilisation = _utilisation(o)
    return 0.0 if o.offered_rps is None or utilisation is None else float(utilisation >= 1.0)


def _cost_per_million(o: Outcome) -> float | None:
    system, tokens_per_s = o.static.get("system_cost_usd"), _throughput(o)
    return system / AMORTISATION_S / tokens_per_s * 1e6 if system is not None and tokens_per_s else None


def _energy(o: Outcome) -> float | None:
    power = o.static.get("gpu_power_w")
    return power * o.busy_s / o.total_output_tokens if power is not None and o.total_output_tokens else None


def _transfer_energy(o: Outcome) -> float | None:
    """Joules of all links per output token; None if a link that moved something does not say what a byte costs."""
    joules = 0.0
    for link in o.links:
        moved = link.bytes_read + link.bytes_written
        per_byte = o.static.get(f"transfer_j_per_byte_{link.name}")
        if moved and per_byte is None:
            return None
        joules += moved * (per_byte or 0.0)
    return joules / o.total_output_tokens if o.total_output_tokens else None


_row("throughput", "tokens/s", "max", "output tokens per second, first arrival to last finish", _throughput,
     suffix="_tokens_per_s")  # fmt: skip
_row("request_rate", "requests/s", "max", "requests finished per second, first arrival to last finish", _request_rate,
     suffix="_rps")  # fmt: skip
_row(
    "goodput",
    "requests/s",
    "max",
    "request_rate times the share of requests that met the scenario's slo",
    _goodput,
    suffix="_rps",
)
_row("sustainable_rate", "requests/s", "max",
     "rate at which these requests drain when all are waiting (the lower of that over the middle 80 % of the finishes and that "
     "from the start); unknown if too few to queue",
     lambda o: o.sustainable_rps, suffix="_rps")  # fmt: skip
_row("utilisation", "ratio", "min", "offered request rate over the sustainable rate", _utilisation)
_row("saturated", "bool", "min", "an open-loop load at or above the sustainable rate: latencies grow with the trace's length",
     _saturated)  # fmt: skip
_row("hit_ratio", "ratio", "max", "prompt tokens found in any tier at first admission over all prompt tokens", _hit_ratio)
_row("block_hit_ratio", "ratio", "max", "prompt blocks found at first admission over all prompt blocks, warm-up included",
     lambda o: _over(o.hit_blocks, o.prompt_blocks))  # fmt: skip
_row("hit_ceiling", "ratio", "max", "hit_ratio of a cache of unlimited size on this workload", lambda o: o.hit_ceiling)
_row("queue_mean", "s", "min", "mean time from arrival to admission",
     lambda o: float(o.queue_s.mean()) if len(o.queue_s) else None, suffix="_s")  # fmt: skip
_row("load_mean", "s", "min", "mean time a request waits for its blocks from lower tiers",
     lambda o: float(o.load_s.mean()) if len(o.load_s) else None, suffix="_s")  # fmt: skip
_row("transfer_mean", "s", "min",
     "with disaggregation: mean time from the first token in the engine until the KV is on a decode replica with room for it",
     lambda o: float(o.transfer_s.mean()) if len(o.transfer_s) else None, suffix="_s")  # fmt: skip
_row("prefill_busy", "ratio", "max", "with disaggregation: share of the run that prefill replicas spend in steps",
     lambda o: o.prefill_busy)  # fmt: skip
_row("decode_busy", "ratio", "max", "with disaggregation: share of the run that decode replicas spend in steps",
     lambda o: o.decode_busy)  # fmt: skip
_row("preemptions", "count", "min", "times a running request lost its blocks and was queued again",
     lambda o: float(o.preemptions))  # fmt: skip
_row("recomputed_tokens", "count", "min", "tokens computed again after a preemption", lambda o: float(o.recomputed_tokens))
_row("kv_token_share", "ratio", "max",
     "tokens of decoding requests over those the pool has room for, mean of the steps that begin with requests waiting (shared "
     "prefixes count for each); none if none ever wait", lambda o: o.kv_token_share)  # fmt: skip
_row("swaps", "count", "min", "preemptions whose KV went to swap space instead of being given up", lambda o: float(o.swaps))
_row("swapped", "bytes", "min", "KV of preempted requests moved to swap space and back", lambda o: float(o.swapped_bytes),
     suffix="_bytes")  # fmt: skip
_row("block_hit_ratio_with_readmissions", "ratio", "max",
     "block_hit_ratio as engines log it: requests that come back after a preemption are asked, and find, once more",
     lambda o: _over(o.hit_blocks + o.readmission_hit_blocks, o.prompt_blocks + o.readmission_blocks))  # fmt: skip
_row("readmission_hit_blocks", "count", "min", "blocks found again by requests that had been preempted; in no hit ratio",
     lambda o: float(o.readmission_hit_blocks))  # fmt: skip
_row("fairness_jain", "ratio", "max",
     "Jain's index over tenants of output tokens per second of latency (1: all alike, 1/n: one gets all); none for one tenant",
     fairness)  # fmt: skip
_row("fairness_jain_hits", "ratio", "max", "Jain's index over tenants of their hit ratio; none for one tenant",
     hit_fairness)  # fmt: skip
_row(
    "rejected_requests",
    "count",
    "min",
    "requests longer than engine.max_model_len or than the HBM pool can ever hold",
    lambda o: float(o.rejected),
)
_row("cost_usd_per_million_tokens", "USD", "min",
     "system_cost_usd spread over 4 years of this throughput, per million output tokens", _cost_per_million)  # fmt: skip
_row("energy_j_per_token", "J/token", "min", "GPU board power while busy per output token; tiers and hosts are not counted",
     _energy)  # fmt: skip
_row("max_concurrency", "requests", "max", "requests of max_model_len tokens that the pool of a replica holds at once",
     lambda o: o.static.get("max_concurrency"), static=True)  # fmt: skip
_row("transfer_energy_j_per_token", "J/token", "min",
     "energy of the bytes moved over every link per output token; unknown if a link in use does not say what a byte costs",
     _transfer_energy)  # fmt: skip
_static("hbm_bytes", "bytes", "weights, activation and runtime reserve and KV pool, of all GPUs")
_static("hbm_cost_usd", "USD", "hbm_bytes at the GPU's price per GiB of its memory")
_static("memory_cost_usd", "USD", "hbm_cost_usd and every lower tier")
_static("system_cost_usd", "USD", "GPUs and every lower tier")
_static("hbm_excess", "bytes", "bytes per GPU by which weights, reserve and pool exceed the usable memory", suffix="_bytes")
_static("kv_bits", "bits", "mean bits of a cached value over all layers, scales included; 16 is the cache as computed",
        direction="max")  # fmt: skip
_static("quality_loss", "ratio", "relative drop of the named benchmark against 16-bit KV on the same model, as published")

METRICS: dict[str, Metric] = {metric.name: metric for metric, _ in _ROWS}
_COMPUTE: dict[str, Compute] = {metric.name: compute for metric, compute in _ROWS}
_BY_KEY = {metric.key: metric for metric in METRICS.values()}
_PER_TIER = {
    "hit_ratio_": ("ratio", "max", "prompt tokens found in {0} over those not found above it"),
    "prompt_share_": ("ratio", "max", "prompt tokens that came from {0} over all prompt tokens"),
}


def find_metric(name: str, tiers: tuple[str, ...] | None = None) -> Metric:
    """The metric of a short name or exported key, `hit_ratio_<tier>`, `prompt_share_<tier>` or `bytes_moved_<link>`.

    Args:
        name: what the user wrote.
        tiers: the scenario's tiers; None accepts any tier name.

    Raises:
        InputError: unknown; the hint holds the nearest name.
    """
    if name in METRICS:
        return METRICS[name]
    if name in _BY_KEY:
        return _BY_KEY[name]
    known = [*METRICS, *_BY_KEY]
    for prefix, (unit, direction, text) in _PER_TIER.items():
        known += [prefix + t for t in tiers or ()]
        extra = ("prefill",) if prefix == "prompt_share_" else ()
        tier = name.removeprefix(prefix)
        if name.startswith(prefix) and (tiers is None or tier in tiers + extra):
            return Metric(name, unit, direction, text.format(tier.upper()))  # type: ignore[arg-type]
    link = name.removeprefix("bytes_moved_")
    links = [*(tiers or ())[1:], "host", "hand_over"]
    if name.startswith("bytes_moved_") and (tiers is None or link in links):
        return Metric(name, "bytes", "min", f"bytes that crossed the {link} link, both directions")
    known += [f"bytes_moved_{t}" for t in links]
    raise InputError("unknown metric", value=name, hint=did_you_mean(name, known))


def metric_values(outcome: Outcome) -> dict[str, float | None]:
    """Every metric of an outcome by exported key, in the order of METRICS, then per tier and per link."""
    values = {METRICS[name].key: compute(outcome) for name, compute in _COMPUTE.items()}
    prompt = int(outcome.input_tokens.sum())
    hits = outcome.hit_tokens.sum(axis=0) if len(outcome.hit_tokens) else np.zeros(len(outcome.tiers), np.int64)
    left = prompt
    for tier, found in zip(outcome.tiers, hits, strict=True):
        values[f"hit_ratio_{tier.name}"] = float(found) / left if left else None
        values[f"prompt_share_{tier.name}"] = float(found) / prompt if prompt else None
        left -= int(found)
    values["prompt_share_prefill"] = left / prompt if prompt else None
    for link in outcome.links:
        values[f"bytes_moved_{link.name}"] = float(link.bytes_read + link.bytes_written)
    return values


def mean_values(runs: list[Mapping[str, float | None]]) -> dict[str, float | None]:
    """Metrics averaged over replications; a metric unknown in one run is unknown."""
    keys = list(runs[0])
    return {k: None if any(r[k] is None for r in runs) else float(np.mean([r[k] for r in runs])) for k in keys}
