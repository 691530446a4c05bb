"""What a tracker needs to know of a finished study: the shape of `dse.study.Study`, which it does not import."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from dse.space import Space
    from dse.trial import Trial


class Searched(Protocol):
    """A study after a search."""

    @property
    def name(self) -> str: ...
    @property
    def folder(self) -> Path: ...
    @property
    def space(self) -> Space: ...
    @property
    def trials(self) -> tuple[Trial, ...]: ...
    @property
    def status(self) -> Literal["complete", "interrupted"]: ...
    @property
    def front(self) -> tuple[Trial, ...]:
        """Every trial on a front, each once."""

    @property
    def fronts(self) -> Mapping[str | None, tuple[Trial, ...]]:
        """By member with `combine: each`, else under None."""

    @property
    def counts(self) -> Mapping[str, int]:
        """Trials that are complete, feasible, failed."""

    @property
    def history(self) -> tuple[tuple[int, float, int], ...]:
        """After each batch: trials so far, hypervolume, size of the front."""
