"""The jitted floor: how every kernel is compiled, and the linked lists that eviction policies keep.

Kernels work on `st`, a NamedTuple of record arrays. Inside them nothing is allocated, errors are codes, and slots are unsigned.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.core.imputils import lower_getattr_generic
from numba.core.options import DefaultOptions
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import intrinsic, models, overload, register_model

from simcore.linking import PartCompiler

F = TypeVar("F", bound=Callable[..., Any])

# Types as kernels read: compiled, they are what Numba infers; interpreted, NumPy scalars.
Int = Any  # a signed 64-bit integer
Slot = Any  # an unsigned number of a slot
Bool = Any
State = Any  # a NamedTuple of record arrays, with at least `node` and `store`


def _known(**options: bool) -> dict[str, Any]:
    return {name: value for name, value in options.items() if hasattr(DefaultOptions, name)}


# `_nrt` leaves out reference counts on the arrays of `st`, which would cost several times the work itself; the wrappers are
# entries from Python, which only an engine's own entry needs. These options are private to Numba: where one does not exist,
# kernels compile or run more slowly and are otherwise the same.
OPTIONS: dict[str, Any] = {"nogil": True, **_known(_nrt=False)}
_INNER = {**OPTIONS, **_known(no_cpython_wrapper=True, no_cfunc_wrapper=True), "pipeline_class": PartCompiler}


def kernel(function: F) -> F:
    """Compile when another kernel first calls it. Not cached: only an engine's entry is, under a hash of all its sources."""
    compiled: F = numba.njit(**_INNER)(function)
    return compiled


def inlined(function: F) -> F:
    """A kernel (compiled or not) that becomes part of each of its callers: for what runs once an access."""
    compiled: F = numba.njit(**_INNER, **_known(forceinline=True))(getattr(function, "py_func", function))
    return compiled


def entry(function: F, *, cache: bool) -> F:
    """Like `kernel`, callable from Python, and with `cache` kept on disk beside the file that defines it."""
    compiled: F = numba.njit(cache=cache, **OPTIONS)(function)
    return compiled


class Reference(types.Type):
    """Type of a NamedTuple passed by its address: a call hands over one word instead of some seven for each array in it."""

    def __init__(self, target: Any) -> None:
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

    def generic_resolve(self, reference: Reference, name: str) -> Any:
        fields = reference.target.fields
        return reference.target.types[fields.index(name)] if name in fields else None


@lower_getattr_generic(Reference)  # type: ignore[untyped-decorator]
def _load_field(context: Any, builder: Any, reference: Reference, pointer: Any, name: str) -> Any:
    return _load_constant(builder, cgutils.gep_inbounds(builder, pointer, 0, reference.target.fields.index(name)))


def _load_constant(builder: Any, pointer: Any) -> Any:
    """Load what never changes, word by word, and say so: no store in between makes it necessary to load again."""
    kind = pointer.type.pointee
    count = len(kind.elements) if hasattr(kind, "elements") else getattr(kind, "count", None)
    if count is None:
        word = builder.load(pointer)
        word.set_metadata("invariant.load", builder.module.add_metadata([]))
        return word
    whole = kind(ir.Undefined)
    for i in range(count):
        whole = builder.insert_value(whole, _load_constant(builder, cgutils.gep_inbounds(builder, pointer, 0, i)), i)
    return whole


