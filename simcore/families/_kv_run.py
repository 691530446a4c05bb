"""From a kv scenario to the serving engine and back: setup, run, outcome."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from simcore.errors import InputError
from simcore.families._kv_outcome import outcome_of, sustainable_rps
from simcore.families._kv_routing import routing_setup
from simcore.families._kv_scenario import Scenario
from simcore.families._kv_static import block_bytes_of_replica, costs_of
from simcore.families._kv_static import held as held_pool
from simcore.outcome import Outcome
from simcore.roofline.constants import find_constants
from simcore.roofline.paging import tier_block_bytes
from simcore.roofline.transfer import (
    copies_per_block,
    host_link_seconds_per_block,
    loaded_latencies,
    tier_latencies,
    tier_seconds_per_block,
)
from simcore.serving.serve import prepare as prepare_engine
from simcore.serving.serve import run_before, serve
from simcore.serving.setup import ServingSetup, StoreSetup
from simcore.traces.reuse import reuse_unit
from simcore.traces.trace import Trace
from simcore.units import exact_bytes
from simcore.workloads.resolve import build_trace, is_random
from simcore.workloads.spec import WorkloadSpec


def trace_of(scenario: Scenario, seed: int | None = None) -> Trace:
    """The requests the scenario offers; `seed` replaces the workload's own, if it draws anything."""
    workload = scenario.workload
    try:
        if seed is not None and is_random(workload):
            workload = workload.with_changes(seed=seed)
        return build_trace(workload)
    except InputError as error:
        raise error.within(prefix="workload") if error.file is None else error from None


def check_workload(scenario: Scenario) -> None:
    """Build the trace and see that it has what `reuse` asks for.

    Raises:
        InputError: it cannot be read or generated, or has no such identities.
    """
    trace = trace_of(scenario)
    check_context(scenario, trace)
    output_reuse(scenario, trace)
    partial_block(scenario, trace)


def prepare(scenarios: Iterable[Scenario]) -> None:
    """Load, at worst compile, one engine for the policies of all these scenarios, another for those with quotas."""
    tiers = {True: set[str](), False: set[str]()}  # policies of scenarios with and without quotas
    for scenario in scenarios:
        members = (scenario.hbm, *scenario.lower_tiers.values())
        tiers[any(tier.quotas for tier in members)] |= {tier.policy for tier in members}
    for quotas, policies in tiers.items():
        if policies:
            prepare_engine(policies, quotas)


def simulate(scenario: Scenario, *, seed: int | None = None) -> Outcome:
    """Serve the workload once, and once more with all requests waiting to learn the sustainable rate."""
    trace = trace_of(scenario, seed)
    return served(scenario, trace, serving_setup(scenario, trace))


def served(scenario: Scenario, trace: Trace, setup: ServingSetup) -> Outcome:
    """The outcome of the workload `trace` on `setup`, which may differ from what the scenario says."""
    before = run_before(trace, setup)
    result = serve(trace, setup, before=before)
    backlog = replace(setup, arrivals="backlog", max_waiting=trace.n)  # a backlog always waits
    drained = serve(trace, backlog, before=before)
    return outcome_of(scenario, trace, setup, result, sustainable_rps(drained))


def output_reuse(scenario: Scenario, trace: Trace) -> bool:
    """Whether generated blocks can be reused: as asked, else whenever the workload knows their identity.

    Raises:
        InputError: asked for, but the trace has no identities of output tokens.
    """
    asked = scenario.reuse.output
    if asked and not trace.has_output_ids:
        hint = "recorded prefix hashes name prompts only; set reuse.output: false"
        raise InputError("the workload does not identify its output tokens", path="reuse.output", value=True, hint=hint)
    return trace.has_output_ids if asked is None else asked


def partial_block(scenario: Scenario, trace: Trace) -> bool:
    """Whether trailing partial blocks are identities.

    Raises:
        InputError: asked for, but the workload's last blocks go on into the output.
    """
    if scenario.reuse.partial_block and trace.has_output_ids:
        hint = "only recorded traces name partial blocks; set reuse.partial_block: false"
        raise InputError("the workload has no partial blocks of its own", path="reuse.partial_block", value=True, hint=hint)
    return scenario.reuse.partial_block


def check_context(scenario: Scenario, trace: Trace) -> None:
    """Refuse a workload that the model cannot hold, unless the engine is told to turn such requests away.

    Raises:
        InputError: a request is longer than the model's context.
    """
    if scenario.engine.max_model_len is not None:
        return  # the engine rejects what is longer
    longest = int((trace.input_tokens.astype(np.int64) + trace.output_tokens).max())
    limit = scenario.model.max_model_len
    if longest > limit:
        rule = f"must be at least the workload's longest request of {longest} tokens"
        hint = (
            "take a model with a longer context, a shorter workload, or set engine.max_model_len to have such requests rejected"
        )
        raise InputError(rule, path="model.max_model_len", value=limit, hint=hint)


