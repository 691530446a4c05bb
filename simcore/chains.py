"""Lists in order of use in which what one request used lies tail first: the block deepest in its chain is the oldest.

For eviction policies of prefix chains. A block is of use only together with all before it, and a request that uses a block uses
those before it as well, so no block of such a list is newer than one it is a prefix of: whoever evicts from the old end never
takes a block from under a resident descendant. That holds whichever way a request goes through its chain, and a use costs O(1)
when it goes from one end to the other.

A policy takes over FIELDS and NEEDS; a list is one of `simcore.kernel`, cleared by `chain_clear`, and keeps in its head which
of its members the latest request used.
"""

from __future__ import annotations

import numpy as np

from simcore.kernel import Bool, Int, Slot, State, kernel, list_clear, list_insert, list_remove

FIELDS = (("offset", np.uint32),)  # place in the chain; of a head: the latest request
NEEDS = frozenset({"depth", "request"})


@kernel
def chain_clear(st: State, head: Slot) -> None:
    """Make `head` an empty list."""
    list_clear(st, head)
    st.node[head].obj = head


@kernel
def chain_use(st: State, i: Slot, head: Slot) -> None:
    """Slot i, which is in no list, has just been used by the current request."""
    offset = np.uint32(st.event[0].depth)
    request = np.uint32(st.event[0].request)
    st.node[i].offset = offset
    first = st.node[head].obj  # the oldest member that the latest request used, `head` if there is none
    if first == head or st.node[head].offset != request:
        st.node[head].offset = request
        st.node[head].obj = i
        list_insert(st, i, head)
    elif offset > st.node[first].offset:
        st.node[head].obj = i
        list_insert(st, i, first)
    else:
        before = head
        while st.node[st.node[before].prev].offset < offset:
            before = st.node[before].prev
        list_insert(st, i, before)


@kernel
def chain_append(st: State, i: Slot, head: Slot) -> None:
    """Slot i, which is in no list, becomes the newest, whatever its place in the chain."""
    list_insert(st, i, head)
    st.node[head].obj = head


@kernel
def chain_remove(st: State, i: Slot, head: Slot) -> None:
    """Slot i leaves the list, if it is in it."""
    if st.node[head].obj == i:
        st.node[head].obj = st.node[i].next
    list_remove(st, i)


@kernel
def chain_oldest(st: State, head: Slot) -> Int:
    """The oldest member; `head` if there is none."""
    return st.node[head].next


@kernel
def chain_needs(st: State, i: Slot, head: Slot) -> Bool:
    """Whether the newcomer is a later block of the chain in which the current request has just used slot i, the oldest member.

    Then nothing is left to evict but what the newcomer is of no use without.
    """
    if st.node[head].obj != i or st.node[head].offset != np.uint32(st.event[0].request):
        return False
    return st.node[i].offset < np.uint32(st.event[0].depth)
