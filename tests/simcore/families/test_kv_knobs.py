"""Every knob of a scenario moves some output; a knob that moves nothing is a lie. New fields are caught by the last test."""

from __future__ import annotations

import types
import typing
from typing import Any

import numpy as np
import pytest

import simcore
from simcore.families.kv import Scenario
from simcore.specs.base import Spec, yaml_name
from tests.simcore.families.scenarios import BASE, measured, with_paths

MLA = {"model": "deepseek-v3", "gpu.preset": "b200", "gpu.count": 8, "replicas": 1, "tiers.hbm.capacity": "6 GiB"}
SLIDING = {"model": "gpt-oss-20b"}
STATES = {"heads": 32, "layers": 24, "state_values": 32 * 128 * 128, "conv_values": 3 * 8192}
HYBRID = {"model": {"preset": "llama-3.1-8b", "recurrent": STATES}, "engine.max_num_seqs": 16}
MOE = {"model": "qwen3-30b-a3b"}
THRESHOLD = {"engine.load": "threshold", "engine.max_waiting": 100}
TP2 = {"gpu.count": 2}
FLOODED = {"workload.request_rate": 60}
SELECTIVE = {"tiers.dram.placement": "inclusive", "tiers.dram.write_policy": "write_through_selective"}
CLOSED = {"kind": "shared_prefix", "concurrency": 3, "output_tokens": 100}
STAGGERED = {"workload": {**CLOSED, "client_pattern": {"start": "staggered", "ramp_up": "2 s"}}}
SLOW_DRAM = {"tiers.dram.read_bandwidth": "2 GB/s"}
SLOW_CXL = {"tiers.cxl.read_bandwidth": "1 GB/s", "engine.load": "always"}
PREFIX_AWARE = {"router": {"policy": "prefix_aware", "max_load_ratio": 1}}
FAR = {"replicas": 1, "clients": 0.5, "round_trip": {"us": "80 ms"}}
REGIONS = {"regions": {"us": {"replicas": 1, "clients": 0.5}, "eu": FAR}}
DISAGGREGATED = {"disaggregation": {"prefill_replicas": 1, "link": "50 GB/s"}}
TIGHT = {"tiers.hbm.capacity": "2 GiB"}

CARD = {
    "name": "Card", "memory": "80 GiB", "bandwidth": "2 TB/s", "flops": "300 TFLOPS", "host_link": "32 GB/s", "power": "400 W",
}  # fmt: skip

