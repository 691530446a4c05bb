"""What must fit in a GPU's memory, and how many tokens a KV pool holds.

    hbm bytes per GPU = weights / tp + peak of activations and logits + runtime reserve + pool
                     <= gpu_memory_utilization * memory

Peak: the larger of two moments of a step, which do not coincide:
    layer:   2 bytes * max_num_batched_tokens * (4 * hidden + 3 * feed-forward width / tp)
    sampler: 40 bytes * max_num_seqs * vocabulary    (16-bit and 32-bit logits, probabilities, sorted copies with indices)
Both are fitted to what vLLM's start-up log prints as "PyTorch activation peak memory" (see the tests: within 10 % on six logs).

Limits: weights are split evenly (heads repeated when tp exceeds the KV heads are not counted twice); CUDA graphs are taken from
the share outside gpu_memory_utilization, as engines do.
"""

from __future__ import annotations

from typing import NamedTuple

from simcore.quantization.kv_bytes import kv_footprint, kv_footprint_per_gpu
from simcore.quantization.weights import weight_bytes
from simcore.specs.engine import EngineSpec
from simcore.specs.gpu import GpuSpec
from simcore.specs.kv_format import KvFormatSpec
from simcore.specs.model import ModelSpec
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


class Pool(NamedTuple):
    """A KV pool in whole blocks.

    Attributes:
        blocks: whole blocks of `block_size` tokens.
        tokens: tokens they hold.
        block_bytes: bytes of a block on one GPU.
        ring_bytes: bytes set aside on that GPU for the windows of running sequences, not in blocks.
    """

    blocks: int
    tokens: int
    block_bytes: float
    ring_bytes: float


def activation_bytes(model: ModelSpec, engine: EngineSpec, tp: int = 1) -> int:
    """Peak bytes of activations or logits on one of `tp` GPUs."""
    layer = 2 * engine.max_num_batched_tokens * (4 * model.hidden_size + 3 * model.ffn_width / tp)
    sampler = SAMPLER_BYTES_PER_LOGIT * engine.max_num_seqs * model.vocab_size
    return round(max(layer, sampler))


def runtime_reserve_bytes(tp: int = 1) -> int:
    """Bytes the runtime holds on one of `tp` GPUs."""
    return RUNTIME_BYTES + (COMMUNICATION_BYTES if tp > 1 else 0)


def hbm_use(model: ModelSpec, gpu: GpuSpec, engine: EngineSpec, pool_bytes: int, weight_format: str | None = None) -> HbmUse:
    """What one GPU of a replica holds, with `pool_bytes` of it given to the KV pool."""
    return HbmUse(
        weights=-(-weight_bytes(model, weight_format) // gpu.count),
        activations=activation_bytes(model, engine, gpu.count),
        runtime=runtime_reserve_bytes(gpu.count),
        pool=pool_bytes,
    )


def hbm_bytes_per_gpu(
    model: ModelSpec, gpu: GpuSpec, engine: EngineSpec, pool_bytes: int, weight_format: str | None = None
) -> int:
    """Bytes one GPU of a replica must have: weights, activations, runtime and pool."""
    return hbm_use(model, gpu, engine, pool_bytes, weight_format).total


def usable_bytes(gpu: GpuSpec, engine: EngineSpec) -> int:
    """Bytes of one GPU's memory the engine may use."""
    return int(gpu.memory_bytes * engine.gpu_memory_utilization)


def hbm_excess_bytes(
    model: ModelSpec, gpu: GpuSpec, engine: EngineSpec, pool_bytes: int, weight_format: str | None = None
) -> int:
    """Bytes by which a design exceeds one GPU; not positive when it fits, and then the room that is left, negated."""
    return hbm_bytes_per_gpu(model, gpu, engine, pool_bytes, weight_format) - usable_bytes(gpu, engine)


def pool(model: ModelSpec, kv_format: KvFormatSpec, engine: EngineSpec, pool_bytes: int, tp: int = 1) -> Pool:
    """Blocks and tokens in `pool_bytes` of each of `tp` GPUs, rounded down to whole blocks as the engines do.

    Raises:
        InputError: an unknown format, or a tensor-parallel degree the model does not allow.
    """
    footprint = kv_footprint_per_gpu(model, kv_format, tp, engine.sliding_window_cache)
    ring = footprint.fixed_bytes_per_sequence * engine.max_num_seqs
    block = footprint.bytes_per_token * engine.block_size
    if block == 0:  # every layer is a ring: tokens cost nothing beyond it
        block = footprint.fixed_bytes_per_sequence
    blocks = max(0, int((pool_bytes - ring) // block))
    return Pool(blocks, blocks * engine.block_size, block, ring)


def tier_blocks(model: ModelSpec, kv_format: KvFormatSpec, engine: EngineSpec, capacity_bytes: int) -> int:
    """Whole blocks in a tier below HBM, which keeps every head and latent once, whatever the tensor parallelism."""
    return int(capacity_bytes // tier_block_bytes(model, kv_format, engine))


def tier_block_bytes(model: ModelSpec, kv_format: KvFormatSpec, engine: EngineSpec) -> float:
    """Bytes of a block in a tier below HBM, every head and latent once."""
    footprint = kv_footprint(model, kv_format, engine.sliding_window_cache)
    return (footprint.bytes_per_token or footprint.fixed_bytes_per_sequence) * engine.block_size
