"""The verbs of each store's eviction policy: lru."""

from typing import Any

import simcore.policies.lru as lru
from simcore.kernel import kernel


@kernel
def init(st: Any, s: Any) -> Any:
    lru.init(st, s)


@kernel
def on_hit(st: Any, s: Any, i: Any) -> Any:
    lru.on_hit(st, s, i)


@kernel
def on_miss(st: Any, s: Any, obj: Any) -> Any:
    lru.on_miss(st, s, obj)


@kernel
def choose_victim(st: Any, s: Any) -> Any:
    return lru.choose_victim(st, s)


@kernel
def on_insert(st: Any, s: Any, i: Any) -> Any:
    lru.on_insert(st, s, i)


@kernel
def on_evict(st: Any, s: Any, i: Any) -> Any:
    lru.on_evict(st, s, i)


@kernel
def on_pin(st: Any, s: Any, i: Any) -> Any:
    lru.on_evict(st, s, i)


@kernel
def on_release(st: Any, s: Any, i: Any) -> Any:
    lru.on_insert(st, s, i)


@kernel
def on_insert_pinned(st: Any, s: Any, i: Any) -> Any:
    pass
