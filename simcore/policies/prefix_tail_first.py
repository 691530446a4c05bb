"""Evict the tail of the least recently used prefix chain: the rule by which serving engines free a prefix cache.

SGLang (Zheng et al., "SGLang: Efficient Execution of Structured Language Model Programs", arXiv 2312.07104, section 3) keeps
the blocks in a radix tree and evicts the leaf used longest ago, then what has become a leaf by that. vLLM (design document
"Automatic Prefix Caching") gets the same order from a queue to which a finished request gives back its blocks tail first.
Both evict in order of (last request that used the block, deepest first), and so does this policy; the tree itself is not
needed (see `simcore.chains`). No block leaves while the cache holds one of which it is a prefix, nor for a later block of the
chain that is being used, which stays out: of a chain larger than the cache the start is kept.

Where every request goes through its chain tail first this is LRU; unlike LRU it stays the same when chains are gone through
from the start, and in lower tiers. Without chains (every place is 0, every access a request) it is LRU. Ties do not exist:
within a request the place decides, and equal places are in order of use.

Pins: a pinned block is in no place of the order; released, it is the newest, as in vLLM's queue: the engine releases tail
first.
"""

from __future__ import annotations

import numpy as np

import simcore.chains as chains
from simcore.chains import chain_append, chain_clear, chain_needs, chain_oldest, chain_remove, chain_use
from simcore.kernel import Int, Slot, State, kernel, list_head, pinned

FIELDS = chains.FIELDS
NEEDS = chains.NEEDS
MAY_REFUSE = True


@kernel
def init(st: State, s: Int) -> None:
    chain_clear(st, list_head(st, s, 0))


@kernel
def on_hit(st: State, s: Int, i: Slot) -> None:
    if not pinned(st, i):
        chain_remove(st, i, list_head(st, s, 0))
        chain_use(st, i, list_head(st, s, 0))


@kernel
def on_miss(st: State, s: Int, obj: Int) -> None:
    pass


@kernel
def choose_victim(st: State, s: Int) -> Slot:
    i = chain_oldest(st, list_head(st, s, 0))
    return np.uint32(0) if chain_needs(st, i, list_head(st, s, 0)) else i


@kernel
def on_insert(st: State, s: Int, i: Slot) -> None:
    chain_use(st, i, list_head(st, s, 0))


@kernel
def on_evict(st: State, s: Int, i: Slot) -> None:
    chain_remove(st, i, list_head(st, s, 0))


@kernel
def on_pin(st: State, s: Int, i: Slot) -> None:
    chain_remove(st, i, list_head(st, s, 0))


@kernel
def on_release(st: State, s: Int, i: Slot) -> None:
    chain_append(st, i, list_head(st, s, 0))