KNOBS: list[tuple[str, Any, dict[str, Any]]] = [
    ("model.name", "Llama-3-8B", {"kv_format": "fp8_e4m3"}),
    ("model.params", 9_000_000_000, {}),
    ("model.active_params", 5_000_000_000, {}),
    ("model.layers", 40, {}),
    ("model.hidden_size", 8192, {"engine.max_num_batched_tokens": 16384}),
    ("model.query_heads", 64, {}),
    ("model.kv_heads", 4, {}),
    ("model.head_dim", 64, {}),
    ("model.intermediate_size", 40000, {"engine.max_num_batched_tokens": 16384}),
    ("model.vocab_size", 300_000, {}),
    ("model.tied_embeddings", True, {}),
    ("model.dtype", "fp8", {}),
    ("model.experts", 256, MOE),
    ("model.experts_per_token", 16, MOE),
    ("model.mla.kv_lora_rank", 256, MLA),
    ("model.mla.qk_rope_head_dim", 128, MLA),
    ("model.mla.qk_nope_head_dim", 256, MLA),
    ("model.mla.v_head_dim", 256, MLA),
    ("model.sliding.window_tokens", 1024, SLIDING),
    ("model.sliding.layers", 4, SLIDING),
    ("model.recurrent.layers", 16, HYBRID),
    ("model.recurrent.state_values", 64 * 128 * 128, HYBRID),
    ("model.recurrent.conv_values", 3 * 65536, HYBRID),
    ("model.recurrent.state_format", "f32", HYBRID),
    ("gpu.count", 2, {}),
    ("gpu.converts_weights", False, {"gpu.preset": "a100-80", "weight_format": "int4"}),
    ("parallel.tp", 2, {"parallel": {"tp": 1, "pp": 2}}),
    ("parallel.pp", 4, {"parallel": {"pp": 2}}),
    ("parallel.dp", 4, {**MOE, "parallel": {"dp": 2}}),
    ("parallel.ep", True, {**MOE, "parallel": {"tp": 2}}),
    ("parallel.stage_layers", [20, 12], {"parallel": {"pp": 2}}),
    ("gpu.memory", "60 GiB", {}),
    ("gpu.bandwidth", "2 TB/s", {}),
    ("gpu.flops", "500 TFLOPS", {}),
    ("gpu.fp8_speedup", 1.0, {"weight_format": "fp8"}),
    ("gpu.fp4_speedup", 3.0, {"weight_format": "nvfp4"}),
    ("gpu.host_link", "16 GB/s", {}),
    ("gpu.nvlink", "200 GB/s", TP2),
    ("gpu.power", "350 W", {}),
    ("gpu.hbm_usd_per_gib", "30 USD/GiB", {}),
    ("gpu.price", "1000 USD", {}),
    ("replicas", 3, {}),
    ("router.policy", "least_loaded", {}),
    ("router.min_match", 0.99, PREFIX_AWARE),
    ("router.max_load_gap", 0, PREFIX_AWARE),
    ("router.max_load_ratio", 1000, {"router": {"policy": "prefix_aware", "max_load_gap": 0, "max_load_ratio": 1}}),
    ("router.running_weight", 50, {"router": "gorgo"}),
    ("regions.us.clients", 0.9, REGIONS),
    ("regions.us.round_trip", {"eu": "2 s"}, REGIONS),
    ("disaggregation.prefill_replicas", 2, {**DISAGGREGATED, "replicas": 3}),
    ("disaggregation.link.bandwidth", "1 GB/s", DISAGGREGATED),
    ("disaggregation.link.latency", "10 ms", DISAGGREGATED),
    ("disaggregation.link.transfer_j_per_byte", 1e-10, {**DISAGGREGATED, "tiers.dram": None, "tiers.cxl": None}),
    ("engine.family", "default", {}),
    ("engine.max_num_seqs", 4, {}),
    ("engine.max_num_batched_tokens", 512, {}),
    ("engine.block_size", 64, {}),
    ("engine.chunked_prefill", False, {}),
    ("engine.max_model_len", 3000, {}),
    ("engine.stream_interval", 20, {}),
    ("engine.scheduling", "priority", {**FLOODED, "engine.tenant_priority": [3, 2, 1]}),
    ("engine.tenant_priority", [0, 3], {**FLOODED, "engine.scheduling": "priority", "engine.tenant_priority": [3]}),
    ("engine.preemption_victim", "least_computed", {**FLOODED, **TIGHT, "workload.output_tokens": 800}),
    ("engine.preemption", "swap", {**FLOODED, **TIGHT}),
    ("engine.swap_space", "100 MiB", {**FLOODED, **TIGHT, "engine.preemption": "swap"}),
    ("engine.allocation", "oracle", {"tiers.dram": None, "tiers.cxl": None}),
    ("engine.draft_tokens", 3, {}),
    ("engine.acceptance_rate", 0.2, {"engine.draft_tokens": 3}),
    ("engine.draft_cost", 0.1, {"engine.draft_tokens": 3}),
    ("engine.reserve", "output", {**FLOODED, **TIGHT}),
    ("engine.load", "never", {}),
    ("engine.min_load_tokens", 100_000, THRESHOLD),
    ("engine.max_waiting", 0, {**THRESHOLD, **FLOODED, "engine.min_load_tokens": 0}),
    ("engine.gpu_memory_utilization", 0.5, {}),
    ("engine.kv_layout", "per_layer", {}),
    ("engine.sliding_window_cache", "ring", SLIDING),
    ("engine.state_pages", "separate", HYBRID),
    ("engine.states_per_sequence", 1, HYBRID),
    ("engine.overlap", "layer", SLOW_DRAM),
    ("engine.prefetch", "wait", SLOW_CXL),
    ("engine.prefetch_timeout", "1 ms", {**SLOW_CXL, "engine.prefetch": "timeout"}),
    ("engine.write_backlog", "1 us", FLOODED),
    ("kv_format.default.k", "fp8_e4m3", {}),
    ("kv_format.default.v", "fp8_e4m3", {}),
    ("kv_format.groups.first.layers", "0-15", {"kv_format.groups": {"first": {"layers": "0-3", "k": "int4", "v": "int4"}}}),
    ("kv_format.groups.first.k", "bf16", {"kv_format.groups": {"first": {"layers": "0-3", "k": "int4", "v": "int4"}}}),
    ("kv_format.groups.first.v", "bf16", {"kv_format.groups": {"first": {"layers": "0-3", "k": "int4", "v": "int4"}}}),
    ("weight_format", "fp8", {}),
    ("tiers.hbm.capacity", "4 GiB", {}),
    ("tiers.hbm.policy", "sieve", {}),
    ("tiers.dram.capacity", "1 GiB", {}),
    ("tiers.dram.policy", "sieve", {"tiers.dram.placement": "inclusive", "tiers.dram.capacity": "4 GiB"}),
    ("tiers.dram.placement", "inclusive", {}),
    ("tiers.dram.write_policy", "write_back", {"tiers.dram.placement": "inclusive"}),
    ("tiers.dram.write_after_uses", 3, SELECTIVE),
    ("tiers.dram.shared", True, {}),
    ("tiers.dram.read_bandwidth", "1 GB/s", {}),
    ("tiers.dram.write_bandwidth", "1 MB/s", {}),
    ("tiers.dram.read_latency", "20 ms", {}),
    ("tiers.dram.write_latency", "60 s", {}),
    ("tiers.dram.loaded_latency", [[0.1, "10 ms"], [1, "90 ms"]], {}),
    ("tiers.dram.copy_overhead", "1 ms", {}),
    ("tiers.dram.bandwidth_curve", [["64 KiB", "14 GB/s"], ["2 MiB", "50 GB/s"]], {}),
    ("tiers.dram.read_iops", 1000, {}),
    ("tiers.dram.write_iops", 1000, FLOODED),
    ("tiers.dram.io_size", "4 KiB", {"tiers.dram.read_iops": 100_000}),
    ("tiers.dram.queue_depth", 1, {"tiers.dram.read_latency": "1 ms"}),
    ("tiers.dram.devices", 4, {"tiers.dram.read_bandwidth": "1 GB/s"}),
    ("tiers.dram.max_bandwidth", "1 GB/s", {}),
    ("tiers.dram.numa_hops", 2, {}),
    ("tiers.dram.numa_hop_share", 0.1, {"tiers.dram.numa_hops": 1}),
    ("tiers.dram.numa_hop_latency", "20 ms", {"tiers.dram.numa_hops": 1}),
    ("tiers.dram.bounce_bandwidth", "1 GB/s", {}),
    ("tiers.dram.transfer_j_per_byte", 1e-10, {"gpu.host_link_j_per_byte": 5e-11, "tiers.cxl.capacity": 0}),
    ("gpu.host_link_j_per_byte", 5e-11, {"tiers.dram.transfer_j_per_byte": 1e-10, "tiers.cxl.capacity": 0}),
    ("gpu.generation", "ampere", {"gpu": {**CARD, "generation": "volta"}}),
    ("tiers.dram.usd_per_gib", "50 USD/GiB", {}),
    ("tiers.dram.device_price", "500 USD", {}),
    ("tiers.dram.quotas", 0.05, {}),
    ("reuse.output", False, {}),
    ("start.kind", "warm", {}),
    ("start.share", 0.1, {"start": "warm"}),
    ("tiers.dram.persistent", True, {"start": "restart"}),
    ("slo.ttft", "1 ms", {}),
    ("slo.tpot", "1 ms", {}),
    ("workload.request_rate", 5, {}),
    ("workload.arrivals.process", "constant", {}),
    ("workload.arrivals.cv", 4, {"workload.arrivals": {"process": "gamma", "cv": 1.5}}),
    ("workload.concurrency", 8, {"workload": CLOSED}),
    ("workload.client_pattern.ramp_up", "30 s", STAGGERED),
    ("workload.client_pattern.waves", True, STAGGERED),
    ("workload.requests", 100, {}),
    ("workload.warmup", 0.3, {}),
    ("workload.seed", 7, {}),
    ("workload.tenants", 2, {}),
    ("workload.zipf", 0.0, {}),
    ("workload.system_tokens", 3000, {}),
    ("workload.user_tokens", 300, {}),
    ("workload.output_tokens", 40, {}),
    ("workload.turns", 2, {}),
    ("workload.max_turns", 2, {}),
    ("workload.think_time", {"p50": "60 s", "p90": "90 s"}, {}),
]


