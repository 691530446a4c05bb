"""Time of one engine step.

    step    = lin(n) + kv_s_per_token * S + seq_s * decoding + pair_s * pairs            TTFT += request_s
    lin(n)  = step_s + (read^4 + compute^4)^(1/4) + communication
    read    = (dense bytes + expert bytes * (1 - (1 - k/E)^n)) / (weight_bandwidth_share * bandwidth * tp)
    compute = 2 * A * n / (mfu * rate * tp) + windowed attention
    communication = 2 * layers * (allreduce_s * log2(tp) / 3 + 4 * n * hidden * (tp-1)/tp / (gpu_link_share * link))

`n` tokens of the step (prefill chunks plus one per decoding sequence), `S` sum of the contexts of the decoding sequences,
`pairs` attended (query, key) pairs of the prefill chunks, `A` active parameters without a looked-up input embedding, `rate` the
dense rate of the weight format. No communication for tp = 1. The fourth-power mean bends the corner of the roofline, where
neither limit is reached.

Sliding-window layers read and attend `window` tokens whatever the context, so they are in `seq_s` and `lin`, not in
`kv_s_per_token` and `pair_s`; contexts shorter than the window are charged for a full one.

Limits: KV formats are charged for their bytes, not for converting them; a low-precision attention kernel is not faster than a
16-bit one; pipeline and expert parallelism are not modelled; a GPU without NVLink communicates over its host link.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simcore.quantization.kv_bytes import kv_footprint_per_gpu
from simcore.quantization.weights import find_weight_format, weight_parts
from simcore.roofline.constants import Constants, find_constants
from simcore.specs.gpu import GpuSpec
from simcore.specs.kv_format import KvFormatSpec
from simcore.specs.model import ModelSpec

CORNER = 4
"""Power of the mean that joins the two limits of the roofline."""
Seconds = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class StepCosts:
    """Terms of the step time, in seconds.

    Attributes:
        lin_s: shape (budget + 1,), by tokens in the step: fixed time, weights, matrix products, communication.
        kv_s_per_token: per token of context of each decoding sequence.
        seq_s: per decoding sequence.
        pair_s: per attended (query, key) pair of a prefill chunk.
        request_s: added once to a request's time to first token; takes no step time.
    """

    lin_s: Seconds
    kv_s_per_token: float
    seq_s: float
    pair_s: float
    request_s: float


def step_costs(
    model: ModelSpec,
    gpu: GpuSpec,
    kv_format: KvFormatSpec,
    weight_format: str | None,
    budget: int,
    constants: Constants | None = None,
) -> StepCosts:
    """Costs of steps of up to `budget` tokens on `gpu.count` GPUs.

    Args:
        weight_format: name of the weights' format; that of the checkpoint when None.
        budget: most tokens in a step.
        constants: calibrated constants; those of vLLM on this GPU, or the typical ones, when None.

    Raises:
        InputError: an unknown format, or a tensor-parallel degree the model does not allow.
    """
    c = constants or find_constants(gpu)
    kv_rate = c.kv_bandwidth_share * gpu.bandwidth_bytes_per_s
    window = kv_footprint_per_gpu(model, kv_format, gpu.count, "ring")
    attention_rate = c.mfu * gpu.flops * gpu.count
    flops_per_pair = _attention_flops(model)
    windowed = model.sliding.layers if model.sliding is not None else 0
    tokens = np.arange(budget + 1, dtype=np.float64)
    compute = tokens * 2 * _matrix_params(model) / _matrix_rate(gpu, weight_format or model.dtype, c)
    if model.sliding is not None:
        compute += tokens * windowed * flops_per_pair * model.sliding.window_tokens / attention_rate
    read = _weight_read(model, gpu, weight_format, c, tokens)
    lin = c.step_s + (read**CORNER + compute**CORNER) ** (1 / CORNER) + _communication(model, gpu, c, tokens)
    lin.flags.writeable = False
    return StepCosts(
        lin_s=lin,
        kv_s_per_token=window.bytes_per_token / kv_rate,
        seq_s=c.sequence_s + window.fixed_bytes_per_sequence / kv_rate,
        pair_s=(model.attention_layers - windowed) * flops_per_pair / attention_rate,
        request_s=c.request_s + c.prefill_s,
    )


def _attention_flops(model: ModelSpec) -> float:
    """Floating-point operations of one (query, key) pair in one layer, all heads: scores and weighted values."""
    if model.mla is None:
        return 4.0 * model.query_heads * model.head_dim
    scores = (model.mla.qk_nope_head_dim or model.head_dim) + model.mla.qk_rope_head_dim
    return 2.0 * model.query_heads * (scores + (model.mla.v_head_dim or model.head_dim))


def _matrix_params(model: ModelSpec) -> int:
    """Parameters a token is multiplied with; an input embedding that is only looked up is not."""
    return model.active_params - (0 if model.tied_embeddings else model.embedding_params)


def _matrix_rate(gpu: GpuSpec, weight_format: str, c: Constants) -> float:
    """Reached rate of matrix products over all GPUs, in operations per second."""
    speedup = {"16bit": 1.0, "fp8": gpu.fp8_speedup, "fp4": gpu.fp4_speedup}[find_weight_format(weight_format).compute]
    mfu = c.mfu if speedup == 1 or c.mfu_low_precision is None else c.mfu_low_precision
    return mfu * speedup * gpu.flops * gpu.count


def _weight_read(model: ModelSpec, gpu: GpuSpec, weight_format: str | None, c: Constants, tokens: Seconds) -> Seconds:
    """Seconds to read the weights a step touches: of the experts, those chosen by at least one of its tokens."""
    parts = weight_parts(model, weight_format)
    touched: Seconds = np.full_like(tokens, parts.dense_bytes)
    if model.experts and model.experts_per_token:
        touched += parts.expert_bytes * (1 - (1 - model.experts_per_token / model.experts) ** tokens)
    rate = c.weight_bandwidth_share * gpu.bandwidth_bytes_per_s * gpu.count
    return touched / rate


def _communication(model: ModelSpec, gpu: GpuSpec, c: Constants, tokens: Seconds) -> Seconds:
    """Seconds of the two all-reduces of each layer, in 16-bit activations; a ring moves 2 (tp-1)/tp of the data."""
    tp = gpu.count
    if tp == 1:
        return np.zeros_like(tokens)
    link = gpu.nvlink_bytes_per_s or 2 * gpu.host_link_bytes_per_s
    moved = tokens * 2 * model.hidden_size * 2 * (tp - 1) / tp / (c.gpu_link_share * link)
    return 2 * model.layers * (c.allreduce_s * math.log2(tp) / 3 + moved)
