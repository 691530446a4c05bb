"""Parameters of a decoder-only transformer, counted from its shapes.

Exact for the families whose counts are in the presets' tests (Llama, Mistral, Qwen, DeepSeek, gpt-oss, OPT, Falcon, Phi-3),
and to a fraction of a percent (biases, norms) for others of the same build.
"""

from __future__ import annotations

from dataclasses import dataclass

from simcore.presets.hf_recurrent import Recurrent

_UNGATED = {"nemotron_h", "opt", "falcon", "gpt2", "gpt_neox", "gptj", "bloom", "mpt", "phi", "starcoder2"}
_LAYER_NORM = {"opt", "falcon", "gpt2", "gpt_neox", "gptj", "bloom", "phi", "starcoder2"}
_ALL_BIASED = {"opt", "gpt2", "gpt_neox", "bloom", "phi", "starcoder2"}
_QKV_BIASED = ("qwen2", "qwen")
_QK_NORM = ("qwen3", "gemma3", "olmo2")
_LEARNED_POSITIONS = {"opt": 2, "gpt2": 0}
"""Rows an architecture adds to its table of learned positions."""


@dataclass(frozen=True)
class Mixture:
    """Routed experts: their number, how many a token uses, width of one and of all shared ones, layers that have them."""

    experts: int
    chosen: int
    width: int
    shared_width: int
    layers: int


@dataclass(frozen=True)
class Shape:
    """Dimensions of a model, in counts. `layers`: attention and recurrent; `feed_forward`: blocks that have one. `latent` is
    the KV latent of MLA, `query_latent` that of the queries (0: none). `gated_query`: queries are projected with a gate."""

    model_type: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    value_dim: int
    latent: int | None
    rope_dim: int
    query_latent: int
    width: int
    vocabulary: int
    positions: int
    tied: bool
    attention_bias: bool
    mixture: Mixture | None
    recurrent: Recurrent | None
    feed_forward: int
    gated_query: bool


def parameters(shape: Shape) -> tuple[int, int]:
    """(all, active per token) parameters, input embedding and output head included."""
    vocabulary = shape.vocabulary * shape.hidden * (1 if shape.tied else 2)
    extra = _LEARNED_POSITIONS.get(shape.model_type)
    positions = (shape.positions + extra) * shape.hidden if extra is not None else 0
    norm = shape.hidden * (2 if shape.model_type in _LAYER_NORM else 1)
    recurrent = shape.recurrent.recurrent * shape.recurrent.params if shape.recurrent is not None else 0
    attention = shape.layers - (shape.recurrent.recurrent if shape.recurrent is not None else 0)
    norms = (shape.layers + shape.feed_forward) * _norms_per_layer(shape) // 2 + 1
    stack = attention * _attention(shape) + recurrent + norms * norm
    mixture = shape.mixture
    if mixture is None:
        total = vocabulary + positions + stack + shape.feed_forward * _feed_forward(shape, shape.width)
        return total, total
    dense_layers = (shape.feed_forward - mixture.layers) * _feed_forward(shape, shape.width)
    expert, always = _expert(shape, mixture), _router(shape, mixture)
    total = vocabulary + positions + stack + dense_layers + mixture.layers * (mixture.experts * expert + always)
    return total, total - mixture.layers * (mixture.experts - mixture.chosen) * expert


def _norms_per_layer(shape: Shape) -> int:
    return 4 if shape.model_type.startswith(("gemma2", "gemma3")) else 2


def _feed_forward(shape: Shape, width: int) -> int:
    biases = width + shape.hidden if shape.model_type in _ALL_BIASED else 0
    return _matrices(shape) * shape.hidden * width + biases


def _expert(shape: Shape, mixture: Mixture) -> int:
    biases = 2 * mixture.width + shape.hidden if shape.model_type == "gpt_oss" else 0
    return _matrices(shape) * shape.hidden * mixture.width + biases


def _matrices(shape: Shape) -> int:
    """Matrices of a feed-forward: two, or three where a gate is among them."""
    return 2 if shape.model_type in _UNGATED else 3


def _router(shape: Shape, mixture: Mixture) -> int:
    """What every token passes in a mixture layer: the router, its bias, the shared experts and their gate."""
    router = shape.hidden * mixture.experts
    if shape.model_type in {"gpt_oss", "deepseek_v3", "kimi_k2", "glm4_moe", "nemotron_h"}:
        router += mixture.experts
    if shape.model_type.startswith(("qwen2", "qwen3_next", "qwen3_5")) and mixture.shared_width:
        router += shape.hidden
    return router + _matrices(shape) * shape.hidden * mixture.shared_width


def _attention(shape: Shape) -> int:
    if shape.latent is not None:
        return _latent_attention(shape)
    q, kv = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    weights = shape.hidden * ((3 if shape.gated_query else 2) * q + 2 * kv)
    biased = shape.attention_bias or shape.model_type in _ALL_BIASED
    qkv_biased = biased or (shape.model_type.startswith(_QKV_BIASED) and not shape.model_type.startswith("qwen3"))
    weights += (q + 2 * kv if qkv_biased else 0) + (shape.hidden if biased else 0)
    if shape.model_type.startswith(_QK_NORM):
        weights += 2 * shape.head_dim
    if shape.model_type == "gpt_oss":
        weights += shape.heads  # attention sinks
    return weights


def _latent_attention(shape: Shape) -> int:
    """DeepSeek V2/V3: queries and KV pass through latents with a norm each; one positional key is shared by all heads."""
    assert shape.latent is not None
    per_head = shape.head_dim + shape.rope_dim
    if shape.query_latent:
        query = shape.query_latent * (shape.hidden + 1 + shape.heads * per_head)
    else:
        query = shape.hidden * shape.heads * per_head
    down = shape.hidden * (shape.latent + shape.rope_dim) + shape.latent
    up = shape.latent * shape.heads * (shape.head_dim + shape.value_dim)
    return query + down + up + shape.heads * shape.value_dim * shape.hidden