@pytest.mark.parametrize(("path", "value", "around"), KNOBS, ids=[path for path, _, _ in KNOBS])
def test_a_knob_moves_an_output(path: str, value: Any, around: dict[str, Any]) -> None:
    before, after = measured(around), measured({**around, path: value})
    assert before != after


def _repeated_prompt(tmp_path: Any, tokens: int) -> dict[str, Any]:
    row = '{"timestamp": %d, "input_length": %d, "output_length": 5, "hash_ids": [0, 1]}'
    (tmp_path / "t.jsonl").write_text("\n".join(row % (60_000 * i, tokens) for i in range(6)))
    return {"workload": {"trace": str(tmp_path / "t.jsonl")}, "replicas": 1}


def test_partial_blocks_of_a_recorded_trace_count_if_asked(tmp_path: Any) -> None:
    base = {**_repeated_prompt(tmp_path, 700), "reuse.recompute_last": False}
    off, on = (measured({**base, "reuse.partial_block": v}) for v in (False, True))
    assert off["hit_ratio"] == pytest.approx(5 * 512 / (6 * 700))
    assert on["hit_ratio"] == pytest.approx(5 / 6)


def test_a_prompt_found_whole_computes_its_last_block_again_unless_told_not_to(tmp_path: Any) -> None:
    base = _repeated_prompt(tmp_path, 1024)
    on, off = (measured({**base, "reuse.recompute_last": v}) for v in (True, False))
    assert on["hit_ratio"] == pytest.approx(5 * 512 / (6 * 1024)) == pytest.approx(on["hit_ceiling"])
    assert off["hit_ratio"] == pytest.approx(5 / 6)


