"""A kv scenario in words: what it is, how its numbers come about, how far to trust them."""

from __future__ import annotations

from simcore.accounting import Errors
from simcore.families._kv_routing import routing_words
from simcore.families._kv_scenario import Scenario
from simcore.families._kv_size import deployment_of
from simcore.families._kv_static import costs_of, hbm
from simcore.families._kv_static import held as held_pool
from simcore.quantization.quality import LOSSLESS, quality_loss
from simcore.roofline.constants import family_name, find_constants, match_constants
from simcore.roofline.memory import usable_bytes
from simcore.roofline.paging import block_tokens
from simcore.roofline.sizing import size
from simcore.roofline.step_time import binding_stage
from simcore.roofline.working import cache_terms
from simcore.specs.engine import EngineSpec
from simcore.specs.parallel import ParallelSpec
from simcore.specs.tier import TierSpec
from simcore.units import format_bandwidth, format_bytes, format_seconds
from simcore.workloads.client_pattern import ClientPattern
from simcore.workloads.spec import TraceWorkload, WorkloadSpec


def describe(scenario: Scenario) -> list[str]:
    """The scenario in sentences: model and GPUs, tiers, workload, scheduler."""
    gpu, engine = scenario.gpu, scenario.engine
    pair = scenario.kv_format.default
    formats = pair.k if pair.k == pair.v else f"{pair.k} keys and {pair.v} values"
    if scenario.kv_format.groups:
        formats += f" ({len(scenario.kv_format.groups)} groups of layers differ)"
    block = block_tokens(scenario.model, scenario.kv_format, engine, scenario.on.tp)
    replicas = "1 replica" if scenario.replicas == 1 else f"{scenario.replicas} replicas"
    return [
        f"{scenario.model.name}, weights in {scenario.weights}, KV in {formats}, on {replicas} of {gpu.count} x {gpu.name}"
        f"{_parallel_words(scenario.on)}.",
        f"HBM {format_bytes(scenario.hbm.capacity_bytes)}/GPU of KV pool, {scenario.hbm.policy}"
        + "".join(_tier_words(scenario, n, t) for n, t in scenario.lower_tiers.items())
        + ".",
        f"Workload: {_workload_words(scenario.workload)}{_start_words(scenario)}.",
        *routing_words(scenario),
        f"Scheduler: up to {engine.max_num_seqs} sequences and {engine.max_num_batched_tokens} tokens a step, "
        f"{'chunked prefill' if engine.chunked_prefill else 'prefill first'}, blocks of {block} tokens; "
        f"a prefix below HBM is loaded: {engine.load}{_loading_words(scenario)}{_scheduling_words(engine)}.",
    ]


def _loading_words(scenario: Scenario) -> str:
    """What is not as by default, and of consequence with these tiers."""
    engine = scenario.engine
    overlap = {"none": "", "layer": ", layer by layer with its prefill", "full": ", hidden by its prefill"}[engine.overlap]
    words = overlap if scenario.lower_tiers and engine.load != "never" else ""
    if engine.prefetch == "none" or len(scenario.lower_tiers) < 2:
        return words
    limit = f" of {format_seconds(engine.prefetch_timeout_s)}" if engine.prefetch == "timeout" else ""
    return f"{words}, prefetched while queued ({engine.prefetch}{limit})"


def _parallel_words(on: ParallelSpec) -> str:
    """The degrees of a replica that is not all in tensor parallel."""
    if on.pp == on.dp == 1 and not on.ep:
        return ""
    degrees = [f"{name.upper()} {degree}" for name, degree in (("tp", on.tp), ("pp", on.pp), ("dp", on.dp)) if degree > 1]
    return f" ({' x '.join([*degrees, *(['whole experts'] if on.ep else [])])})"


