"""Numbering objects by first appearance, a chunk at a time: memory grows with the objects, not with the accesses."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcore.errors import InputError

_FIRST_SLOTS = 1 << 14
_MOST_OBJECTS = (1 << 32) - 1


class Densifier:
    """Gives keys the numbers 0, 1, ... in order of first appearance, over any number of calls.

    Keys are whole numbers of 64 bits, signed or unsigned, or texts. An open-addressing hash table, at most half full, that
    doubles; per object 8 bytes for its key and 8 to 16 bytes of table (texts: a dictionary).
    """

    def __init__(self) -> None:
        self._known = np.empty(_FIRST_SLOTS // 2, np.uint64)
        self._table = np.zeros(_FIRST_SLOTS, np.uint32)
        self._numbers: dict[str, int] = {}
        self._n = 0
        self._kinds: set[str] = set()

    def __len__(self) -> int:
        """Number of objects so far."""
        return self._n

    def add(self, keys: NDArray[Any]) -> NDArray[np.uint32]:
        """The numbers of `keys`: i8, u8 or smaller integers, or an object array of str.

        Raises:
            InputError: texts after numbers or the other way round, keys below 0 together with keys of 2^63 or more (as 64 bits
                they could be equal), or 2^32 objects.
        """
        if keys.dtype == object:
            self._note("text")
            ids = self._add_texts(keys)
        else:
            if keys.dtype.kind not in "iu":
                raise InputError("keys must be whole numbers or texts", path="keys", value=str(keys.dtype))
            self._note("number")
            if len(keys) and keys.dtype.kind == "i" and int(keys.min()) < 0:
                self._note("below 0")
            if len(keys) and keys.dtype == np.uint64 and int(keys.max()) >= 1 << 63:
                self._note("2^63 or more")
            wide = np.require(keys, np.int64 if keys.dtype.kind == "i" else np.uint64, ["C", "A"])
            ids = self._add_numbers(wide.view(np.uint64))
        return ids

    def _note(self, kind: str) -> None:
        self._kinds.add(kind)
        for one, other in (("text", "number"), ("below 0", "2^63 or more")):
            if {one, other} <= self._kinds:
                raise InputError(f"a trace cannot hold both keys of kind {one!r} and {other!r}", path="keys")

    def _add_numbers(self, keys: NDArray[np.uint64]) -> NDArray[np.uint32]:
        from simcore.compiling.passes import run_pass, sealed  # heavy: only when accesses are worked on
        from simcore.traces.kernels import number, rehash

        ids = np.empty(len(keys), np.uint32)
        done = 0
        while True:
            about = np.array([self._n, self._shift()], np.uint64)
            done += run_pass(number, number.State(sealed(keys[done:]), self._table, self._known, ids[done:], about))
            self._n = int(about[0])
            if done == len(keys):
                return ids
            self._grow()
            about = np.array([self._n, self._shift()], np.uint64)
            run_pass(rehash, rehash.State(self._known, self._table, about))

    def _shift(self) -> int:
        return 65 - len(self._table).bit_length()

    def _grow(self) -> None:
        if self._n >= _MOST_OBJECTS:
            raise InputError("a trace must have fewer than 2^32 objects", path="keys", value=self._n)
        known = np.empty(min(2 * len(self._known), _MOST_OBJECTS), np.uint64)
        known[: self._n] = self._known
        self._known = known
        self._table = np.zeros(2 * len(self._table), np.uint32)

    def _add_texts(self, keys: NDArray[Any]) -> NDArray[np.uint32]:
        import pandas as pd  # heavy: only for texts

        codes, texts = pd.factorize(keys)
        numbers = self._numbers
        new = np.fromiter((numbers.setdefault(text, len(numbers)) for text in texts), np.uint32, len(texts))
        self._n = len(numbers)
        return new[codes]