@pytest.mark.parametrize("policy", ["fifo", "sieve"])
def test_where_every_hit_leaves_policies_of_insertion_order_are_one_design(policy: str) -> None:
    """An exclusive tier gives a block up on its first hit, so there LRU, FIFO and SIEVE evict the same; searched once."""
    lru, other = ({"tiers.dram.capacity": "1 GiB", "tiers.dram.policy": name} for name in ("lru", policy))
    assert measured(lru) == measured(other)
    keys = [simcore.canonical(simcore.build_scenario(with_paths(changes))) for changes in (lru, other)]
    assert keys[0] == keys[1]


def test_a_closed_loop_over_sessions_has_at_most_a_request_of_each_client() -> None:
    scenario = simcore.build_scenario(with_paths({"workload.request_rate": None, "workload.concurrency": 8}))
    outcome = simcore.simulate(scenario)
    times = np.concatenate((outcome.arrival_s, outcome.finish_s))
    change = np.repeat([1, -1], len(outcome.arrival_s))
    in_flight = np.cumsum(change[np.lexsort((change, times))])
    assert 4 < in_flight.max() <= 8  # some think


@pytest.mark.parametrize("policy", ["least_loaded", "prefix_aware", "session", "gorgo"])
def test_every_router_is_its_own(policy: str) -> None:
    others = [p for p in ("round_robin", "least_loaded", "prefix_aware", "session", "gorgo") if p != policy]
    mine = measured({"router": policy})
    assert all(measured({"router": other}) != mine for other in others)


