"""The jitted floor: how every kernel is compiled, and the linked lists that eviction policies keep.

Kernels work on `st`, a NamedTuple of record arrays. Inside them nothing is allocated, errors are codes, and slots are unsigned.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from numba.core import cgutils, types
from numba.core.imputils import lower_getattr_generic
from numba.core.options import DefaultOptions
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import intrinsic, models, register_model

F = TypeVar("F", bound=Callable[..., Any])

# Reference counts on the arrays of `st` would cost several times the work itself. The flag that leaves them out is private
# to Numba; without it kernels are slower and otherwise the same.
OPTIONS: dict[str, Any] = {"nogil": True, "_nrt": False} if hasattr(DefaultOptions, "_nrt") else {"nogil": True}


def kernel(function: F) -> F:
    """Compile at first call. Never cached by itself: only the entry of an engine is, under a hash of all its sources."""
    compiled: F = numba.njit(**OPTIONS)(function)
    return compiled


def entry(function: F) -> F:
    """Like `kernel`, and kept on disk beside the file that defines it."""
    compiled: F = numba.njit(cache=True, **OPTIONS)(function)
    return compiled


class Reference(types.Type):  # type: ignore[misc]
    """Type of a NamedTuple passed by its address: a call hands over one word instead of some seven for each array in it."""

    def __init__(self, target: types.NamedTuple) -> None:
        self.target = target
        digest = hashlib.sha256(target.name.encode()).hexdigest()[:16]  # the full name would be in every symbol, pages long
        super().__init__(name=f"Reference({digest})")


@register_model(Reference)
class _ReferenceModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, reference: Reference) -> None:
        super().__init__(manager, reference, manager.lookup(reference.target).get_value_type().as_pointer())


@infer_getattr
class _ReferenceAttributes(AttributeTemplate):  # type: ignore[misc]
    key = Reference

    def generic_resolve(self, reference: Reference, name: str) -> types.Type | None:
        fields = reference.target.fields
        return reference.target.types[fields.index(name)] if name in fields else None


@lower_getattr_generic(Reference)
def _load_field(context: Any, builder: Any, reference: Reference, pointer: Any, name: str) -> Any:
    return builder.load(cgutils.gep_inbounds(builder, pointer, 0, reference.target.fields.index(name)))


@intrinsic
def by_reference(typing_context: Any, state: types.NamedTuple) -> Any:
    """The given NamedTuple as its address, valid until the calling kernel returns. Its fields are read as before."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return cgutils.alloca_once_value(builder, arguments[0])

    return Reference(state)(state), generate


# Circular lists over `st.node[...].prev/next`. A list is named by its head, a node that holds no block: head.next is the
# first member, head.prev the last. A node in no list points at itself.

LIST_HEADS = 4  # of each store, at slots base, base + 1, ...


@kernel
def list_clear(st: Any, head: Any) -> None:
    """Make `head` an empty list; on a node: in no list."""
    st.node[head].prev = head
    st.node[head].next = head


@kernel
def list_insert(st: Any, i: Any, before: Any) -> None:
    """Put node i, which is in no list, right before the member (or head) `before`."""
    last = st.node[before].prev
    st.node[i].prev = last
    st.node[i].next = before
    st.node[last].next = i
    st.node[before].prev = i


@kernel
def list_remove(st: Any, i: Any) -> None:
    """Take node i out of its list, if it is in one."""
    before = st.node[i].prev
    after = st.node[i].next
    st.node[before].next = after
    st.node[after].prev = before
    st.node[i].prev = i
    st.node[i].next = i


@kernel
def list_head(st: Any, s: Any, number: int) -> Any:
    """The head of list `number` of store s."""
    return st.store[s].heads + np.uint32(number)
