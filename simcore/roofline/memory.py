"""What must fit in a GPU's memory, and how many tokens a KV pool holds.

    hbm bytes of a GPU = weights + peak of activations and logits + runtime reserve + pool <= what the engine may use

Peak: the larger of two moments of a step, which do not coincide:
    layer:   2 bytes * max_num_batched_tokens * (4 * hidden + 3 * feed-forward width / tp)
    sampler: 40 bytes * max_num_seqs * vocabulary    (16-bit and 32-bit logits, probabilities, sorted copies with indices)
Both are fitted to what vLLM's start-up log prints as "PyTorch activation peak memory" (see the tests: within 10 % on six logs).
The sampler is on the last stage of a pipeline.

Weights: a layer is the mean of all layers. A stage has its share of them; the first also has the input embedding, the last the
output head (both, where they are one matrix). Tensor parallelism divides, except K and V projections of heads that are
repeated, and the projection to an MLA latent. Routed experts are divided over all GPUs of a stage, data-parallel ranks
included; whole experts (`ep`) in equal numbers, rounded up.

Limits: CUDA graphs are taken from the share outside gpu_memory_utilization; the query latent of MLA is counted as divided.
"""

from __future__ import annotations

from typing import NamedTuple

from simcore.quantization.kv_bytes import heads_per_gpu
from simcore.quantization.weights import weight_bytes, weight_parts
from simcore.roofline.constants import family_name
from simcore.roofline.paging import Paging, paging, tier_block_bytes
from simcore.specs.engine import EngineSpec
from simcore.specs.gpu import GpuSpec
from simcore.specs.kv_format import KvFormatSpec
from simcore.specs.model import ModelSpec
from simcore.specs.parallel import ParallelSpec
from simcore.units import GIB

SAMPLER_BYTES_PER_LOGIT = 40
RUNTIME_BYTES = GIB // 2
"""CUDA context, cuBLAS workspaces and allocator slack; vLLM logs 0.1 to 0.6 GiB as "non_torch_memory" on one GPU."""
COMMUNICATION_BYTES = GIB
"""NCCL and custom all-reduce buffers of a GPU that is one of several; vLLM logs 1 to 2 GiB more."""


class HbmUse(NamedTuple):
    """Bytes of one GPU's memory by what holds them."""

    weights: int
    activations: int
    runtime: int
    pool: int

    @property
    def total(self) -> int:
        return self.weights + self.activations + self.runtime + self.pool


class Stage(NamedTuple):
    """One stage of a pipeline; its GPUs are alike.

    Attributes:
        number: from 0.
        layers: the layers it has, of the model's.
        fixed: what one of its GPUs holds before the pool.
        paging: how its pool is divided.
    """

    number: int
    layers: range
    fixed: HbmUse
    paging: Paging


class Pool(NamedTuple):
    """A KV pool in whole blocks.

    Attributes:
        blocks: whole blocks.
        tokens: tokens they hold.
        block_bytes: bytes of a block on one GPU.
        reserved_bytes: bytes set aside on that GPU for windows and states of `max_num_seqs` sequences.
        block_tokens: tokens of a block: `block_size`, or what a hybrid model forces.
    """

    blocks: int
    tokens: int
    block_bytes: float
    reserved_bytes: float
    block_tokens: int


def activation_bytes(model: ModelSpec, engine: EngineSpec, tp: int = 1, *, sampler: bool = True) -> int:
    """Peak bytes of activations or logits on one of `tp` GPUs; without logits on a stage that has no `sampler`."""
    layer = 2 * engine.max_num_batched_tokens * (4 * model.hidden_size + 3 * model.ffn_width / tp)
    logits = SAMPLER_BYTES_PER_LOGIT * engine.max_num_seqs * model.vocab_size if sampler else 0
    return round(max(layer, logits))


def runtime_reserve_bytes(tp: int = 1) -> int:
    """Bytes the runtime holds on one of `tp` GPUs."""
    return RUNTIME_BYTES + (COMMUNICATION_BYTES if tp > 1 else 0)


def stages(
    model: ModelSpec, kv_format: KvFormatSpec, engine: EngineSpec, parallel: ParallelSpec, weight_format: str | None = None
) -> tuple[Stage, ...]:
    """Every stage of the pipeline: what a GPU of it holds, the pool apart.

    Raises:
        InputError: an unknown format, or degrees of parallelism the model does not allow.
    """
    counts = parallel.layers_by_stage(model.layers)
    firsts = [sum(counts[:number]) for number in range(parallel.pp)]
    layers = [range(first, first + count) for first, count in zip(firsts, counts, strict=True)]
    fixed = _fixed(model, engine, parallel, weight_format)
    return tuple(
        Stage(number, layers[number], fixed[number], paging(model, kv_format, engine, parallel.tp, layers[number]))
        for number in range(parallel.pp)
    )


def _fixed(model: ModelSpec, engine: EngineSpec, parallel: ParallelSpec, weight_format: str | None) -> list[HbmUse]:
    """What a GPU of each stage holds before its pool."""
    last = parallel.pp - 1
    ranks = max(parallel.tp, parallel.dp if model.experts else 1)
    return [
        HbmUse(
            weights=_stage_weights(model, parallel, count, number == 0, number == last, weight_format),
            activations=activation_bytes(model, engine, parallel.tp, sampler=number == last),
            runtime=runtime_reserve_bytes(ranks),
            pool=0,
        )
        for number, count in enumerate(parallel.layers_by_stage(model.layers))
    ]


