"""The scenario of the kv family: what a user may write."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, ValidationInfo, model_validator

from simcore.errors import InputError
from simcore.presets import Gpu, Model, Tier
from simcore.presets.loader import is_path
from simcore.quantization.kv_bytes import kv_footprint_per_gpu
from simcore.quantization.weights import find_weight_format
from simcore.roofline.constants import find_constants
from simcore.serving.engine import policy_module
from simcore.serving.setup import HAND_OVER, check_write_policy, default_write_policy
from simcore.specs.base import Seconds, Spec, yaml_name
from simcore.specs.disaggregation import DisaggregationSpec, check_disaggregation
from simcore.specs.engine import EngineSpec
from simcore.specs.kv_format import KvFormatSpec
from simcore.specs.model import ModelSpec
from simcore.specs.parallel import ParallelSpec
from simcore.specs.router import RegionSpec, RouterSpec, check_regions
from simcore.specs.tier import TierSpec
from simcore.workloads.spec import WorkloadSpec


class ReuseSpec(Spec):
    """Which tokens count as reusable.

    Args:
        partial_block: a prompt's trailing, partly filled block is an identity too (published hit-rate tables count it,
            engines cannot reuse it). Only recorded traces without output identities have one.
        recompute_last: a prompt found whole still computes its last block, as engines do to get its logits.
        output: blocks of generated tokens can be reused by later turns; absent: whenever the workload knows them.
    """

    shorthand: ClassVar[str | None] = None
    partial_block: bool = False
    recompute_last: bool = True
    output: bool | None = None


class StartSpec(Spec):
    """What the caches hold when the workload begins.

    Args:
        kind: "cold": nothing; "warm": what a run of the workload's first `share` left; "restart": the same, but only in tiers
            that are `persistent`. That run counts for no metric.
        share: of the requests, from the first on; 1: all of them, once before.
    """

    shorthand: ClassVar[str | None] = "kind"
    kind: Literal["cold", "warm", "restart"] = "cold"
    share: Annotated[float, Field(gt=0, le=1)] = 1.0


class SloSpec(Spec):
    """Limits that a request must meet to count as goodput."""

    shorthand: ClassVar[str | None] = None
    ttft_s: Seconds | None = None
    tpot_s: Seconds | None = None


class Scenario(Spec):
    """LLM serving: R identical replicas, each on `gpu.count` GPUs, over ordered tiers of KV blocks.

    Args:
        tiers: top to bottom; the first is `hbm`. HBM's capacity is the KV pool per GPU; a lower tier's is per replica,
            or in all when `shared`. A capacity of 0 means that there is no such tier.
        weight_format: format of the weights in HBM; absent: that of the published checkpoint.
        parallel: how the GPUs of a replica divide the model; absent: all in tensor parallel. It says `gpu.count` where that is
            absent.
        router: how requests are spread over replicas.
        regions: where replicas and clients are, if they are apart.
        disaggregation: which of the replicas only prefill, and how requests get from them to the others, which decode.
    """

    shorthand: ClassVar[str | None] = None
    family: Literal["kv"] = "kv"
    model: Model
    gpu: Gpu
    parallel: ParallelSpec | None = None
    replicas: Annotated[int, Field(ge=1, le=1024)] = 1
    router: RouterSpec = RouterSpec()
    regions: dict[str, RegionSpec] = Field(default_factory=dict)
    disaggregation: DisaggregationSpec | None = None
    engine: EngineSpec = EngineSpec()
    kv_format: KvFormatSpec = KvFormatSpec()
    weight_format: str | None = None
    tiers: dict[str, Tier]
    workload: WorkloadSpec
    reuse: ReuseSpec = ReuseSpec()
    slo: SloSpec = SloSpec()
    start: StartSpec = StartSpec()

    @model_validator(mode="before")
    @classmethod
    def _absolute_trace(cls, data: Any, info: ValidationInfo) -> Any:
        """A trace is named relative to the file that names it; from here on its path holds everywhere."""
        return _absolute(data, info, "workload", "trace")

    @model_validator(mode="before")
    @classmethod
    def _absolute_constants(cls, data: Any, info: ValidationInfo) -> Any:
        """So is a file of constants."""
        family = data["engine"].get("family") if isinstance(data, Mapping) and isinstance(data.get("engine"), Mapping) else None
        return _absolute(data, info, "engine", "family") if isinstance(family, str) and is_path(family) else data

    @model_validator(mode="before")
    @classmethod
    def _counted_gpus(cls, data: Any, info: ValidationInfo) -> Any:
        """`gpu.count` of a scenario that says only `parallel`."""
        parallel, gpu = (data.get(key) if isinstance(data, Mapping) else None for key in ("parallel", "gpu"))
        if not isinstance(parallel, Mapping) or not isinstance(gpu, Mapping) or "count" in gpu:
            return data
        degrees = [parallel.get(name, 1) for name in ("tp", "pp", "dp")]
        if not all(isinstance(degree, int) and degree > 0 for degree in degrees):
            return data
        return {**data, "gpu": {**gpu, "count": math.prod(degrees)}}

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        _check_tiers(self.tiers)
        check_regions(self.regions, self.replicas, self.workload.concurrency)
        _check_parallel(self.on, self.gpu.count, self.model)
        check_disaggregation(
            self.disaggregation,
            self.replicas,
            allocation=self.engine.allocation,
            reserve=self.engine.reserve,
            has_regions=bool(self.regions),
        )
        kv_footprint_per_gpu(self.model, self.kv_format, self.on.tp, self.engine.sliding_window_cache)
        engine = self.engine
        if engine.max_num_seqs * (1 + engine.draft_tokens) > engine.max_num_batched_tokens >= engine.max_num_seqs:
            rule = f"must not exceed max_num_batched_tokens ({engine.max_num_batched_tokens}) over 1 + draft_tokens"
            raise InputError(rule, path="engine.max_num_seqs", value=engine.max_num_seqs)
        if engine.max_num_seqs > engine.max_num_batched_tokens:
            rule = f"must not exceed max_num_batched_tokens ({engine.max_num_batched_tokens}): each sequence takes a token"
            raise InputError(rule, path="engine.max_num_seqs", value=engine.max_num_seqs)
        limit = self.model.max_model_len
        if engine.max_model_len is not None and engine.max_model_len > limit:
            rule = f"must not exceed the model's context of {limit} tokens"
            raise InputError(rule, path="engine.max_model_len", value=engine.max_model_len)
        if engine.allocation != "paged" and self.lower_tiers:
            rule, hint = "needs a system without tiers below HBM", "only paged memory has blocks that could go there"
            raise InputError(rule, path="engine.allocation", value=engine.allocation, hint=hint)
        if engine.allocation != "paged" and self.hbm.quotas:
            hint = "only paged memory has blocks to count; leave quotas out, or set engine.allocation: paged"
            raise InputError("must be absent with a region for each request", path="tiers.hbm.quotas", hint=hint)
        try:
            find_weight_format(self.weights)
        except InputError as error:
            raise error.within(prefix="weight_format") from None
        find_constants(self.gpu, self.engine.family, self.model)
        return self

    @property
    def on(self) -> ParallelSpec:
        """How the GPUs of a replica divide the model."""
        return self.parallel or ParallelSpec(tp=self.gpu.count)

    @property
    def weights(self) -> str:
        """Format of the weights in HBM."""
        return self.weight_format or self.model.dtype

    @property
    def hbm(self) -> TierSpec:
        return self.tiers["hbm"]

    @property
    def lower_tiers(self) -> dict[str, TierSpec]:
        """The tiers below HBM that exist, top to bottom."""
        return {name: tier for name, tier in self.tiers.items() if name != "hbm" and tier.capacity_bytes > 0}

    @property
    def split(self) -> DisaggregationSpec | None:
        """Which replicas prefill and which decode; None: all do both."""
        return self.disaggregation if self.disaggregation and self.disaggregation.prefill_replicas else None

    @property
    def entry_replicas(self) -> int:
        """Replicas that requests are routed to."""
        return self.split.prefill_replicas if self.split else self.replicas

    def copies(self, tier: TierSpec) -> int:
        """How many of a lower tier the whole system has."""
        return 1 if tier.shared else self.replicas


def _absolute(data: Any, info: ValidationInfo, part: str, key: str) -> Any:
    base_dir = (info.context or {}).get("base_dir")
    inner = data.get(part) if isinstance(data, Mapping) else None
    if base_dir is None or not isinstance(inner, Mapping) or not isinstance(inner.get(key), str):
        return data
    path = (Path(base_dir) / Path(inner[key]).expanduser()).resolve()
    return {**data, part: {**inner, key: str(path)}}


def _check_parallel(on: ParallelSpec, gpus: int, model: ModelSpec) -> None:
    if on.gpus != gpus:
        rule = f"must be parallel's tp x pp x dp, {on.tp} x {on.pp} x {on.dp} = {on.gpus}"
        raise InputError(rule, path="gpu.count", value=gpus, hint="leave gpu.count out, or parallel")
    if not model.experts and (on.dp > 1 or on.ep):
        rule = f"is for mixtures: {model.name} has no experts to share"
        hint = "data-parallel copies of a dense model are replicas" if on.dp > 1 else None
        raise InputError(
            rule, path="parallel.dp" if on.dp > 1 else "parallel.ep", value=on.dp if on.dp > 1 else True, hint=hint
        )
    try:
        on.layers_by_stage(model.layers)
    except InputError as error:
        raise error.within(prefix="parallel") from None


def _check_tiers(tiers: Mapping[str, TierSpec]) -> None:
    if not tiers or next(iter(tiers)) != "hbm":
        hint = "write tiers: {hbm: {capacity: 40 GiB}, ...}"
        raise InputError("must begin with hbm, the tier of the GPU", path="tiers", value=", ".join(tiers), hint=hint)
    if tiers["hbm"].capacity_bytes == 0:
        raise InputError("must be more than 0: running requests keep their blocks here", path="tiers.hbm.capacity", value=0)
    for name, tier in tiers.items():
        if not name.isidentifier():
            raise InputError("must be a plain name", path=f"tiers.{name}", value=name)
        try:
            policy_module(tier.policy, pool=name == "hbm")
        except InputError as error:
            raise error.within(prefix=f"tiers.{name}.policy") from None
        if name in ("host", HAND_OVER):
            raise InputError("is the name of a link", path=f"tiers.{name}", value=name)
        if name != "hbm":
            try:
                tier.bandwidths()
                check_write_policy(tier.placement, tier.write_policy or default_write_policy(tier.placement))
            except InputError as error:
                raise error.within(prefix=f"tiers.{name}") from None
    _refuse_meaningless(tiers["hbm"])


_OF_HBM = {"capacity_bytes", "policy", "quotas"}


def _refuse_meaningless(hbm: TierSpec) -> None:
    """HBM's speed and price belong to the GPU; saying them here would change nothing."""
    for name, info in TierSpec.model_fields.items():
        if name not in _OF_HBM and getattr(hbm, name) != info.default:
            hint = "set it on gpu (bandwidth, memory, hbm_usd_per_gib)"
            raise InputError("belongs to the GPU, not to its tier", path=f"tiers.hbm.{yaml_name(name)}", hint=hint)