def test_replicas_of_regions_and_the_ways_between_them() -> None:
    def regions(us: int, eu: int, trip: str) -> dict[str, Any]:
        there = {"us": {"replicas": us, "clients": 1}, "eu": {"replicas": eu, "clients": 0, "round_trip": {"us": trip}}}
        return {"replicas": 3, "router": "gorgo", "regions": there, "workload.request_rate": 1}

    near, far = measured(regions(2, 1, "50 ms")), measured(regions(1, 2, "50 ms"))
    assert near != far
    here = measured({**regions(3, 0, "50 ms")})
    assert here == measured({"replicas": 3, "router": "gorgo", "workload.request_rate": 1})
    away = measured(regions(0, 3, "50 ms"))
    assert away["ttft_p50_s"] == pytest.approx(here["ttft_p50_s"] + 0.05, rel=0.02)


REGION_MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"replicas": 3}, "replicas: must be the 2 replicas of the regions"),
    ({"regions.eu.round_trip": {}}, "regions.us.round_trip.eu: is required"),
    ({"regions.eu.round_trip": {"uk": "1 ms"}}, "regions.eu.round_trip.uk: is no region"),
    ({"regions.us.clients": 0, "regions.eu.clients": 0}, "regions: must have clients somewhere"),
    ({"workload": CLOSED}, "regions: excludes a closed loop"),
]


@pytest.mark.parametrize(("changes", "message"), REGION_MISTAKES)
def test_regions_that_do_not_add_up_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(simcore.InputError) as caught:
        measured({**REGIONS, **changes})
    assert message in str(caught.value)


def test_a_quota_keeps_a_tenant_from_the_room_of_others() -> None:
    """Eight tenants, the first the most popular: held to a twentieth of each tier, it finds less, the others more."""
    base = {"replicas": 1, "workload.request_rate": 2, "tiers.cxl.capacity": 0, "tiers.dram.capacity": "4 GiB"}
    free, held = (
        simcore.simulate(simcore.build_scenario(with_paths({**base, **quotas})))
        for quotas in ({}, {"tiers.hbm.quotas": {0: 0.05}, "tiers.dram.quotas": {"0": "5 %"}})
    )
    before, after = (simcore.tenant_outcomes(outcome) for outcome in (free, held))
    assert after[0].hit_ratio < 0.9 * before[0].hit_ratio
    others = [sum(t.hit_ratio * t.prompt_tokens for t in tenants[1:]) for tenants in (before, after)]
    assert others[1] > others[0]


@pytest.mark.parametrize(
    "quotas",
    [{"first": 0.1}, {"-1": 0.1}, {"01": 0.1}, {"\uff11": 0.1}, {"1000000": 0.1}, {"1": True}, True, 1.5, {"default": -0.1}],
)
def test_quotas_are_shares_by_tenant(quotas: Any) -> None:
    with pytest.raises(simcore.InputError, match=r"tiers\.hbm\.quotas"):
        measured({"tiers.hbm.quotas": quotas})


def test_quotas_need_pages() -> None:
    bare = {"tiers.dram": None, "tiers.cxl": None, "tiers.hbm.quotas": 0.5}
    measured(bare)
    with pytest.raises(simcore.InputError, match=r"tiers\.hbm\.quotas: must be absent with a region"):
        measured({**bare, "engine.allocation": "oracle"})


def test_clients_that_start_apart_are_no_burst() -> None:
    burst, apart = (
        measured({"workload": {**CLOSED, "concurrency": 40}}),
        measured({"workload": {**CLOSED, "concurrency": 40, "client_pattern": {"start": "staggered", "ramp_up": "4 s"}}}),
    )
    assert apart["ttft_p99_s"] < burst["ttft_p99_s"]