def _stage_weights(
    model: ModelSpec, parallel: ParallelSpec, layers: int, first: bool, last: bool, weight_format: str | None
) -> int:
    """Bytes of weights on one GPU of a stage with `layers` layers."""
    parts, tp = weight_parts(model, weight_format), parallel.tp
    if parallel.pp == parallel.dp == 1 and not parallel.ep:
        return -(-weight_bytes(model, weight_format) // tp) + round(model.layers * _repeated(model, tp, parts.bytes_per_weight))
    share = layers / model.layers
    layer_bytes = (parts.dense_bytes - parts.head_bytes) * share / tp + layers * _repeated(model, tp, parts.bytes_per_weight)
    ranks = tp * parallel.dp
    experts = parts.expert_bytes * share / ranks
    if parallel.ep and model.experts:
        experts = parts.expert_bytes * share * -(-model.experts // ranks) / model.experts
    matrices = (first + last) if not model.tied_embeddings else 1 if first or last else 0
    return round(layer_bytes + experts + matrices * parts.head_bytes / tp)


def _repeated(model: ModelSpec, tp: int, bytes_per_weight: float) -> float:
    """Bytes a GPU has beyond an even share of a layer: projections to KV heads that are repeated, or to the latent."""
    if model.mla is not None:
        width = (model.mla.kv_lora_rank + model.mla.qk_rope_head_dim) * (1 - 1 / tp)
    else:
        width = 2 * model.head_dim * (heads_per_gpu(model, tp) - model.kv_heads / tp)
    return model.hidden_size * width * bytes_per_weight * model.attention_layers / model.layers


def hbm_use(
    model: ModelSpec,
    gpu: GpuSpec,
    engine: EngineSpec,
    pool_bytes: int,
    weight_format: str | None = None,
    parallel: ParallelSpec | None = None,
) -> HbmUse:
    """What the fullest GPU of a replica holds, with `pool_bytes` of each given to the KV pool.

    Args:
        parallel: how the replica's GPUs divide the model; all of them in tensor parallel when None.
    """
    fixed = _fixed(model, engine, parallel or ParallelSpec(tp=gpu.count), weight_format)
    return max(fixed, key=lambda use: use.total)._replace(pool=pool_bytes)


def hbm_bytes_per_gpu(
    model: ModelSpec, gpu: GpuSpec, engine: EngineSpec, pool_bytes: int, weight_format: str | None = None
) -> int:
    """Bytes one GPU of a replica must have: weights, activations, runtime and pool."""
    return hbm_use(model, gpu, engine, pool_bytes, weight_format).total


def pool_room_bytes(gpu: GpuSpec, engine: EngineSpec, fixed: HbmUse) -> int:
    """Bytes the engine's rule leaves for the pool of a GPU that holds `fixed`; negative when that alone is too much."""
    share, memory = engine.gpu_memory_utilization, gpu.memory_bytes
    family = family_name(engine.family)
    if family == "sglang":
        return min(int(memory * share) - fixed.weights - fixed.runtime, memory - fixed.total)
    if family == "trtllm":
        return int(share * (memory - fixed.total)) if memory > fixed.total else memory - fixed.total
    return int(memory * share) - fixed.total


def usable_bytes(gpu: GpuSpec, engine: EngineSpec, fixed: HbmUse | None = None) -> int:
    """Bytes of one GPU's memory the engine may use; `fixed` is what it holds before the pool (families other than vLLM
    need to know)."""
    held = (fixed or HbmUse(0, 0, 0, 0))._replace(pool=0)
    return held.total + pool_room_bytes(gpu, engine, held)


def hbm_excess_bytes(
    model: ModelSpec, gpu: GpuSpec, engine: EngineSpec, pool_bytes: int, weight_format: str | None = None
) -> int:
    """Bytes by which a design exceeds one GPU; not positive when it fits, and then the room that is left, negated."""
    use = hbm_use(model, gpu, engine, pool_bytes, weight_format)
    return use.total - usable_bytes(gpu, engine, use)


def pool(model: ModelSpec, kv_format: KvFormatSpec, engine: EngineSpec, pool_bytes: int, tp: int = 1) -> Pool:
    """Blocks and tokens in `pool_bytes` of each of `tp` GPUs, rounded down to whole blocks as the engines do.

    Raises:
        InputError: an unknown format, or a tensor-parallel degree the model does not allow.
    """
    return pool_of(paging(model, kv_format, engine, tp), engine, pool_bytes)


def pool_of(pages: Paging, engine: EngineSpec, pool_bytes: int) -> Pool:
    """The pool of a GPU whose pages are `pages`, with what `max_num_seqs` sequences need beside their tokens set aside."""
    reserved = pages.bytes_per_sequence * engine.max_num_seqs
    blocks = max(0, int((pool_bytes - reserved) // pages.block_bytes))
    return Pool(blocks, blocks * pages.block_tokens, pages.block_bytes, reserved, pages.block_tokens)


def tier_blocks(model: ModelSpec, kv_format: KvFormatSpec, engine: EngineSpec, capacity_bytes: int, tp: int = 1) -> int:
    """Whole blocks in a tier below HBM, which keeps every head and latent once, whatever the tensor parallelism."""
    return int(capacity_bytes // tier_block_bytes(model, kv_format, engine, tp))


def share_for_pool(gpu: GpuSpec, engine: EngineSpec, fixed: HbmUse, pool_bytes: float) -> float:
    """The `gpu_memory_utilization` that leaves `pool_bytes` for the pool; above 1 where no share is enough. Inverse of
    `pool_room_bytes`."""
    memory, family = gpu.memory_bytes, family_name(engine.family)
    if family == "trtllm":
        free = memory - fixed.total
        return pool_bytes / free if free > 0 else float("inf")
    if family == "sglang":
        return (fixed.weights + fixed.runtime + pool_bytes) / memory if fixed.total + pool_bytes <= memory else float("inf")
    return (fixed.total + pool_bytes) / memory