def serving_setup(scenario: Scenario, trace: Trace) -> ServingSetup:
    """Everything the serving engine needs, in blocks and seconds.

    Raises:
        InputError: the HBM pool or a tier does not hold a single block.
    """
    check_context(scenario, trace)
    held = held_pool(scenario)
    unit = reuse_unit(held.block_tokens, trace.granule_tokens)
    pages = unit // held.block_tokens
    if held.blocks < pages:
        rule = f"must hold at least one reuse block of {unit} tokens"
        raise InputError(rule, path="tiers.hbm.capacity", value=exact_bytes(scenario.hbm.capacity_bytes))
    return ServingSetup(
        replicas=scenario.replicas,
        **routing_setup(scenario),
        **_loop(scenario.workload),
        pool_pages=held.blocks,
        page_tokens=held.block_tokens,
        unit_tokens=unit,
        hbm_policy=scenario.hbm.policy,
        hbm_quota_blocks=scenario.hbm.quota_blocks(held.blocks // pages),
        costs=costs_of(scenario),
        **_scheduling(scenario),
        recompute_last=scenario.reuse.recompute_last,
        output_reuse=output_reuse(scenario, trace),
        partial_block=partial_block(scenario, trace),
        start=scenario.start.kind,
        start_share=scenario.start.share,
        **_tiers_and_links(scenario, pages, pages * held.block_bytes),
    )


def _tiers_and_links(scenario: Scenario, pages: int, block_bytes_per_gpu: float) -> dict[str, Any]:
    """The fields of the setup about tiers below HBM: what they are, what moves when, how long it takes."""
    engine, gpu = scenario.engine, scenario.gpu
    copies = pages * copies_per_block(scenario.model, engine.kv_layout)
    host_s = host_link_seconds_per_block(gpu, find_constants(gpu, engine.family, scenario.model), block_bytes_per_gpu, copies)
    return {
        "tiers": tuple(_store(scenario, name, pages, copies) for name in scenario.lower_tiers),
        "host_link_read_s_per_block": host_s,
        "host_link_write_s_per_block": host_s,
        "load_rule": engine.load,
        "min_load_tokens": engine.min_load_tokens,
        "max_waiting": engine.max_waiting,
        "write_backlog_s": engine.write_backlog_s,
        "overlap": engine.overlap,
        "layers": scenario.model.layers,
        "prefetch": engine.prefetch if len(scenario.lower_tiers) > 1 else "none",
        "prefetch_timeout_s": engine.prefetch_timeout_s,
    }


def _loop(workload: WorkloadSpec) -> dict[str, Any]:
    """The fields of `ServingSetup` that say when requests come."""
    clients, pattern = workload.concurrency, workload.client_pattern
    if clients is None:
        return {"arrivals": "open"}
    ramp_up_s = 0.0 if pattern is None or pattern.ramp_up_s is None else pattern.ramp_up_s
    return {"arrivals": "closed", "concurrency": clients, "stagger_s": ramp_up_s / clients}


def _scheduling(scenario: Scenario) -> dict[str, Any]:
    """The fields of the setup about the order in which requests run, and who gives way."""
    engine = scenario.engine
    same = [
        *("max_num_seqs", "max_num_batched_tokens", "chunked_prefill", "stream_interval"),
        *("draft_tokens", "acceptance_rate", "draft_cost"),
        *("scheduling", "tenant_priority", "preemption", "preemption_victim", "reserve"),
    ]
    return {name: getattr(engine, name) for name in same} | {
        "swap_pages": _swap_pages(scenario),
        "allocation": engine.allocation,
        "max_model_len": _limit(scenario),
    }


def _limit(scenario: Scenario) -> int | None:
    """Tokens a request may have, if the engine has to know."""
    if scenario.engine.max_model_len is None and scenario.engine.allocation == "max":
        return scenario.model.max_model_len
    return scenario.engine.max_model_len


def _swap_pages(scenario: Scenario) -> int:
    """Pages of a replica's swap space; 0 without swapping.

    Raises:
        InputError: it does not hold a single page.
    """
    if scenario.engine.preemption != "swap":
        return 0
    page, space = block_bytes_of_replica(scenario), scenario.engine.swap_space_bytes
    if space < page:
        rule = f"must hold at least one block of {exact_bytes(round(page))}"
        raise InputError(rule, path="engine.swap_space", value=exact_bytes(space))
    return int(space // page)


def _store(scenario: Scenario, name: str, pages: int, copies: int) -> StoreSetup:
    tier = scenario.tiers[name]
    block_bytes = pages * tier_block_bytes(scenario.model, scenario.kv_format, scenario.engine, scenario.on.tp)
    blocks = int(tier.capacity_bytes // block_bytes)
    if blocks < 1:
        rule = f"must be 0 or hold at least one reuse block of {exact_bytes(round(block_bytes))}"
        raise InputError(rule, path=f"tiers.{name}.capacity", value=exact_bytes(tier.capacity_bytes))
    read_s, write_s = tier_seconds_per_block(tier, block_bytes, copies)
    read_latency_s, write_latency_s = tier_latencies(tier)
    return StoreSetup(
        name=name,
        capacity_blocks=blocks,
        policy=tier.policy,
        placement=tier.placement,
        write_policy=tier.write_policy,
        write_after_uses=tier.write_after_uses,
        shared=tier.shared,
        quota_blocks=tier.quota_blocks(blocks),
        persistent=tier.persistent,
        read_s_per_block=read_s,
        write_s_per_block=write_s,
        read_latency_s=read_latency_s,
        write_latency_s=write_latency_s,
        loaded_latency_s=loaded_latencies(tier),
    )
