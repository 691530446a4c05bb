"""The clients of a closed loop: latencies under a fixed concurrency depend on their pattern more than on anything else."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import model_validator

from simcore.errors import InputError
from simcore.specs.base import Seconds, Spec
from simcore.units import format_seconds


class ClientPattern(Spec):
    """How clients start and whether they wait for one another.

    Attributes:
        start: "burst" (all at once, as benchmark clients do) or "staggered" (evenly over `ramp_up_s`).
        ramp_up_s: of "staggered": time in which the clients start, one after the other.
        waves: barrier: rounds of as many sessions (of independent requests: as many requests) as there are clients; no round
            starts before all of the one before have ended.
    """

    shorthand: ClassVar[str | None] = "start"
    start: Literal["burst", "staggered"] = "burst"
    ramp_up_s: Seconds | None = None
    waves: bool = False

    @model_validator(mode="after")
    def _ramp_up_where_staggered(self) -> Self:
        staggered = self.start == "staggered"
        if staggered and not self.ramp_up_s:
            raise InputError("is required for staggered clients", path="ramp_up", hint="write ramp_up: 10 s")
        if not staggered and self.ramp_up_s is not None:
            raise InputError("is of staggered clients", path="ramp_up", value=f"{self.ramp_up_s:g} s", hint="start: staggered")
        return self

    def words(self) -> str:
        """The pattern in words."""
        start = "starting at once" if self.start == "burst" else f"starting over {format_seconds(self.ramp_up_s or 0.0)}"
        return start + (", in waves with a barrier" if self.waves else ", without a barrier")
