"""Binary heaps of (key, value) inside one record array: a heap is the n entries from `base` on.

Ordered by (key, value): entries of equal key leave in a defined order, so results depend on no insertion order.
"""

from __future__ import annotations

from simcore.kernel import Int, kernel
from simcore.serving.state import Records


@kernel
def heap_push(heap: Records, base: Int, n: Int, key: Int, value: Int) -> None:
    """Add an entry; n is the size before."""
    at = n
    while at > 0:
        parent = (at - 1) // 2
        above = heap[base + parent]
        if above.key < key or (above.key == key and above.value < value):
            break
        heap[base + at].key = above.key
        heap[base + at].value = above.value
        at = parent
    heap[base + at].key = key
    heap[base + at].value = value


@kernel
def heap_pop(heap: Records, base: Int, n: Int) -> None:
    """Drop the first entry; n is the size before."""
    last = heap[base + n - 1]
    key = last.key
    value = last.value
    n -= 1
    at = 0
    while 2 * at + 1 < n:
        child = 2 * at + 1
        left = heap[base + child]
        if child + 1 < n:
            right = heap[base + child + 1]
            if right.key < left.key or (right.key == left.key and right.value < left.value):
                child += 1
        below = heap[base + child]
        if below.key > key or (below.key == key and below.value > value):
            break
        heap[base + at].key = below.key
        heap[base + at].value = below.value
        at = child
    heap[base + at].key = key
    heap[base + at].value = value


@kernel
def heap_remove(heap: Records, base: Int, n: Int, value: Int) -> None:
    """Drop the entry of `value`, which is there (linear, for rare events); n is the size before."""
    at = 0
    while heap[base + at].value != value:
        at += 1
    while at > 0:
        parent = (at - 1) // 2
        heap[base + at].key = heap[base + parent].key
        heap[base + at].value = heap[base + parent].value
        at = parent
    heap_pop(heap, base, n)
