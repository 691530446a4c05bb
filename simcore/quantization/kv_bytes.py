"""Bytes of KV cache: per token and per sequence, for the model, for one GPU under tensor parallelism.

Grouped-query attention keeps `2 * kv_heads * head_dim` values per token and layer, K and V in their own formats. MLA keeps one
latent of `kv_lora_rank + qk_rope_head_dim` values in the format of K, whatever the format of V. Counts are of whole stored
vectors with their scales, so they are exact, not means.

A sliding-window layer either grows like any other ("unified": pages are shared, memory for the full length is spent) or
holds a ring of the last `window_tokens` ("ring"): then its bytes are fixed per sequence and drop out of bytes per token.
A recurrent layer holds a state of fixed size per sequence and nothing per token. A format that keeps the last tokens at
16 bits costs the difference once per sequence.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from simcore.errors import InputError
from simcore.quantization.formats import KvFormat, find_format
from simcore.specs.kv_format import KvFormatSpec, KvPair
from simcore.specs.model import LayerKind, ModelSpec

KINDS: tuple[LayerKind, ...] = ("full", "window", "state")
WindowCache = Literal["unified", "ring"]


class Footprint(NamedTuple):
    """Cache bytes of a sequence of n tokens: `fixed_bytes_per_sequence + n * bytes_per_token`."""

    fixed_bytes_per_sequence: float
    bytes_per_token: float

    def bytes_of(self, tokens: int) -> float:
        """Cache bytes of one sequence of `tokens` tokens (at least one window long where there is a window)."""
        return self.fixed_bytes_per_sequence + tokens * self.bytes_per_token


class LayerGroup(NamedTuple):
    """Layers of one kind and the cache bytes of all of them together."""

    kind: LayerKind
    layers: int
    fixed_bytes_per_sequence: float
    bytes_per_token: float


def kv_bytes_per_token(model: ModelSpec, kv_format: KvFormatSpec) -> float:
    """Cache bytes of a token over all layers, every attention layer at full length, each head stored once.

    Raises:
        InputError: an unknown format, or one that the model's head size does not allow.
    """
    return kv_footprint(model, kv_format).bytes_per_token


def kv_footprint(model: ModelSpec, kv_format: KvFormatSpec, window_cache: WindowCache = "unified") -> Footprint:
    """The two terms of the cache of the whole model, each head stored once."""
    return total_of(layer_groups(model, kv_format, 0, window_cache))


def kv_footprint_per_gpu(
    model: ModelSpec, kv_format: KvFormatSpec, tp: int, window_cache: WindowCache = "unified"
) -> Footprint:
    """The two terms on one of `tp` GPUs: KV heads are split, and repeated when there are fewer heads than GPUs; a latent is
    whole on every GPU; states are split by their heads.

    Raises:
        InputError: `tp` does not divide the query heads or the recurrent heads, or does not fit the KV heads.
    """
    return total_of(layer_groups(model, kv_format, tp, window_cache))


def kv_bytes_per_token_per_gpu(model: ModelSpec, kv_format: KvFormatSpec, tp: int) -> float:
    """Cache bytes of a token on one of `tp` GPUs, every attention layer at full length."""
    return kv_footprint_per_gpu(model, kv_format, tp).bytes_per_token


def total_of(groups: Iterable[LayerGroup]) -> Footprint:
    """The two terms of several groups of layers together."""
    kept = tuple(groups)
    return Footprint(sum(g.fixed_bytes_per_sequence for g in kept), sum(g.bytes_per_token for g in kept))


def layer_groups(
    model: ModelSpec,
    kv_format: KvFormatSpec,
    tp: int,
    window_cache: WindowCache = "unified",
    layers: range | None = None,
) -> tuple[LayerGroup, ...]:
    """The kinds of layers and what each keeps on one of `tp` GPUs, or in all with each head stored once (`tp` of 0).

    Args:
        layers: the layers counted, for one stage of a pipeline; all when None.

    Raises:
        InputError: as `kv_footprint_per_gpu`.
    """
    heads = heads_per_gpu(model, tp) if tp else model.kv_heads
    state = _state_bytes(model, tp or 1)
    kinds, pairs = model.layer_kinds(), kv_format.per_layer(model.layers)
    found: dict[LayerKind, list[tuple[float, float]]] = {}
    known: dict[tuple[LayerKind, KvPair], tuple[float, float]] = {}
    for layer in layers if layers is not None else range(model.layers):
        kind, pair = kinds[layer], pairs[layer]
        if (kind, pair) not in known:
            known[kind, pair] = (8.0 * state, 0.0) if kind == "state" else _layer_bits(model, pair, heads, kind, window_cache)
        found.setdefault(kind, []).append(known[kind, pair])
    return tuple(_group(kind, found[kind]) for kind in KINDS if kind in found)


def _group(kind: LayerKind, bits: list[tuple[float, float]]) -> LayerGroup:
    fixed, token = (sum(part) / 8 for part in zip(*bits, strict=True))
    return LayerGroup(kind, len(bits), fixed, token)


def _state_bytes(model: ModelSpec, tp: int) -> int:
    """Bytes of a recurrent layer's state on one of `tp` GPUs."""
    if model.recurrent is None:
        return 0
    if model.recurrent.heads % tp:
        rule = f"must divide the {model.recurrent.heads} recurrent heads of {model.name}"
        raise InputError(rule, path="gpu.count", value=tp)
    return model.recurrent.bytes_per_layer // tp


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


def _layer_bits(model: ModelSpec, pair: KvPair, heads: int, kind: LayerKind, window_cache: WindowCache) -> tuple[float, float]:
    """Bits of one layer holding `heads` KV heads: fixed per sequence, and per token."""
    ring = model.sliding.window_tokens if kind == "window" and window_cache == "ring" and model.sliding is not None else None
    token = kept = 0.0
    for name, side in (("k", pair.k), ("v", pair.v)) if model.mla is None else (("k", pair.k),):
        form = _format(side, name)
        bits, wide = _vector(model, form, side, name)
        token += bits
        recent = form.residual_tokens if ring is None else min(form.residual_tokens, ring)
        kept += (wide - bits) * recent
    vectors = heads if model.mla is None else 1
    if ring is not None:
        return vectors * (kept + token * ring), 0.0
    return vectors * kept, vectors * token


def _vector(model: ModelSpec, form: KvFormat, name: str, side: str) -> tuple[float, int]:
    """Bits of a stored vector of one token (a head's K or V, or the latent), and of the same at 16 bits."""
    if model.mla is None:
        if form.rope_bits is not None:
            rule = f"{name} is a layout of latent caches (MLA); {model.name} has none"
            raise InputError(rule, path=f"kv_format.default.{side}", value=name)
        return _sized(form, name, side, model.head_dim), 16 * model.head_dim
    latent, rope = model.mla.kv_lora_rank, model.mla.qk_rope_head_dim
    if form.rope_bits is not None:
        return _sized(form, name, side, latent) + rope * form.rope_bits, 16 * (latent + rope)
    return _sized(form, name, side, latent + rope), 16 * (latent + rope)


def _format(name: str, side: str) -> KvFormat:
    try:
        return find_format(name)
    except InputError as error:
        raise error.within(prefix=f"kv_format.default.{side}") from None


def _sized(form: KvFormat, name: str, side: str, width: int) -> float:
    try:
        return form.vector_bits(width)
    except InputError as error:
        raise InputError(f"{name}: {error.rule}", path=f"kv_format.default.{side}", value=name) from None
