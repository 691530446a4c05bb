"""How a KV pool is divided into pages.

Attention layers alone: a block of `block_size` tokens, and what a ring of windows, or the last tokens at 16 bits, take
beside it per sequence.

Recurrent layers among them ("aligned", as vLLM does): a page holds one block of one attention layer or the state of one
recurrent layer, so the block grows until a page is as large as a state:

    block_tokens = 16 * ceil(state bytes / (16 * bytes of a token in one attention layer))

Layers are served in groups of as many layers as the rarer kind has; a page of the pool is one page of each layer of a group. A
sequence of n tokens holds ceil(n / block_tokens) pages for each group of attention layers and `states_per_sequence` for
each group of recurrent layers. vLLM's log of Qwen3.8-27B on two GPUs is met exactly (see the tests).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from simcore.quantization.kv_bytes import LayerGroup, layer_groups, total_of
from simcore.specs.engine import EngineSpec
from simcore.specs.kv_format import KvFormatSpec
from simcore.specs.model import ModelSpec

KERNEL_BLOCK = 16
"""Tokens a block must be a multiple of, for vLLM's attention kernels."""


class Paging(NamedTuple):
    """The unit a pool of one GPU is divided into and what a sequence takes of it.

    Attributes:
        block_tokens: tokens of a block, the unit of allocation and of prefix reuse.
        page_bytes: bytes of a page of the pool.
        pages_per_block: pages that `block_tokens` tokens take.
        sequence_pages: pages a running sequence takes beside those of its tokens.
        sequence_bytes: bytes a running sequence has outside the pages.
        grows: whether a sequence takes more the longer it is. Where it does not, a block stands for the part of one sequence.
    """

    block_tokens: int
    page_bytes: float
    pages_per_block: int
    sequence_pages: int
    sequence_bytes: float
    grows: bool = True

    @property
    def block_bytes(self) -> float:
        """Bytes of a block."""
        return self.pages_per_block * self.page_bytes

    @property
    def bytes_per_sequence(self) -> float:
        """Bytes a running sequence takes beside its blocks."""
        return self.sequence_pages * self.page_bytes + self.sequence_bytes

    def blocks_of(self, tokens: int) -> int:
        """Whole blocks of `tokens` tokens."""
        return -(-tokens // self.block_tokens)

    def bytes_of(self, tokens: int) -> float:
        """Bytes of one running sequence of `tokens` tokens, in whole blocks."""
        return (self.blocks_of(tokens) * self.block_bytes if self.grows else 0.0) + self.bytes_per_sequence


def paging(model: ModelSpec, kv_format: KvFormatSpec, engine: EngineSpec, tp: int = 1, layers: range | None = None) -> Paging:
    """The pages of one of `tp` GPUs that has `layers` (all when None).

    Raises:
        InputError: an unknown format, or a tensor-parallel degree the model does not allow.
    """
    every = layer_groups(model, kv_format, tp, engine.sliding_window_cache)
    mine = every if layers is None else layer_groups(model, kv_format, tp, engine.sliding_window_cache, layers)
    rings = sum(g.fixed_bytes_per_sequence for g in mine if g.kind != "state")
    states = next((g for g in mine if g.kind == "state"), None)
    per_token = total_of(mine).bytes_per_token
    if states is None or engine.state_pages == "separate" or per_token == 0:
        fixed = rings + (states.fixed_bytes_per_sequence * engine.states_per_sequence if states is not None else 0.0)
        if per_token == 0:
            return Paging(engine.block_size, fixed, 1, 0, fixed, grows=False)
        return Paging(engine.block_size, per_token * engine.block_size, 1, 0, fixed)
    return _aligned(every, mine, states, engine, rings)


def _aligned(
    every: tuple[LayerGroup, ...], mine: tuple[LayerGroup, ...], states: LayerGroup, engine: EngineSpec, rings: float
) -> Paging:
    token_layer = _token_layer_bytes(every)
    tokens = max(engine.block_size, _tokens_of_a_state(every))
    attention = sum(g.layers for g in mine if g.bytes_per_token)
    together = min(attention, states.layers)
    return Paging(
        block_tokens=tokens,
        page_bytes=tokens * token_layer * together,
        pages_per_block=-(-attention // together),
        sequence_pages=-(-states.layers // together) * engine.states_per_sequence,
        sequence_bytes=rings,
    )


def _token_layer_bytes(groups: tuple[LayerGroup, ...]) -> float:
    """Bytes of one token in one attention layer, the mean of all."""
    attention = [g for g in groups if g.bytes_per_token]
    return sum(g.bytes_per_token for g in attention) / sum(g.layers for g in attention)


def _tokens_of_a_state(groups: tuple[LayerGroup, ...]) -> int:
    """Tokens whose page in an attention layer is at least as large as the state of a recurrent layer."""
    state = next(g.fixed_bytes_per_sequence / g.layers for g in groups if g.kind == "state")
    return KERNEL_BLOCK * math.ceil(state / (KERNEL_BLOCK * _token_layer_bytes(groups)))


def windowed_pages(
    model: ModelSpec, kv_format: KvFormatSpec, engine: EngineSpec, tp: int, tokens: int
) -> tuple[float, int, int]:
    """How vLLM's hybrid cache manager pages sliding-window layers: (bytes of a page, pages of a sequence of `tokens` tokens,
    groups of layers). Windowed layers hold pages for the window and the tokens of one step.
    """
    groups = layer_groups(model, kv_format, tp)
    full = sum(g.layers for g in groups if g.kind == "full")
    windowed = sum(g.layers for g in groups if g.kind == "window")
    assert model.sliding is not None and windowed
    together = min(full, windowed) or windowed
    blocks = -(-tokens // engine.block_size)
    held = -(-(model.sliding.window_tokens - 1 + engine.max_num_batched_tokens) // engine.block_size) + 1
    of_full, of_windowed = -(-full // together), -(-windowed // together)
    page = engine.block_size * _token_layer_bytes(groups) * together
    return page, of_full * blocks + of_windowed * min(blocks, held), of_full + of_windowed


def block_tokens(model: ModelSpec, kv_format: KvFormatSpec, engine: EngineSpec, tp: int = 1) -> int:
    """Tokens of a block: `block_size`, or what a model with recurrent layers forces."""
    return paging(model, kv_format, engine, tp).block_tokens


def tier_block_bytes(model: ModelSpec, kv_format: KvFormatSpec, engine: EngineSpec, tp: int = 1) -> float:
    """Bytes of a block in a tier below HBM, every head and latent once; with the states at its end, without which the
    tokens could not be taken up again.

    Args:
        tp: GPUs of the replica, which a hybrid model's block depends on.
    """
    groups = layer_groups(model, kv_format, 0, engine.sliding_window_cache)
    tokens = block_tokens(model, kv_format, engine, tp)
    states = sum(g.fixed_bytes_per_sequence for g in groups if g.kind == "state")
    footprint = total_of(groups)
    if states:
        return footprint.bytes_per_token * tokens + states
    return (footprint.bytes_per_token or footprint.fixed_bytes_per_sequence) * tokens
