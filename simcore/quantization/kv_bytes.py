"""Bytes of KV cache: per token and per sequence, for the model, for one GPU under tensor parallelism.

Grouped-query attention keeps `2 * kv_heads * head_dim` values per token and layer, K and V in their own formats. MLA keeps one
latent of `kv_lora_rank + qk_rope_head_dim` values in the format of K, whatever the format of V. Counts are of whole stored
vectors with their scales, so they are exact, not means.

A sliding-window layer either grows like any other ("unified": pages are shared, memory for the full length is spent) or
holds a ring of the last `window_tokens` ("ring"): then its bytes are fixed per sequence and drop out of bytes per token.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from simcore.errors import InputError
from simcore.quantization.formats import KvFormat, find_format
from simcore.specs.kv_format import KvFormatSpec, KvPair
from simcore.specs.model import ModelSpec

WindowCache = Literal["unified", "ring"]


class Footprint(NamedTuple):
    """Cache bytes of a sequence of n tokens: `fixed_bytes_per_sequence + n * bytes_per_token`."""

    fixed_bytes_per_sequence: float
    bytes_per_token: float

    def bytes_of(self, tokens: int) -> float:
        """Cache bytes of one sequence of `tokens` tokens (at least one window long where there is a window)."""
        return self.fixed_bytes_per_sequence + tokens * self.bytes_per_token


def kv_bytes_per_token(model: ModelSpec, kv_format: KvFormatSpec) -> float:
    """Cache bytes of a token over all layers, every layer at full length, each head stored once.

    Raises:
        InputError: an unknown format, or one that the model's head size does not allow.
    """
    return kv_footprint(model, kv_format).bytes_per_token


def kv_footprint(model: ModelSpec, kv_format: KvFormatSpec, window_cache: WindowCache = "unified") -> Footprint:
    """The two terms of the cache of the whole model, each head stored once."""
    return _footprint(model, kv_format, window_cache, model.kv_heads)


def kv_footprint_per_gpu(
    model: ModelSpec, kv_format: KvFormatSpec, tp: int, window_cache: WindowCache = "unified"
) -> Footprint:
    """The two terms on one of `tp` GPUs: KV heads are split, and repeated when there are fewer heads than GPUs; a latent is
    whole on every GPU.

    Raises:
        InputError: `tp` does not divide the query heads, or does not fit the KV heads.
    """
    return _footprint(model, kv_format, window_cache, heads_per_gpu(model, tp))


def kv_bytes_per_token_per_gpu(model: ModelSpec, kv_format: KvFormatSpec, tp: int) -> float:
    """Cache bytes of a token on one of `tp` GPUs, every layer at full length."""
    return kv_footprint_per_gpu(model, kv_format, tp).bytes_per_token


def heads_per_gpu(model: ModelSpec, tp: int) -> int:
    """KV heads a GPU holds under tensor parallelism of degree `tp`.

    Raises:
        InputError: `tp` does not divide the query heads, or neither divides nor is a multiple of the KV heads.
    """
    if model.query_heads % tp:
        raise InputError(f"must divide the {model.query_heads} query heads of {model.name}", path="gpu.count", value=tp)
    if model.mla is not None or model.kv_heads % tp == 0:
        return max(1, model.kv_heads // tp)
    if tp % model.kv_heads:
        rule = f"must divide, or be a multiple of, the {model.kv_heads} KV heads of {model.name}"
        raise InputError(rule, path="gpu.count", value=tp)
    return 1


def _footprint(model: ModelSpec, kv_format: KvFormatSpec, window_cache: WindowCache, heads: int) -> Footprint:
    fixed_bits = token_bits = 0
    known: dict[KvPair, int] = {}
    for layer, pair in enumerate(kv_format.per_layer(model.layers)):
        if pair not in known:
            known[pair] = _layer_bits(model, pair, heads)
        if window_cache == "ring" and model.sliding is not None and model.windowed(layer):
            fixed_bits += known[pair] * model.sliding.window_tokens
        else:
            token_bits += known[pair]
    return Footprint(fixed_bits / 8, token_bits / 8)


def _layer_bits(model: ModelSpec, pair: KvPair, heads: int) -> int:
    """Bits of one token in one layer holding `heads` KV heads."""
    if model.mla is None:
        return heads * (_vector(model, pair.k, "k") + _vector(model, pair.v, "v"))
    k = _format(pair.k, "k")
    rope = model.mla.qk_rope_head_dim
    if k.rope_bits is not None:
        return _sized(k, pair.k, "k", model.mla.kv_lora_rank) + rope * k.rope_bits
    return _sized(k, pair.k, "k", model.mla.kv_lora_rank + rope)


def _vector(model: ModelSpec, name: str, side: str) -> int:
    form = _format(name, side)
    if form.rope_bits is not None:
        rule = f"{name} is a layout of latent caches (MLA); {model.name} has none"
        raise InputError(rule, path=f"kv_format.default.{side}", value=name)
    return _sized(form, name, side, model.head_dim)


def _format(name: str, side: str) -> KvFormat:
    try:
        return find_format(name)
    except InputError as error:
        raise error.within(prefix=f"kv_format.default.{side}") from None


def _sized(form: KvFormat, name: str, side: str, width: int) -> int:
    try:
        return form.vector_bits(width)
    except InputError as error:
        raise InputError(f"{name}: {error.rule}", path=f"kv_format.default.{side}", value=name) from None
