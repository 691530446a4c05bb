"""Traces that record operations, some of which one may want to leave out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcore.errors import InputError, did_you_mean


class Operations:
    """Which operations to keep: a list, or a text with commas; None: all. "get" stands for all that begin with "get.", too."""

    def __init__(self, wanted: str | Sequence[str] | None) -> None:
        names = wanted.split(",") if isinstance(wanted, str) else wanted
        self._missing = None if names is None else {name.strip() for name in names}
        self._wanted = frozenset(self._missing or ())
        self._seen: set[str] = set()

    def kept(self, operations: NDArray[Any]) -> NDArray[np.bool_]:
        """Mask (m,) of the operations to keep."""
        if self._missing is None:
            return np.ones(len(operations), np.bool_)
        present = set(operations)
        self._seen |= present
        matching = {name for name in present if {name, name.partition(".")[0]} & self._wanted}
        self._missing -= matching | {name.partition(".")[0] for name in matching}
        return np.fromiter((name in matching for name in operations), np.bool_, len(operations))

    def refuse_missing(self, path: str | Path) -> None:
        """At the end of the file: raises InputError for a wanted operation that did not occur."""
        for name in sorted(self._missing or ()):
            hint = did_you_mean(name, self._seen)
            raise InputError("no such operation in the file", file=str(path), path="ops", value=name, hint=hint)
