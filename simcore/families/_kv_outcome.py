"""From what the serving engine counted in blocks to an `Outcome` in bytes and seconds."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from simcore.families._kv_scenario import Scenario
from simcore.families._kv_static import block_bytes_of_replica, static_metrics
from simcore.outcome import LinkOutcome, Outcome, TierOutcome
from simcore.roofline.paging import tier_block_bytes
from simcore.serving.result import LinkFlow, ServingResult, StoreFlow
from simcore.serving.setup import HAND_OVER, ServingSetup
from simcore.serving.starts import keeps
from simcore.traces.reuse import ideal_hit
from simcore.traces.trace import Trace

LEAST_WAIT = 0.1
"""A backlog has loaded the system when its requests waited this share of the run on average (a half when it is long)."""


def sustainable_rps(drained: ServingResult) -> float | None:
    """Requests per second at which a backlog drains: the lower of two rates.

    The rate over the middle 80 % of the finishes leaves out the filling and the emptying batch. It is too high where few
    requests are admitted at once and finish in one burst. The best rate from time 0 to any of the last 10 % of finishes pays
    for filling, so it is on the low side with few requests and approaches the other with many.

    None when the backlog never queued (so few requests that they all run at once): its rate is then a latency.
    """
    served = ~drained.rejected
    finish = np.sort(drained.finish_s[served])
    if len(finish) == 0 or finish[-1] == 0 or drained.queue_s[served].mean() < LEAST_WAIT * finish[-1]:
        return None
    first, last = int(0.1 * len(finish)), int(0.9 * len(finish))
    from_start = float((np.arange(last + 1, len(finish) + 1) / finish[last:]).max())
    if finish[last] > finish[first]:
        return min(from_start, float((last - first) / (finish[last] - finish[first])))
    return from_start


def offered_rps(scenario: Scenario, trace: Trace) -> float | None:
    """Arrival rate of an open-loop load; None for a closed loop, for barrier rounds and when all arrive at one instant."""
    if scenario.workload.concurrency is not None or trace.wave.max() > 0 or not np.isfinite(trace.mean_rate_per_s):
        return None
    return trace.mean_rate_per_s


def counted_requests(scenario: Scenario, result: ServingResult) -> NDArray[np.bool_]:
    """(n,) those that latencies and hits are about: neither rejected nor of the warm-up."""
    counted = ~result.rejected
    counted[: int(scenario.workload.warmup * len(counted))] = False
    return counted


def outcome_of(
    scenario: Scenario, trace: Trace, setup: ServingSetup, result: ServingResult, sustainable: float | None
) -> Outcome:
    """The outcome of a run; latencies and hits leave out the warm-up and rejected requests."""
    served = ~result.rejected
    counted = counted_requests(scenario, result)
    duration = float(result.finish_s[served].max() - result.arrival_s[served].min()) if served.any() else 0.0
    ideal = ceiling_tokens(trace, setup)
    prompt = trace.input_tokens.astype(np.int64)[counted]
    stores = list(result.stores.values())
    page = block_bytes_of_replica(scenario)
    whole = {  # bytes of sequences in and out, by link
        "host": (round(result.swapped_in_pages * page), round(result.swapped_out_pages * page)),
        HAND_OVER: (round(result.handed_over_pages * page), 0),
    }
    prefill_busy, decode_busy = _busy_by_role(setup, result)
    return Outcome(
        family=scenario.family,
        arrival_s=result.arrival_s[counted],
        first_token_s=result.first_token_s[counted],
        finish_s=result.finish_s[counted],
        input_tokens=prompt,
        output_tokens=trace.output_tokens.astype(np.int64)[counted],
        hit_tokens=result.hit_tokens[counted],
        queue_s=result.queue_s[counted],
        load_s=result.load_s[counted],
        transfer_s=result.transfer_s[counted] if setup.prefill_replicas else np.zeros(0),
        prefill_busy=prefill_busy,
        decode_busy=decode_busy,
        tenant=trace.tenant.astype(np.int64)[counted],
        tiers=tuple(_tier(scenario, setup, flow) for flow in stores),
        links=tuple(_link(scenario, setup, flow, result.end_s, whole.get(flow.name, (0, 0))) for flow in result.links.values()),
        duration_s=duration,
        total_requests=int(served.sum()),
        total_output_tokens=int(trace.output_tokens.astype(np.int64)[served].sum()),
        busy_s=float(result.busy_s.sum()),
        rejected=int(result.rejected.sum()),
        preemptions=int(result.preemptions.sum()),
        recomputed_tokens=int(result.recomputed_tokens.sum()),
        readmission_hit_blocks=sum(flow.readmission_hits for flow in stores),
        readmission_blocks=result.stores["hbm"].readmission_lookups,
        kv_token_share=_kv_token_share(setup, result),
        swaps=result.swaps,
        swapped_bytes=sum(whole["host"]),
        offered_rps=offered_rps(scenario, trace),
        sustainable_rps=sustainable,
        hit_ceiling=float(ideal[counted].sum() / prompt.sum()) if len(prompt) else 0.0,
        hit_blocks=sum(flow.hits for flow in stores),
        prompt_blocks=result.stores["hbm"].lookups,
        slo_ttft_s=scenario.slo.ttft_s,
        slo_tpot_s=scenario.slo.tpot_s,
        static=static_metrics(scenario),
    )


def _busy_by_role(setup: ServingSetup, result: ServingResult) -> tuple[float | None, float | None]:
    """Share of the run that prefill replicas, and decode replicas, spent in steps on average."""
    if not setup.prefill_replicas or result.end_s == 0:
        return None, None
    parts = result.busy_s[: setup.prefill_replicas], result.busy_s[setup.prefill_replicas :]
    prefill, decode = (float(part.mean()) / result.end_s for part in parts)
    return prefill, decode


def _kv_token_share(setup: ServingSetup, result: ServingResult) -> float | None:
    """Tokens of decoding requests over those a pool holds, averaged over steps that begin with requests waiting."""
    if result.full_steps == 0:
        return None
    return result.full_tokens / (result.full_steps * setup.pool_pages * setup.page_tokens)


def known_requests(trace: Trace, setup: ServingSetup) -> int:
    """How many of the first requests have filled the stores before the start."""
    return math.ceil(setup.start_share * trace.n) if any(keeps(setup)) else 0


def ceiling_tokens(trace: Trace, setup: ServingSetup) -> NDArray[np.int64]:
    """(n,) prompt tokens that a cache of unlimited size finds."""
    known = known_requests(trace, setup)
    return _ideal_hit_tokens(trace, setup.unit_tokens, setup.partial_block, setup.output_reuse, setup.recompute_last, known)


@lru_cache(maxsize=16)
def _ideal_hit_tokens(
    trace: Trace, unit_tokens: int, partial_block: bool, output: bool, recompute_last: bool, known: int
) -> NDArray[np.int64]:
    """(n,) prompt tokens that a cache of unlimited size finds, filled by the first `known` requests at the start; the same for
    every design of a search on this trace."""
    ideal = ideal_hit(
        trace, unit_tokens, partial_block=partial_block, output=output, recompute_last=recompute_last, known=known
    ).hit_tokens
    ideal.flags.writeable = False
    return ideal


def _block_bytes(scenario: Scenario, setup: ServingSetup, store: str) -> float:
    """Bytes of a reuse block: in HBM on all GPUs of a replica, below as stored once."""
    pages = setup.unit_tokens // setup.page_tokens
    if store != "hbm":
        return pages * tier_block_bytes(scenario.model, scenario.kv_format, scenario.engine, scenario.on.tp)
    return pages * block_bytes_of_replica(scenario)


def _tier(scenario: Scenario, setup: ServingSetup, flow: StoreFlow) -> TierOutcome:
    size = _block_bytes(scenario, setup, flow.name)
    tier = scenario.tiers[flow.name]
    copies = scenario.replicas * scenario.gpu.count if flow.name == "hbm" else scenario.copies(tier)
    arrived = flow.in_computed + flow.in_loaded + flow.in_demoted + flow.in_written
    resident = round(flow.resident_blocks * size)
    bytes_in, at_start = round(arrived * size), round(flow.at_start * size)
    return TierOutcome(
        name=flow.name,
        capacity_bytes=tier.capacity_bytes * copies,
        bytes_in=bytes_in,
        bytes_out=at_start + bytes_in - resident,
        bytes_resident=resident,
        refused_bytes=round(flow.writes_refused * size),
        dropped_bytes=round(flow.out_dropped * size),
    )


def _link(scenario: Scenario, setup: ServingSetup, flow: LinkFlow, end_s: float, whole: tuple[int, int]) -> LinkOutcome:
    """`whole`: bytes of sequences that moved as a whole, in and out."""
    read, written = whole
    size = _block_bytes(scenario, setup, flow.name if flow.name not in ("host", HAND_OVER) else "hbm")
    busy = max(flow.read_busy_s, flow.write_busy_s)
    return LinkOutcome(
        name=flow.name,
        bytes_read=round(flow.read_blocks * size) + read,
        bytes_written=round(flow.written_blocks * size) + written,
        busy=min(1.0, busy / (flow.links * end_s)) if end_s > 0 else 0.0,
    )