def test_the_pattern_of_a_closed_loop_is_always_told() -> None:
    fixed = {"kind": "fixed", "isl": 600, "osl": 50, "concurrency": 4}
    for clients, words in (
        ({}, "starting at once, without a barrier"),
        ({"client_pattern": {"waves": True}}, "in waves with a barrier"),
    ):
        scenario = simcore.build_scenario(with_paths({"workload": {**fixed, **clients, "lengths": "0.8-1.0"}}))
        told = " ".join(simcore.describe(scenario))
        assert "closed loop of 4 clients" in told and words in told and "lengths 0.8-1 of isl and osl" in told
        assert any(words in line for line in simcore.trust(scenario))


def test_lockstep_waits_longer_than_lengths_that_vary() -> None:
    """With one length every wave is a burst of prefills; the published pattern of a factor of 2 to 4 in TTFT, none in TPOT."""
    base = {"kind": "fixed", "isl": 1024, "osl": 256, "concurrency": 32, "rounds": 10, "warmup": 0.2}
    lock, varied = (measured({"workload": {**base, "lengths": lengths}}) for lengths in ("fixed", "0.8-1.0"))
    assert lock["ttft_mean_s"] > 2 * varied["ttft_mean_s"]
    assert lock["tpot_mean_s"] == pytest.approx(varied["tpot_mean_s"], rel=0.15)


def test_whole_run_metrics_do_not_move_with_the_warm_up() -> None:
    whole = ("throughput_tokens_per_s", "energy_j_per_token", "cost_usd_per_million_tokens", "request_rate_rps", "utilisation")
    none, half = measured({}), measured({"workload.warmup": 0.5})
    assert [none[key] for key in whole] == [half[key] for key in whole]
    assert none["ttft_mean_s"] != half["ttft_mean_s"]


def test_a_seed_of_a_recorded_trace_is_refused(tmp_path: Any) -> None:
    with pytest.raises(simcore.InputError, match="workload.seed: changes nothing in a recorded trace"):
        measured({**_repeated_prompt(tmp_path, 700), "workload.seed": 3})


def test_a_request_beyond_the_models_context_is_refused() -> None:
    with pytest.raises(simcore.InputError, match="model.max_model_len: must be at least the workload's longest request"):
        measured({"model.max_model_len": 4000})


def test_a_capacity_beyond_the_device_is_refused() -> None:
    with pytest.raises(simcore.InputError, match="tiers.dram.capacity: must not exceed the device's 4 GiB"):
        simcore.build_scenario(with_paths({"tiers.dram.max_capacity": "4 GiB"}))


def test_a_limit_beyond_the_models_context_is_refused() -> None:
    with pytest.raises(simcore.InputError, match="engine.max_model_len: must not exceed the model's context of 131072 tokens"):
        simcore.build_scenario(with_paths({"engine.max_model_len": 200_000}))


def test_requests_beyond_the_engines_limit_are_counted() -> None:
    values = measured({"engine.max_model_len": 3000})
    assert 0 < values["rejected_requests"] < 300
    assert values["max_concurrency"] == pytest.approx(6 * 2**30 / 2**17 / 3000, rel=1e-3)  # 6 GiB at 128 KiB a token


PROVENANCE = {"preset", "source", "date", "planning_value", "family"}
MEMBERS = ("dram", "cxl", "first", "us")
"""Names of tiers, groups and regions in paths."""
ELSEWHERE = {
    "gpu.name": "printed", "model.max_model_len": "a limit, tested above", "max_capacity": "a limit, tested above",
    "model.recurrent.heads": "a limit on gpu.count, tested with the pages",
    "workload.client_pattern.start": "tested above", "regions.replicas": "tested above",
    "reuse.partial_block": "tested above", "reuse.recompute_last": "tested above",
    "kind": "selects the generator", "reader": "tested with the readers", "granule_tokens": "tested with the readers",
    "spread_ticks": "tested with the readers", "trace": "tested with the readers", "gpu.source": "printed",
}  # fmt: skip


