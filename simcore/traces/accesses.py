"""`Accesses`: references to objects in order, all that an untimed cache sees of a trace."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simcore.errors import InputError
from simcore.traces.trace import densify

DTYPES: dict[str, type[np.generic]] = {
    "ids": np.uint32,
    "sizes": np.int64,
    "request_start": np.int64,
    "tokens": np.int32,
    "category": np.int32,
    "time_s": np.float64,
}
_LEAST = {"sizes": 1, "tokens": 1, "category": 0}
_NEVER = 1 << 62
_LARGEST_SUM = 1 << 62
_CHECKED_AT_ONCE = 1 << 22  # entries; a mapped array is read through, never held


@dataclass(frozen=True, eq=False, kw_only=True)
class Accesses:
    """m references to `n_objects` objects, grouped in requests (or batches) if `request_start` is given.

    Arrays are kept as given where they already have the right type (they may be memory-mapped files) and made read-only views.

    Attributes:
        ids: u4 (m,), numbers of objects below `n_objects`, by order of first appearance.
        sizes: i8 (m,), bytes asked for by each access, >= 1; None: every object is one unit.
        request_start: i8 (n+1,), request r is `ids[request_start[r]:request_start[r+1]]`; None: every access is a request.
        chain: each request is a prefix chain: an object is of use only together with all before it in the request.
        tokens: i4 (m,), tokens that each access stands for, >= 1 (KV blocks; the last of a prompt may be partly filled).
        category: i4 (m,), kind of the request or number of the table, >= 0.
        time_s: f8 (m,), seconds; not used for order.
        source: where it came from, in words.
        key: hash of the content; what is derived from a trace is kept on disk under it.

    Raises:
        InputError: an array has another length, is of no numbers (other than `time_s`: whole numbers), or has an entry out of
            range; `path` names it.
    """

    ids: NDArray[np.uint32]
    n_objects: int
    sizes: NDArray[np.int64] | None = None
    request_start: NDArray[np.int64] | None = None
    chain: bool = False
    tokens: NDArray[np.int32] | None = None
    category: NDArray[np.int32] | None = None
    time_s: NDArray[np.float64] | None = None
    source: str = "given"
    key: str = ""

    def __post_init__(self) -> None:
        for name, dtype in DTYPES.items():
            given = getattr(self, name)
            if given is not None:
                view = np.ascontiguousarray(self._fitting(name, np.asarray(given), np.dtype(dtype)), dtype=dtype).view()
                view.flags.writeable = False
                object.__setattr__(self, name, view)
        self._validate()
        if not self.key:
            object.__setattr__(self, "key", self._digest())

    @classmethod
    def of(cls, keys: ArrayLike, **columns: Any) -> Accesses:
        """Accesses from any integer keys, numbered by first appearance; `columns` as the attributes.

        Raises:
            InputError: keys that are not integers, or as the class.
        """
        given = np.asarray(keys)
        _refuse_kind("keys", given, np.dtype(np.int64))
        ids, n_objects = densify(given)
        return cls(ids=ids, n_objects=n_objects, **columns)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def n_requests(self) -> int:
        return len(self.ids) if self.request_start is None else len(self.request_start) - 1

    def with_columns(self, **columns: Any) -> Accesses:
        """The same accesses with some attributes replaced."""
        return replace(self, **{"key": "", **columns})

    def first(self, n: int) -> Accesses:
        """The first n requests (accesses, if they are not grouped).

        Raises:
            InputError: there are fewer, or they hold no access.
        """
        if not 1 <= n <= self.n_requests:
            raise InputError(f"must be between 1 and the {self.n_requests} requests of {self.source}", path="requests", value=n)
        m = n if self.request_start is None else int(self.request_start[n])
        start = None if self.request_start is None else self.request_start[: n + 1]
        return self._taken(slice(m), self.ids[:m], int(self.ids[:m].max()) + 1 if m else 0, start)

    def selected(self, mask: NDArray[np.bool_]) -> Accesses:
        """The accesses where `mask` (m,) holds, renumbered by first appearance. Requests stay, even if nothing is left of them.

        Raises:
            InputError: of another length, it selects nothing, or prefix chains would be broken.
        """
        if len(mask) != len(self):
            raise InputError(f"must have one entry per access ({len(self)})", path="mask", value=len(mask))
        if self.chain:
            raise InputError("accesses of prefix chains cannot be taken out", path="mask")
        start = self.request_start
        if start is not None:
            start = np.concatenate(([0], np.cumsum(mask, dtype=np.int64)))[start]
        ids, n_objects = densify(self.ids[mask])
        return self._taken(mask, ids, n_objects, start)

    def _taken(
        self, which: slice | NDArray[np.bool_], ids: NDArray[np.uint32], n_objects: int, start: NDArray[np.int64] | None
    ) -> Accesses:
        columns = {name: getattr(self, name) for name in DTYPES if name not in ("ids", "request_start")}
        taken = {name: None if column is None else column[which] for name, column in columns.items()}
        return self.with_columns(**taken, ids=ids, n_objects=n_objects, request_start=start)

    def _fitting(self, name: str, given: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
        """The array, if its entries can be had in `dtype` as they are; looked through only if its own type may hold others."""
        _refuse_kind(name, given, dtype)
        if dtype.kind in "iu" and not np.can_cast(given.dtype, dtype):
            most = int(np.iinfo(dtype).max)
            _refuse_outside(name, given, _LEAST.get(name, 0), min(most, self.n_objects - 1) if name == "ids" else most)
        return given

    def _validate(self) -> None:
        m = len(self.ids)
        if m == 0:
            raise InputError("a trace needs at least one access", path="ids")
        for name in ("sizes", "tokens", "category", "time_s"):
            column, low = getattr(self, name), _LEAST.get(name)
            if column is not None and len(column) != m:
                raise InputError(f"must have one entry per access ({m})", path=name, value=len(column))
            if column is not None and low is not None:
                _refuse_outside(name, column, low, None)
        if self.sizes is not None:
            _refuse_large_sum("sizes", self.sizes)
        _refuse_outside("ids", self.ids, 0, self.n_objects - 1)
        start = self.request_start
        if start is not None and (len(start) < 2 or start[0] != 0 or start[-1] != m or _falls(start)):
            raise InputError(f"must rise from 0 to {m}", path="request_start")
        if self.chain and start is None:
            raise InputError("prefix chains need requests", path="request_start")

    def _digest(self) -> str:
        digest = hashlib.sha256(f"{self.n_objects} {self.chain}".encode())
        for name in DTYPES:
            column = getattr(self, name)
            digest.update(f"{name} {column is not None}".encode())
            if column is not None:
                digest.update(memoryview(column).cast("B"))
        return digest.hexdigest()


def _falls(column: NDArray[Any]) -> bool:
    parts = (column[at : at + _CHECKED_AT_ONCE + 1] for at in range(0, len(column), _CHECKED_AT_ONCE))
    return any(bool((part[1:] < part[:-1]).any()) for part in parts)


def _refuse_kind(name: str, given: NDArray[Any], dtype: np.dtype[Any]) -> None:
    if given.ndim != 1:
        raise InputError("must be a list", path=name, value=f"{given.ndim} dimensions")
    whole = dtype.kind in "iu"
    if given.size and given.dtype.kind not in ("iu" if whole else "iuf"):  # an empty list is one of floats
        raise InputError(f"must be {'whole ' if whole else ''}numbers", path=name, value=str(given.dtype))


def _refuse_outside(name: str, column: NDArray[Any], low: int, high: int | None) -> None:
    for at in range(0, len(column), _CHECKED_AT_ONCE):
        part = column[at : at + _CHECKED_AT_ONCE]
        if part.min() >= low and (high is None or part.max() <= high):
            continue
        bad = part < low if high is None else (part < low) | (part > high)
        if bad.any():
            i = int(np.argmax(bad))
            rule = f"must be at least {low}" if high is None else f"must be between {low} and {high}"
            raise InputError(rule, path=f"{name}[{at + i}]", value=part[i].item())


def _refuse_large_sum(name: str, column: NDArray[np.int64]) -> None:
    """Bytes are counted in 64 bits. The exact sum is taken only where length times maximum does not settle it."""
    parts = [column[at : at + _CHECKED_AT_ONCE] for at in range(0, len(column), _CHECKED_AT_ONCE)]
    if sum(int(part.max()) * len(part) for part in parts) < _LARGEST_SUM:
        return
    total = sum((int((part >> 32).sum()) << 32) + int((part & 0xFFFFFFFF).sum()) for part in parts)
    if total >= _LARGEST_SUM:
        raise InputError("must sum to less than 2^62 bytes", path=name, value=total)


def next_use(ids: NDArray[np.uint32]) -> NDArray[np.int64]:
    """i8 (m,): the index of the next access to the same object, 2^62 if there is none. What clairvoyant policies need."""
    from simcore.compiling.passes import run_pass, sealed  # heavy: only when accesses are worked on
    from simcore.traces.kernels import next_use as kernel

    result = np.empty(len(ids), np.int64)
    last = np.full(int(ids.max()) + 1 if len(ids) else 0, _NEVER, np.int64)
    run_pass(kernel, kernel.State(sealed(np.ascontiguousarray(ids, np.uint32)), last, result))
    return result
