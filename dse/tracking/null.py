"""No record outside the study folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dse.seams import Settings
    from dse.space import Space
    from dse.tracking.searched import Searched
    from dse.trial import Trial


class NullTracker:
    """Records nothing."""

    not_recorded: str | None = None
    """A sentence about what is missing from the record; nothing can be."""

    def start(self, space: Space, settings: Settings) -> None:
        """The search begins."""

    def batch(self, trials: Sequence[Trial], hypervolume: float, front_size: int, step: int) -> None:
        """A batch is stored."""

    def finish(self, study: Searched) -> None:
        """The search has ended."""