def _leaves(cls: type[Spec], prefix: str = "") -> set[str]:
    found: set[str] = set()
    for name, info in cls.model_fields.items():
        path = f"{prefix}{yaml_name(name)}"
        inner = _spec_in(info.annotation)
        found |= _leaves(inner, f"{path}.") if inner else {path}
    return found


def _spec_in(annotation: Any) -> type[Spec] | None:
    if isinstance(annotation, type) and issubclass(annotation, Spec):
        return annotation
    if typing.get_origin(annotation) in (typing.Union, types.UnionType, typing.Annotated, dict):
        return next((s for a in typing.get_args(annotation) if (s := _spec_in(a))), None)
    return None


def test_a_restart_finds_what_drives_kept() -> None:
    """SGLang#32503 measured so: prefix reuse of 98.6 % with a file tier, 98.5 % after a restart, 9 % without it."""
    nvme = {"tiers.cxl": None, "tiers.nvme": {"preset": "nvme-gen5", "capacity": "500 GiB", "placement": "inclusive"}}
    cold, warm, restart = (measured({**nvme, "engine.load": "always", "start": kind}) for kind in ("cold", "warm", "restart"))
    for values in (cold, warm, restart):
        assert values["hit_ratio"] <= values["hit_ceiling"]
    assert cold["hit_ceiling"] < restart["hit_ceiling"] == warm["hit_ceiling"]
    assert restart["hit_ratio"] > 0.98 * warm["hit_ratio"] > 0.98 * cold["hit_ratio"]
    assert restart["prompt_share_hbm"] < warm["prompt_share_hbm"]


def test_what_loading_does_is_said() -> None:
    told = " ".join(
        simcore.describe(
            simcore.build_scenario(
                with_paths({"engine.overlap": "layer", "engine.prefetch": "timeout", "start": "warm", "start.share": 0.5})
            )
        )
    )
    assert "loaded: cheaper, layer by layer with its prefill, prefetched while queued (timeout of 1.00 s)" in told
    assert "; caches hold what serving its first 50 % before has left." in told
    alone = {"engine.prefetch": "wait", "tiers.cxl": None}
    assert "prefetched" not in " ".join(simcore.describe(simcore.build_scenario(with_paths(alone))))


def test_a_restart_without_persistent_tiers_is_a_cold_start() -> None:
    keys = [simcore.canonical(simcore.build_scenario(with_paths({"start": kind}))) for kind in ("cold", "restart")]
    assert keys[0] == keys[1]


def test_no_field_is_missing_from_this_list() -> None:
    covered = set(ELSEWHERE)
    for path, _, _ in KNOBS:
        for member in MEMBERS:
            path = path.replace(f".{member}.", ".")
        covered.add(path)
    for path in sorted(_leaves(Scenario)):
        last = path.rpartition(".")[2]
        assert path in covered or last in PROVENANCE or last in ELSEWHERE or path in ELSEWHERE, path


def test_the_base_is_not_degenerate() -> None:
    values = measured({}, BASE)
    assert 0.3 < values["utilisation"] < 1
    assert all(values[f"prompt_share_{tier}"] > 0.02 for tier in ("hbm", "dram", "cxl", "prefill"))


@pytest.mark.parametrize(
    "changes",
    [{"workload": "multiturn-hicache"}, {"workload.requests": 1}, {"replicas": 64, "workload.request_rate": 60}],
    ids=["rounds at one instant", "one request", "fewer requests than seats"],
)
def test_a_load_that_cannot_queue_is_not_called_saturated(changes: dict[str, Any]) -> None:
    assert measured(changes)["saturated"] == 0


def test_the_drain_loads_where_the_offered_run_may_load() -> None:
    """A backlog always waits, so `max_waiting` must not turn its loads off and make a good design look saturated."""
    threshold, cheaper, never = (measured({"engine.load": rule})["utilisation"] for rule in ("threshold", "cheaper", "never"))
    assert threshold == pytest.approx(cheaper, rel=0.02)
    assert threshold < never
