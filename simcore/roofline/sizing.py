"""How much KV cache a deployment has: pool of every stage, tokens, sequences, tiers below. Closed forms; nothing is simulated.

Two kinds of KV are told apart. *Active*: of running requests, must be in HBM. *Reusable*: of finished ones, may be in a lower
tier. A tier below HBM adds to the second only: it never lengthens the longest sequence that can run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, NamedTuple, Self

from pydantic import Field, model_validator

from simcore.errors import InputError
from simcore.presets import Gpu, Model, Tier
from simcore.quantization.kv_bytes import Footprint, LayerGroup, kv_footprint, layer_groups
from simcore.quantization.weights import find_weight_format
from simcore.roofline.memory import HbmUse, Stage, pool_room_bytes, share_for_pool, stages
from simcore.roofline.paging import Paging, tier_block_bytes, windowed_pages
from simcore.specs.base import Bytes, Spec, validate
from simcore.specs.engine import EngineSpec
from simcore.specs.kv_format import KvFormatSpec
from simcore.specs.parallel import ParallelSpec

Positive = Annotated[int, Field(ge=1)]
UNLIMITED = 2**62
"""Tokens of a sequence whose cache does not grow."""


class Deployment(Spec):
    """A model on GPUs under an engine's flags; what `size` works on.

    Args:
        gpu: one GPU; how many there are follows from `parallel`.
        parallel: how a replica divides the model.
        replicas: replicas of that, each with its own pool.
        max_model_len: longest request in tokens, prompt and output; that of the engine, or
            the model's limit, when absent.
        pool_bytes: bytes of each GPU given to the pool; absent: what the engine's rule leaves.
        max_blocks: most blocks of the pool (`--num-gpu-blocks-override`); absent: as many as fit.
        tiers: tiers below HBM, top to bottom.
    """

    shorthand: ClassVar[str | None] = None
    model: Model
    gpu: Gpu
    engine: EngineSpec = EngineSpec()
    kv_format: KvFormatSpec = KvFormatSpec()
    weight_format: str | None = None
    parallel: ParallelSpec = ParallelSpec()
    replicas: Annotated[int, Field(ge=1, le=100_000)] = 1
    max_model_len: Positive | None = None
    pool_bytes: Bytes | None = None
    max_blocks: Positive | None = None
    tiers: dict[str, Tier] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        limit = self.model.max_model_len
        if self.max_model_len is not None and self.max_model_len > limit:
            rule = f"must not exceed the {limit} tokens {self.model.name} supports"
            raise InputError(rule, path="max_model_len", value=self.max_model_len)
        try:
            find_weight_format(self.weights)
        except InputError as error:
            raise error.within(prefix="weight_format") from None
        return self

    @property
    def weights(self) -> str:
        """Format of the weights."""
        return self.weight_format or self.model.dtype

    @property
    def request_tokens(self) -> int:
        """Tokens of the longest request."""
        return self.max_model_len or self.engine.max_model_len or self.model.max_model_len


class StageSize(NamedTuple):
    """One stage with its pool.

    Attributes:
        stage: what one of its GPUs holds and how its pool is divided.
        room_bytes: what the engine's rule leaves for the pool; negative: the rest does not fit.
        pool_bytes: bytes of the pool.
        pages: whole pages in it.
    """

    stage: Stage
    room_bytes: int
    pool_bytes: int
    pages: int

    @property
    def paging(self) -> Paging:
        return self.stage.paging

    def sequences(self, tokens: int) -> float:
        """How many running requests of `tokens` tokens fit, as engines count it (a fraction of one stays)."""
        pages = self.paging
        if pages.sequence_bytes or pages.page_bytes == 0:
            return max(0, self.pool_bytes) / pages.bytes_of(tokens)
        return self.pages / (pages.blocks_of(tokens) * pages.pages_per_block + pages.sequence_pages)

    def longest(self, sequences: int = 1) -> int:
        """Tokens of the longest sequences of which so many fit at once, in whole blocks."""
        pages = self.paging
        if not pages.grows:
            return UNLIMITED if self.sequences(1) >= sequences else 0
        left = self.pages // sequences - pages.sequence_pages
        if pages.sequence_bytes:
            left = int((self.pool_bytes / sequences - pages.bytes_per_sequence) // pages.page_bytes) if pages.page_bytes else 0
        return max(0, left // pages.pages_per_block) * pages.block_tokens


class TierSize(NamedTuple):
    """A tier below HBM: bytes of one copy, copies, and the tokens and requests all copies hold."""

    name: str
    capacity_bytes: int
    copies: int
    tokens: int
    sequences: float


@dataclass(frozen=True)
class Sizing:
    """What a deployment holds; figures of HBM are of one pool, of which a replica has `parallel.dp`."""

    deployment: Deployment
    stages: tuple[StageSize, ...]

    @cached_property
    def binding(self) -> StageSize:
        """The stage that runs out first."""
        return min(self.stages, key=lambda s: (s.sequences(self.deployment.request_tokens), s.room_bytes))

    @property
    def pools(self) -> int:
        """Pools in all: replicas times data-parallel ranks."""
        return self.deployment.replicas * self.deployment.parallel.dp

    @property
    def weights_fit(self) -> bool:
        """Whether every GPU has room for a pool at all."""
        return all(s.room_bytes > 0 for s in self.stages)

    @property
    def excess_bytes(self) -> int:
        """Bytes by which the fullest GPU exceeds what the engine may use; 0 when it fits."""
        return max(0, max(s.pool_bytes - s.room_bytes for s in self.stages))

    @property
    def block_tokens(self) -> int:
        """Tokens of a block."""
        return self.binding.paging.block_tokens

    @property
    def blocks(self) -> int:
        """Whole blocks of the pool, what sequences need beside their tokens not taken off."""
        return self.binding.pages // self.binding.paging.pages_per_block

    @property
    def sequences(self) -> float:
        """Requests of the longest length that one pool holds at once, as engines print "maximum concurrency"."""
        return self.sequences_of(self.deployment.request_tokens)

    def sequences_of(self, tokens: int) -> float:
        """Running requests of `tokens` tokens that one pool holds at once."""
        return min(s.sequences(tokens) for s in self.stages)

    @property
    def running(self) -> int:
        """Requests of the longest length that run at once in one pool: whole ones, within `max_num_seqs`."""
        return min(int(self.sequences), self.deployment.engine.max_num_seqs)

    @property
    def longest(self) -> int:
        """Tokens of the longest sequence that can run."""
        return self.longest_of(1)

    def longest_of(self, sequences: int) -> int:
        """Tokens of the longest sequences of which so many can run at once."""
        found = min(s.longest(sequences) for s in self.stages)
        return self.deployment.model.max_model_len if found == UNLIMITED else found

    @property
    def fixed_per_sequence(self) -> bool:
        """Whether a sequence takes bytes beside those of its tokens, so that tokens of a pool depend on its length."""
        return self.binding.paging.bytes_per_sequence > 0

    @property
    def pool_tokens(self) -> int:
        """Tokens of one pool as engines print them: whole blocks, or with a fixed part per sequence those of requests of the
        longest length."""
        if self.fixed_per_sequence:
            return int(self.sequences * self.deployment.request_tokens)
        return self.blocks * self.block_tokens

    @property
    def footprint(self) -> Footprint:
        """Bytes of cache of the whole model, each head stored once."""
        d = self.deployment
        return kv_footprint(d.model, d.kv_format, d.engine.sliding_window_cache)

    @cached_property
    def window_bounds(self) -> tuple[float, float, float] | None:
        """Requests of the longest length at once with sliding-window layers at full length, as vLLM's hybrid cache manager
        pages them, and in rings of their window; None for a model without such layers."""
        d = self.deployment
        if d.model.sliding is None:
            return None
        modes = (d.engine.with_changes(sliding_window_cache=mode) for mode in ("unified", "ring"))
        unified, ring = (size(d.with_changes(engine=engine)).sequences for engine in modes)
        page, each, _ = windowed_pages(d.model, d.kv_format, d.engine, d.parallel.tp, d.request_tokens)
        whole = min(s.pool_bytes * d.model.layers / len(s.stage.layers) for s in self.stages)
        return unified, int(max(0.0, whole) // page) / each, ring

    @property
    def groups(self) -> tuple[LayerGroup, ...]:
        """The footprint by kind of layer."""
        d = self.deployment
        return layer_groups(d.model, d.kv_format, 0, d.engine.sliding_window_cache)

    def per_pool(self, requests: int) -> int:
        """Requests of the fullest pool when `requests` are spread evenly over all pools."""
        return -(-requests // self.pools)

    def request_bytes(self, tokens: int | None = None) -> float:
        """Bytes of one running request on a GPU of the stage that holds most of it."""
        return max(s.paging.bytes_of(tokens or self.deployment.request_tokens) for s in self.stages)

    def pool_needed(self, sequences: int, tokens: int | None = None) -> int:
        """Bytes of each GPU's pool that `sequences` running requests need."""
        return math.ceil(sequences * self.request_bytes(tokens))

    def share_needed(self, sequences: int, tokens: int | None = None) -> float:
        """The `gpu_memory_utilization` that gives every stage the pool for `sequences` running requests."""
        d, length = self.deployment, tokens or self.deployment.request_tokens
        return max(share_for_pool(d.gpu, d.engine, s.stage.fixed, sequences * s.paging.bytes_of(length)) for s in self.stages)

    def use(self, stage: StageSize) -> HbmUse:
        """What one GPU of a stage holds with its pool."""
        return stage.stage.fixed._replace(pool=max(0, stage.pool_bytes))

    @cached_property
    def tiers(self) -> tuple[TierSize, ...]:
        """Tiers below HBM, top to bottom."""
        d = self.deployment
        block = tier_block_bytes(d.model, d.kv_format, d.engine, d.parallel.tp)
        found = []
        for name, tier in d.tiers.items():
            copies = 1 if tier.shared else self.pools
            tokens = int(tier.capacity_bytes // block) * self.block_tokens * copies
            found.append(TierSize(name, tier.capacity_bytes, copies, tokens, tokens / d.request_tokens))
        return tuple(found)


def build_deployment(data: Mapping[str, Any], *, base_dir: str | None = None) -> Deployment:
    """A deployment from plain data, presets and quantities as in a scenario.

    Raises:
        InputError: the first mistake.
    """
    return validate(Deployment, data, context={"base_dir": base_dir} if base_dir else None)


def size(deployment: Deployment) -> Sizing:
    """The pool of every stage and what it holds.

    Raises:
        InputError: an unknown format, or degrees of parallelism the model does not allow.
    """
    d = deployment
    found = []
    for stage in stages(d.model, d.kv_format, d.engine, d.parallel, d.weight_format):
        room = pool_room_bytes(d.gpu, d.engine, stage.fixed)
        given = room if d.pool_bytes is None else d.pool_bytes
        page = stage.paging.page_bytes
        pages = max(0, int(given // page)) if page else 0
        if d.max_blocks is not None:
            pages = min(pages, d.max_blocks * stage.paging.pages_per_block) if d.pool_bytes is not None else d.max_blocks
            given = min(given, math.ceil(pages * page)) if d.pool_bytes is not None else math.ceil(pages * page)
        found.append(StageSize(stage, room, given, pages))
    return Sizing(d, tuple(found))
