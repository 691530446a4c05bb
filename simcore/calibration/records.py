"""What files of measurements say, before it is known of which model and GPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Measured:
    """One run of a benchmark client; what a file does not say is absent from `fields`.

    Attributes:
        fields: by the names of `FIELDS`.
        where: file and line or entry, for messages.
    """

    fields: Mapping[str, Any]
    where: str


FIELDS = {
    "model": str, "gpu": str, "family": str, "tp": int, "pp": int, "dp": int, "ep": bool, "weight_format": str,
    "kv_format": str, "client": str, "input_tokens": int, "output_tokens": int, "concurrency": int,
    "ttft_ms": float, "tpot_ms": float,
}  # fmt: skip
"""Columns of a table of runs, and their types. Times are means."""


@dataclass(frozen=True)
class Transfer:
    """One copy of KV blocks between GPU and host as logged: seconds it took on one GPU."""

    tokens: int
    size_bytes: float
    seconds: float
    kind: str


@dataclass(frozen=True)
class PoolLine:
    """The KV pool an engine says it has; what it does not say is None."""

    available_bytes: float | None = None
    tokens: int | None = None
    blocks: int | None = None
    block_tokens: int | None = None


@dataclass(frozen=True)
class Reading:
    """Everything one file says."""

    runs: tuple[Measured, ...] = ()
    transfers: tuple[Transfer, ...] = ()
    pools: tuple[PoolLine, ...] = ()
    notes: tuple[str, ...] = field(default=())
