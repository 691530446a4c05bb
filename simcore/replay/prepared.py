"""What several replays of one trace have in common, made once and shared between threads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcore.replay import lower
from simcore.replay.spans import place
from simcore.traces.accesses import Accesses


@dataclass(frozen=True)
class Asked:
    """What a trace asks for after a warm-up; the fields as those of `simcore.replay.result.Replay`."""

    requests: int
    accesses: int
    asked_bytes: int
    tokens: int
    distinct: int
    one_hit: int


class Prepared:
    """Columns and counts of one trace, each made when it is first asked for and kept."""

    def __init__(self, accesses: Accesses) -> None:
        self.accesses = accesses
        self._columns: dict[tuple[str, bool], NDArray[Any]] = {}
        self._asked: dict[int, Asked] = {}
        self._lock = Lock()

    def columns(self, names: Iterable[str], *, tail_first: bool) -> dict[str, NDArray[Any]]:
        """As `lower.columns`."""
        names = tuple(names)
        with self._lock:
            missing = [name for name in names if (name, tail_first) not in self._columns]
            for name, column in lower.columns(self.accesses, missing, tail_first=tail_first).items():
                self._columns[name, tail_first] = column
            return {name: self._columns[name, tail_first] for name in names}

    def asked(self, warmup: int) -> Asked:
        """Counts after `warmup` requests."""
        with self._lock:
            if warmup not in self._asked:
                self._asked[warmup] = _asked(self.accesses, warmup)
            return self._asked[warmup]


def _asked(accesses: Accesses, warmup: int) -> Asked:
    after = slice(place(accesses, warmup), None)
    counts = np.bincount(accesses.ids[after], minlength=accesses.n_objects)
    return Asked(
        requests=accesses.n_requests - warmup,
        accesses=len(accesses.ids[after]),
        asked_bytes=0 if accesses.sizes is None else int(accesses.sizes[after].sum()),
        tokens=int(accesses.tokens[after].sum(dtype=np.int64)) if accesses.chain and accesses.tokens is not None else 0,
        distinct=int((counts > 0).sum()),
        one_hit=int((counts == 1).sum()),
    )
