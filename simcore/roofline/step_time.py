"""Time of one engine step.

    step    = lin(n) + kv_s_per_token * S + seq_s * decoding + pair_s * pairs            TTFT += request_s
    lin(n)  = step_s + layers * layer_s + (read^4 + compute^4)^(1/4) + communication
    read    = (dense bytes / tp + expert bytes * (1 - (1 - k/E)^n) / (tp dp)) / (weight_bandwidth_share * bandwidth)
    compute = 2 * (dense params * n / (tp dp) + chosen expert params * n / (tp dp)) / (mfu * rate) + windowed attention
    communication = 2 * layers * (allreduce_s * log2(tp) / 3 + 4 * n/dp * hidden * (tp-1)/tp / (gpu_link_share * link))

`n` tokens of the step (prefill chunks plus one per decoding sequence), `S` sum of the contexts of the decoding sequences,
`pairs` attended (query, key) pairs of the prefill chunks, `rate` the dense rate of the arithmetic: native where the GPU has it;
else weights are converted on their way into 16-bit products ("converted", Marlin), or written out at 16 bits first where no
such kernel runs ("emulated", GpuSpec.converts_weights). No communication for tp = 1. The fourth-power mean bends the corner of
the roofline, where neither limit is reached; a context token of a decoding sequence costs the reading or the attending of its
cache alike (for a latent that all heads of a GPU share, attending is the dearer).

Data parallelism (dp): each attention copy takes n/dp of the tokens, and gathers and scatters the activations around the experts
of every layer. Expert parallelism (ep): the busiest of the g = tp dp GPUs has more than its share, 1 + sqrt(2 ln(g) / m) times
the mean of m = n k / g tokens a GPU's experts get (the expected largest of g Poisson counts), at most g times.

Pipeline (pp): the sequences form m = min(n, pp) microbatches; a round of one step for all of them takes the sum of the stages
for one microbatch or m times the slowest stage, whichever is longer, and sends activations between the stages.

Sliding-window layers read and attend `window` tokens whatever the context, so they are in `seq_s` and `lin`, not in
`kv_s_per_token` and `pair_s`; contexts shorter than the window are charged for a full one.

Limits: a low-precision attention kernel is not faster than a 16-bit one; under dp and pp, KV is read and attention computed as
if the sequences were spread evenly; a GPU without NVLink communicates over its host link, and all GPUs of a replica are taken
to be on one such network.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simcore.quantization.formats import find_format
from simcore.quantization.kv_bytes import layer_groups
from simcore.quantization.weights import WeightFormat, find_weight_format, weight_parts
from simcore.roofline.constants import Constants, find_constants
from simcore.specs.gpu import GpuSpec
from simcore.specs.kv_format import KvFormatSpec
from simcore.specs.model import ModelSpec
from simcore.specs.parallel import ParallelSpec

CORNER = 4
"""Power of the mean that joins the two limits of the roofline."""
STATE_FLOPS = 6.0
"""Operations of a token on each value of a recurrent state: decay and update, then the read-out (two each)."""
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


class Stage(NamedTuple):
    """A pipeline stage: its number from 0, its layers, and the time of the largest step on it."""

    number: int
    layers: int
    step_s: float


def step_costs(
    model: ModelSpec,
    gpu: GpuSpec,
    kv_format: KvFormatSpec,
    weight_format: str | None,
    budget: int,
    constants: Constants | None = None,
    parallel: ParallelSpec | None = None,
) -> StepCosts:
    """Costs of steps of up to `budget` tokens on the GPUs of a replica.

    Args:
        weight_format: name of the weights' format; that of the checkpoint when None.
        budget: most tokens in a step.
        constants: calibrated constants; those of vLLM on this GPU, or the typical ones, when None.
        parallel: degrees; `gpu.count` GPUs in tensor parallel when None.

    Raises:
        InputError: an unknown format, or a tensor-parallel degree the model does not allow.
    """
    c = constants or find_constants(gpu)
    on = parallel or ParallelSpec(tp=gpu.count)
    kv_rate = c.kv_bandwidth_share * gpu.bandwidth_bytes_per_s / conversion_cost(model, kv_format)
    lin = _round(model, gpu, weight_format, c, on, np.arange(budget + 1, dtype=np.float64))
    lin.flags.writeable = False
    token_bytes, sequence_bytes, full_layers = _busiest_stage(model, kv_format, on)
    attend = full_layers * _decode_flops(model) / (c.mfu * gpu.flops * on.tp)
    return StepCosts(
        lin_s=lin,
        kv_s_per_token=((token_bytes / kv_rate) ** CORNER + attend**CORNER) ** (1 / CORNER) / on.dp,
        seq_s=(c.sequence_s + sequence_bytes / kv_rate) / on.dp,
        pair_s=full_layers * _attention_flops(model) / (c.mfu * gpu.flops * on.tp) / on.dp,
        request_s=c.request_s,
    )


def _busiest_stage(model: ModelSpec, kv_format: KvFormatSpec, on: ParallelSpec) -> tuple[float, float, int]:
    """Cache bytes per token and per sequence that a step moves on a GPU, and layers that attend to everything: the largest
    of the pipeline stages. A recurrent state is read and written back.
    """
    found, first = [], 0
    for layers in on.layers_by_stage(model.layers):
        groups = layer_groups(model, kv_format, on.tp, "ring", range(first, first + layers))
        moved = sum(g.fixed_bytes_per_sequence * (2 if g.kind == "state" else 1) for g in groups)
        full = sum(g.layers for g in groups if g.kind == "full")
        found.append((sum(g.bytes_per_token for g in groups), moved, full))
        first += layers
    tokens, sequences, full_layers = (max(column) for column in zip(*found, strict=True))
    return tokens, sequences, full_layers


def binding_stage(
    model: ModelSpec, gpu: GpuSpec, weight_format: str | None, tokens: int, constants: Constants, parallel: ParallelSpec
) -> Stage:
    """The slowest pipeline stage for microbatches of `tokens` tokens; the first of equals."""
    times = _stage_seconds(model, gpu, weight_format, constants, parallel, np.array([float(tokens)]))
    slowest = max(range(parallel.pp), key=lambda stage: float(times[stage][0]))
    return Stage(slowest, parallel.layers_by_stage(model.layers)[slowest], float(times[slowest][0]))


def conversion_cost(model: ModelSpec, kv_format: KvFormatSpec) -> float:
    """Time to read the cache over the time its bytes take: what unpacking costs, averaged over layers by their bytes."""
    pairs = kv_format.per_layer(model.layers)
    sides = [pair.k for pair in pairs] + ([] if model.mla is not None else [pair.v for pair in pairs])
    formats = [find_format(name) for name in sides]
    return sum(f.bits * f.read_cost for f in formats) / sum(f.bits for f in formats)


def _round(model: ModelSpec, gpu: GpuSpec, form: str | None, c: Constants, on: ParallelSpec, tokens: Seconds) -> Seconds:
    """Seconds in which all `tokens` pass all stages once."""
    if on.pp == 1:
        return _stage_seconds(model, gpu, form, c, on, tokens)[0]
    batches = np.clip(tokens, 1, on.pp)
    times = _stage_seconds(model, gpu, form, c, on, tokens / batches)
    hops = (on.pp - 1) * (c.allreduce_s / 3 + 2 * model.hidden_size * tokens / batches / (c.gpu_link_share * _link(gpu)))
    paced: Seconds = np.maximum(np.sum(times, axis=0) + hops, batches * np.max(times, axis=0))
    return paced


def _stage_seconds(
    model: ModelSpec, gpu: GpuSpec, form: str | None, c: Constants, on: ParallelSpec, tokens: Seconds
) -> list[Seconds]:
    """Seconds of each stage for `tokens` tokens of the whole replica."""
    own = np.maximum(np.minimum(tokens, 1.0), tokens / on.dp)  # tokens of one attention copy
    found = find_weight_format(form or model.dtype)
    parts = weight_parts(model, form)
    matrices = 1 if model.tied_embeddings else 2
    body = model.active_params - _chosen_params(model) - matrices * model.embedding_params
    head_bytes = model.embedding_params * (found.bytes_per_weight if found.covers == "all" else 2.0)
    read_rate = c.weight_bandwidth_share * gpu.bandwidth_bytes_per_s * on.tp
    rates = _matrix_rates(gpu, found, c, on.tp)
    expert_read, expert_compute = _expert_seconds(model, gpu, found, c, on, tokens, parts.expert_bytes)
    unpack = _unpack_bytes(gpu, found)
    seconds = []
    for number, layers in enumerate(on.layers_by_stage(model.layers)):
        share, head = layers / model.layers, number == on.pp - 1
        dense = share * ((parts.dense_bytes - head_bytes) + unpack.dense * body)
        read = (dense + head * (head_bytes + unpack.head * model.embedding_params)) / read_rate + share * expert_read
        compute = own * 2 * (share * body / rates.dense + head * model.embedding_params / rates.head) + share * expert_compute
        if model.sliding is not None:
            pairs = own * model.sliding.layers * share * model.sliding.window_tokens
            compute = compute + pairs * _attention_flops(model) / (c.mfu * gpu.flops * on.tp)
        if model.recurrent is not None:
            values = own * model.recurrent.layers * share * model.recurrent.state_values
            compute = compute + values * STATE_FLOPS / (c.mfu * gpu.flops * on.tp)
        limit = (read**CORNER + compute**CORNER) ** (1 / CORNER)
        seconds.append(c.step_s + layers * c.layer_s + limit + _communication(model, gpu, c, on, layers, tokens, own))
    return seconds


def _chosen_params(model: ModelSpec) -> int:
    """Parameters of the routed experts that a token uses, over all layers."""
    return model.expert_params * (model.experts_per_token or 0) // (model.experts or 1)


def _attention_flops(model: ModelSpec) -> float:
    """Floating-point operations of one (query, key) pair in one layer, all heads: scores and weighted values."""
    if model.mla is None:
        return 4.0 * model.query_heads * model.head_dim
    scores = (model.mla.qk_nope_head_dim or model.head_dim) + model.mla.qk_rope_head_dim
    return 2.0 * model.query_heads * (scores + (model.mla.v_head_dim or model.head_dim))


def _decode_flops(model: ModelSpec) -> float:
    """The same while decoding, where MLA attends to the latents themselves, all heads to each (DeepSeek-V2, 2.1.2)."""
    if model.mla is None:
        return _attention_flops(model)
    return 2.0 * model.query_heads * (2 * model.mla.kv_lora_rank + model.mla.qk_rope_head_dim)


class _Covered(NamedTuple):
    """A number for the layers, the output head and the experts."""

    dense: float
    head: float
    experts: float


def _arithmetic(gpu: GpuSpec, form: WeightFormat) -> str:
    """How products with weights of this format are done: "16bit", "fp8" or "fp4" natively, "converted" or "emulated"."""
    speedup = {"16bit": 1.0, "fp8": gpu.fp8_speedup, "fp4": gpu.fp4_speedup}[form.compute]
    if speedup > 1:
        return form.compute
    if form.bits >= 16:
        return "16bit"
    return "converted" if gpu.converts_weights else "emulated"


def _matrix_rates(gpu: GpuSpec, form: WeightFormat, c: Constants, gpus: int) -> _Covered:
    """Reached rates of matrix products over `gpus` GPUs, in operations per second; parts the format leaves at 16 bits use
    16-bit products.
    """
    plain = c.mfu * gpu.flops * gpus
    low = {
        "16bit": plain,
        "emulated": plain,
        "converted": plain * c.converted_rate_share,
        "fp8": (c.mfu_fp8 or c.mfu) * gpu.fp8_speedup * gpu.flops * gpus,
        "fp4": (c.mfu_fp4 or c.mfu_fp8 or c.mfu) * gpu.fp4_speedup * gpu.flops * gpus,
    }[_arithmetic(gpu, form)]
    return _Covered(plain if form.covers == "experts" else low, low if form.covers == "all" else plain, low)


def _unpack_bytes(gpu: GpuSpec, form: WeightFormat) -> _Covered:
    """Bytes a weight costs beyond its own where it is written out at 16 bits and read again before each product."""
    extra = 4.0 if _arithmetic(gpu, form) == "emulated" else 0.0
    return _Covered(0.0 if form.covers == "experts" else extra, extra if form.covers == "all" else 0.0, extra)


def _expert_seconds(
    model: ModelSpec, gpu: GpuSpec, form: WeightFormat, c: Constants, on: ParallelSpec, tokens: Seconds, expert_bytes: float
) -> tuple[Seconds, Seconds]:
    """(reading, computing) seconds of all layers' routed experts: those that at least one token chose, on the busiest group."""
    if not model.experts or not model.experts_per_token:
        return np.zeros_like(tokens), np.zeros_like(tokens)
    gpus = on.tp * on.dp
    chosen = model.experts_per_token / model.experts
    touched = 1 - (1 - chosen) ** tokens
    groups = gpus if on.ep else 1
    mean = np.maximum(tokens * model.experts_per_token / groups, 1e-9)
    busiest = np.minimum(1 + np.sqrt(2 * math.log(groups) / mean), groups)
    read_rate = c.weight_bandwidth_share * gpu.bandwidth_bytes_per_s * gpus
    stored = expert_bytes + _unpack_bytes(gpu, form).experts * model.expert_params
    read = stored * np.minimum(touched * busiest, 1.0) / read_rate
    compute = 2 * tokens * _chosen_params(model) * busiest / _matrix_rates(gpu, form, c, gpus).experts
    return read, compute


def _link(gpu: GpuSpec) -> float:
    """Bytes per second between GPUs, both ways together."""
    return gpu.nvlink_bytes_per_s or 2 * gpu.host_link_bytes_per_s


def _communication(
    model: ModelSpec, gpu: GpuSpec, c: Constants, on: ParallelSpec, layers: int, tokens: Seconds, own: Seconds
) -> Seconds:
    """Seconds of the two all-reduces of each layer over tp GPUs, in 16-bit activations (a ring moves 2 (tp-1)/tp of the data),
    and of the gather and the scatter around the experts over dp copies."""
    link = c.gpu_link_share * _link(gpu)
    hidden_bytes = 2 * model.hidden_size
    found = np.zeros_like(tokens)
    if on.tp > 1:
        moved = own * hidden_bytes * 2 * (on.tp - 1) / on.tp / link
        found += 2 * layers * (c.allreduce_s * math.log2(on.tp) / 3 + moved)
    if on.dp > 1:
        moved = tokens * hidden_bytes * (on.dp - 1) / on.dp / link
        found += 2 * layers * (c.allreduce_s * math.log2(on.dp) / 3 + moved)
    return found
