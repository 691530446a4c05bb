"""Ghosts: bounded memory of objects that have left a store, as lists of nodes that hold no object.

A policy with ghosts takes over STORE_FIELDS and OBJECT_FIELDS, asks for as many SPARE_NODES as there may be ghosts at once (no
object has two, so never more than `n_objects`), calls `ghosts_init` and clears a list for each kind of ghost. A ghost has the
policy's FIELDS too: st.node[g].<field> is the policy's to set. It keeps the size its object had.

The nodes of one list may be ghosts and resident objects mixed. How many ghosts a list has, and how large they are together, is
kept in its head; bounds are the policy's: it makes room (`ghosts_trim`) before it adds one.
"""

from __future__ import annotations

import numpy as np
from numba.extending import overload

from simcore.kernel import Int, Slot, State, about, kernel, list_insert, list_unlink

STORE_FIELDS = (("ghost_fresh", np.uint32), ("ghost_free", np.uint32))
OBJECT_FIELDS = (("ghost", np.uint32),)


@kernel
def ghosts_init(st: State, s: Int) -> None:
    """Once, before anything else: nothing is remembered."""
    st.store[s].ghost_fresh = st.store[s].spare
    st.store[s].ghost_free = np.uint32(0)


@kernel
def ghost_find(st: State, s: Int, obj: Int) -> Slot:
    """The node of the ghost of object `obj`, 0 if it is not remembered."""
    return st.object[about(st, s, obj)].ghost


@kernel
def ghost_add(st: State, s: Int, i: Slot, head: Slot) -> Slot:
    """The object in slot i, which is about to leave and has no ghost, becomes the newest ghost of the list; returns its node.

    There must be a spare node left; slot i may be in a list or not.
    """
    g = st.store[s].ghost_free
    if g != np.uint32(0):
        st.store[s].ghost_free = st.node[g].next
    else:
        g = st.store[s].ghost_fresh
        st.store[s].ghost_fresh = g + np.uint32(1)
    obj = st.node[i].obj
    st.node[g].obj = obj
    list_insert(st, g, head)
    st.object[about(st, s, obj)].ghost = g
    st.node[head].obj += np.uint32(1)
    _remember_size(st, g, i, head)
    return g


@kernel
def ghost_drop(st: State, s: Int, g: Slot, head: Slot) -> None:
    """Forget ghost g of the list."""
    list_unlink(st, g)
    st.object[about(st, s, st.node[g].obj)].ghost = np.uint32(0)
    st.node[head].obj -= np.uint32(1)
    _forget_size(st, g, head)
    st.node[g].next = st.store[s].ghost_free
    st.store[s].ghost_free = g


@kernel
def ghosts_trim(st: State, s: Int, head: Slot, most: Int) -> None:
    """Forget the oldest of a list of ghosts alone until they are no more than `most` >= 0 units."""
    while ghost_units(st, head) > most:
        ghost_drop(st, s, st.node[head].next, head)


@kernel
def ghost_oldest(st: State, head: Slot) -> Slot:
    """The oldest ghost of a list of ghosts alone, 0 if there is none."""
    g = st.node[head].next
    return g if g != head else np.uint32(0)


@kernel
def ghost_count(st: State, head: Slot) -> Int:
    """How many ghosts the list has."""
    return np.int64(st.node[head].obj)


def ghost_units(st: State, head: Slot) -> Int:
    """Units of capacity that the objects of the list's ghosts took: bytes where objects have sizes, otherwise their count."""
    return st.node[head].units if "units" in st.node.dtype.names else int(st.node[head].obj)


def _remember_size(st: State, g: Slot, i: Slot, head: Slot) -> None:
    if "units" in st.node.dtype.names:
        st.node[g].units = st.node[i].units
        st.node[head].units += st.node[i].units


def _forget_size(st: State, g: Slot, head: Slot) -> None:
    if "units" in st.node.dtype.names:
        st.node[head].units -= st.node[g].units


# Compiled, sizes vanish where objects have none.


def _sized(st: State) -> bool:
    return "units" in st.target.types[st.target.fields.index("node")].dtype.fields


@overload(ghost_units, inline="always")
def _ghost_units(st, head):  # type: ignore[no-untyped-def]
    return (lambda st, head: st.node[head].units) if _sized(st) else (lambda st, head: np.int64(st.node[head].obj))


@overload(_remember_size, inline="always")
def _compiled_remember_size(st, g, i, head):  # type: ignore[no-untyped-def]
    def sized(st, g, i, head):  # type: ignore[no-untyped-def]
        size = st.node[i].units
        st.node[g].units = size
        st.node[head].units += size

    def unsized(st, g, i, head):  # type: ignore[no-untyped-def]
        pass

    return sized if _sized(st) else unsized


@overload(_forget_size, inline="always")
def _compiled_forget_size(st, g, head):  # type: ignore[no-untyped-def]
    def sized(st, g, head):  # type: ignore[no-untyped-def]
        st.node[head].units -= st.node[g].units

    def unsized(st, g, head):  # type: ignore[no-untyped-def]
        pass

    return sized if _sized(st) else unsized