def _pipeline_words(scenario: Scenario) -> list[str]:
    """The stages of a pipeline and the one that paces it."""
    on, engine = scenario.on, scenario.engine
    if on.pp == 1:
        return []
    constants, layers = find_constants(scenario.gpu, engine.family, scenario.model), on.layers_by_stage(scenario.model.layers)
    tokens = max(1, engine.max_num_batched_tokens // on.pp)
    slowest = binding_stage(scenario.model, scenario.gpu, scenario.weights, tokens, constants, on)
    first = sum(layers[: slowest.number])
    head = " and the output head" if slowest.number == on.pp - 1 else ""
    return [
        f"Pipeline of {', '.join(map(str, layers))} layers: stage {slowest.number} (layers {first}-{first + slowest.layers - 1}"
        f"{head}) is the slowest, {format_seconds(slowest.step_s)} for {tokens} tokens, and paces the others"
    ]


def _scheduling_words(engine: EngineSpec) -> str:
    """What departs from first come, first served with preemption of the last admitted."""
    words = ""
    if engine.max_model_len is not None:
        words += f"; requests beyond {engine.max_model_len:,} tokens are rejected"
    if engine.stream_interval > 1:
        words += f"; clients get {engine.stream_interval} tokens a packet"
    if engine.scheduling == "priority":
        words += f"; tenants by priority {', '.join(map(str, engine.tenant_priority)) or 'alike'}"
    if engine.draft_tokens:
        words += f"; {engine.draft_tokens} drafted tokens a step, {engine.acceptance_rate:g} of them accepted"
    if engine.allocation != "paged":
        return words + f"; a contiguous region for each request: {engine.allocation}"
    if engine.reserve == "output":
        words += "; admitted requests have all their pages reserved"
        return words
    if engine.preemption == "swap":
        words += f"; preempted requests are swapped to {format_bytes(engine.swap_space_bytes)} of host memory"
    if engine.preemption_victim != "last_admitted":
        words += f"; preempted first: {engine.preemption_victim.replace('_', ' ')}"
    return words


def _tier_words(scenario: Scenario, name: str, tier: TierSpec) -> str:
    per = "in all" if tier.shared else "/replica"
    space = " " if tier.shared else ""
    read, _ = tier.bandwidths()
    size = f"{format_bytes(tier.capacity_bytes)}{space}{per}"
    write = f", {tier.write_policy}" if tier.write_policy and tier.placement == "inclusive" else ""
    return f"; {name.upper()} {size} at {format_bandwidth(read)}, {tier.policy}, {tier.placement}{write}"


def _start_words(scenario: Scenario) -> str:
    start = scenario.start
    if start.kind == "cold":
        return ""
    first = "the whole of it" if start.share == 1 else f"its first {100 * start.share:g} %"
    kept = "caches" if start.kind == "warm" else "persistent tiers"
    return f"; {kept} hold what serving {first} before has left"


def _workload_words(workload: WorkloadSpec) -> str:
    if isinstance(workload, TraceWorkload):
        name = f"trace {workload.trace.rsplit('/', 1)[-1]}"
    else:
        name = str(getattr(workload, "kind", "generated"))
    if workload.concurrency is not None:
        pattern = (workload.client_pattern or ClientPattern()).words()
        load = f"closed loop of {workload.concurrency} clients, {pattern}, lengths {_length_words(workload)}"
    elif workload.request_rate is not None:
        load = f"{workload.request_rate:g} requests/s{_process_words(workload)}"
    elif isinstance(workload, TraceWorkload):
        load = "arrivals as recorded" + (f", times x {workload.time_scale:g}" if workload.time_scale != 1 else "")
    else:
        load = "arrivals as generated"
    count = f", {workload.requests} requests" if workload.requests else ""
    return f"{name}, {load}{count}"


def _length_words(workload: WorkloadSpec) -> str:
    if isinstance(workload, TraceWorkload):
        return "as recorded"
    lengths = getattr(workload, "lengths", "as drawn")
    return lengths if lengths in ("fixed", "as drawn") else f"{lengths} of isl and osl"


def _process_words(workload: WorkloadSpec) -> str:
    if workload.arrivals is None:
        return " as recorded, scaled" if isinstance(workload, TraceWorkload) else ""
    cv = workload.arrivals.cv
    return f", {workload.arrivals.process} arrivals" + (f" of CV {cv:g}" if cv is not None else "")


def explain(scenario: Scenario) -> list[str]:
    """The arithmetic behind bytes per token, pool, HBM and step time."""
    gpu, engine = scenario.gpu, scenario.engine
    use, held = hbm(scenario), held_pool(scenario)
    costs = costs_of(scenario)
    budget = engine.max_num_batched_tokens
    return [
        *(f"{term.name} = {term.how} = {term.value:,.0f} B" for term in cache_terms(size(deployment_of(scenario)))),
        f"KV pool = {format_bytes(scenario.hbm.capacity_bytes)}/GPU = {held.blocks:,} blocks of {held.block_tokens} tokens "
        f"= {held.tokens:,} tokens per replica",
        f"HBM per GPU = weights {format_bytes(use.weights)} + activations {format_bytes(use.activations)} + runtime "
        f"{format_bytes(use.runtime)} + pool {format_bytes(use.pool)} = {format_bytes(use.total)} of "
        f"{format_bytes(usable_bytes(gpu, engine, use))} usable",
        f"Step of 1 token {format_seconds(float(costs.lin_s[1]))}, of {budget} tokens "
        f"{format_seconds(float(costs.lin_s[budget]))}; "
        f"plus {format_seconds(1000 * costs.kv_s_per_token)} per 1,000 tokens of context read and "
        f"{format_seconds(costs.seq_s)} per decoding sequence",
        f"Prefill rate without attention {budget / float(costs.lin_s[budget]):,.0f} tokens/s per replica",
        *_pipeline_words(scenario),
    ]


def expected_errors(scenario: Scenario) -> Errors:
    """Expected errors of TTFT and TPOT, by what the step times rest on."""
    found = match_constants(scenario.gpu, scenario.engine.family, scenario.model)
    return Errors(found.kind, found.ttft_error, found.tpot_error)


def latency_words(scenario: Scenario) -> str:
    """How far TTFT and TPOT are expected to be off, of which kind that figure is, and where it comes from."""
    found = match_constants(scenario.gpu, scenario.engine.family, scenario.model)
    c, pair = found.constants, f"{scenario.gpu.name} with {family_name(scenario.engine.family)}"
    fitted = f"{c.measured_model or 'runs'} on {c.gpu or c.gpu_name} with {c.family}{' ' + c.version if c.version else ''}"
    if found.ttft_error is None or found.tpot_error is None:
        return f"TTFT, TPOT: their error is unknown; constants of {c.preset} ({c.source}), which state none for {pair}."
    off = f"TTFT off by {_percent(found.ttft_error)}, TPOT by {_percent(found.tpot_error)}"
    if found.kind == "calibrated":
        return (
            f"{off} (calibrated: medians over {c.measured_runs} measured runs of {fitted}, each predicted by a fit without its "
            "fold of cells)."
        )
    if found.kind == "another model":
        return f"{off} (another model: {c.source}; medians over groups predicted from other models on the same GPU)."
    if found.kind == "similar hardware":
        return f"{off} (similar hardware: {c.source}; medians over groups predicted from other GPUs)."
    return f"{off} (uncalibrated: typical constants, no measurement of {pair}; medians over the groups that were measured)."


def _percent(error: float) -> str:
    return f"{100 * error:.0f} %"


def trust(scenario: Scenario) -> list[str]:
    """What is known about the errors of this scenario's numbers."""
    lines = [latency_words(scenario)]
    links = [name.upper() for name in scenario.lower_tiers]
    if links:
        lines.append(f"Links to {', '.join(links)}: data-sheet rates, not calibrated on a machine.")
    if scenario.gpu.planning_value or any(t.planning_value for t in scenario.lower_tiers.values()):
        dates = sorted({d for d in (scenario.gpu.date, *(t.date for t in scenario.lower_tiers.values())) if d})
        lines.append(f"Prices are planning values of {', '.join(dates)} (dse presets), not quotes.")
    workload = scenario.workload
    if workload.concurrency is not None:
        pattern = workload.client_pattern or ClientPattern()
        lines.append(f"Closed loop: TTFT holds for this pattern of clients only ({pattern.words()}).")
    if not isinstance(workload, TraceWorkload):
        lines.append(
            "A p99 of one workload seed: near saturation seeds differ by a factor of two, elsewhere by a tenth; "
            "replications: 3 averages three."
        )
    loss = quality_loss(scenario.model, scenario.kv_format)
    if loss is None:
        lines.append("Quality of this KV format on this model: nobody published it, so it is unknown.")
    elif loss != LOSSLESS:
        lines.append(f"Quality loss {100 * loss.value:.2g} %: {loss.benchmark} ({loss.source}).")
    return lines