@intrinsic  # type: ignore[untyped-decorator]
def by_reference(typing_context: Any, state: Any) -> Any:
    """The given NamedTuple as its address, valid until the calling kernel returns. Its fields are read as before."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return cgutils.alloca_once_value(builder, arguments[0])

    return Reference(state)(state), generate


def prefetch(array: Any, index: Any) -> None:
    """Have the processor fetch array[index], which is soon to be read."""


@intrinsic  # type: ignore[untyped-decorator]
def _prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(array)(context, builder, arguments[0]).data
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        fetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        place = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        builder.call(fetch, [place, word(0), word(3), word(1)])  # to read, to all levels, data
        return context.get_dummy_value()

    return types.void(array, index), generate


@overload(prefetch, inline="always")
def _compiled_prefetch(array, index):  # type: ignore[no-untyped-def]
    return lambda array, index: _prefetch(array, np.uint64(index))


# Circular lists over `st.node[...].prev/next`. A list is named by its head, a node that holds no block: head.next is the
# first member, head.prev the last. A node in no list points at itself.

LIST_HEADS = 4  # of each store; those of all stores come before any other node, so that a store's number is where they are


@kernel
def list_clear(st: State, head: Slot) -> None:
    """Make `head` an empty list; on a node: in no list."""
    st.node[head].prev = head
    st.node[head].next = head


@kernel
def list_insert(st: State, i: Slot, before: Slot) -> None:
    """Put node i, which is in no list, right before the member (or head) `before`."""
    last = st.node[before].prev
    st.node[i].prev = last
    st.node[i].next = before
    st.node[last].next = i
    st.node[before].prev = i


@kernel
def list_remove(st: State, i: Slot) -> None:
    """Take node i out of its list, if it is in one."""
    before = st.node[i].prev
    after = st.node[i].next
    st.node[before].next = after
    st.node[after].prev = before
    st.node[i].prev = i
    st.node[i].next = i


@kernel
def list_unlink(st: State, i: Slot) -> None:
    """Take node i out of the list that it is in. Its own links stay: it leaves its store, or enters a list at once."""
    before = st.node[i].prev
    after = st.node[i].next
    st.node[before].next = after
    st.node[after].prev = before


@kernel
def list_move(st: State, i: Slot, before: Slot) -> None:
    """Take node i out of its list and put it right before the member (or head) `before`, another node."""
    last = st.node[i].prev
    after = st.node[i].next
    st.node[last].next = after
    st.node[after].prev = last
    last = st.node[before].prev
    st.node[i].prev = last
    st.node[i].next = before
    st.node[last].next = i
    st.node[before].prev = i


@kernel
def list_head(st: State, s: Int, number: int) -> Slot:
    """The head of list `number` of store s."""
    return np.uint32(1 + s * LIST_HEADS + number)


# What not every engine has. These compile to a constant where the record lacks the field.


def _has(st: Any, array: str, field: str) -> bool:
    target = st.target
    return array in target.fields and field in target.types[target.fields.index(array)].dtype.fields


def pinned(st: State, i: Slot) -> Bool:
    """Whether a running sequence needs the object in slot i; never where nothing pins."""
    return "pins" in st.node.dtype.names and st.node[i].pins > 0


@overload(pinned, inline="always")
def _pinned(st, i):  # type: ignore[no-untyped-def]
    return (lambda st, i: st.node[i].pins > 0) if _has(st, "node", "pins") else (lambda st, i: False)


def size_of(st: State, i: Slot) -> Int:
    """Units of capacity that the object in slot i takes: bytes where objects have sizes, otherwise 1."""
    return st.node[i].units if "units" in st.node.dtype.names else 1


@overload(size_of, inline="always")
def _size_of(st, i):  # type: ignore[no-untyped-def]
    return (lambda st, i: st.node[i].units) if _has(st, "node", "units") else (lambda st, i: 1)


def incoming_size(st: State) -> Int:
    """Units of capacity that the object of the current access takes."""
    return st.event[0].units if "units" in st.event.dtype.names else 1


@overload(incoming_size, inline="always")
def _incoming_size(st):  # type: ignore[no-untyped-def]
    return (lambda st: st.event[0].units) if _has(st, "event", "units") else (lambda st: 1)


def steady(st: State) -> Bool:
    """Whether an object leaves its slot only when another takes it, so that slots keep the order in which they were filled."""
    return "steady" in (st.event.dtype.names or ())


@overload(steady, inline="always")
def _steady(st):  # type: ignore[no-untyped-def]
    return (lambda st: True) if _has(st, "event", "steady") else (lambda st: False)


@kernel
def slot_after(st: State, s: Int, i: Slot) -> Slot:
    """The slot of store s that was filled after slot i; after the last one, the first. For stores that are `steady`."""
    after = np.uint32(i + np.uint32(1))
    return after if after != st.store[s].spare else st.store[s].first


@kernel
def about(st: State, s: Int, obj: Int) -> Int:
    """Where store s keeps what it knows of object `obj`, present or absent: the index into `st.object`."""
    return st.store[s].objects + np.uint64(obj)


@kernel
def random_below(st: State, s: Int, n: Int) -> Int:
    """A uniform whole number of [0, n), n < 2^32; the generator (SplitMix64, Steele et al. 2014) is the store's own."""
    state = st.store[s].random + np.uint64(0x9E3779B97F4A7C15)
    st.store[s].random = state
    x = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x = x ^ (x >> np.uint64(31))
    return ((x >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32)
