"""A trial: one design of a space and what its evaluation gave. Pure data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

State = Literal["complete", "failed"]
MetricValues = Mapping[str, float | None]


@dataclass(frozen=True)
class Trial:
    """One evaluated design.

    Args:
        number: position in the study, from 0 without gaps.
        point: searched path -> YAML value; active dimensions only.
        key: hash of the canonical design; no two trials of a study share one.
        state: "failed" if the evaluation raised, or an objective is unknown though every constraint holds.
        metrics: member of the scenario set -> exported metric key -> value, None where unknown. Empty when failed.
        combined: exported metric key -> value over the scenario set.
        violations: constraint as written -> excess; satisfied when <= 0. Empty when failed.
        error: why it failed.
        started_s: Unix time at which the evaluation started.
        seconds: wall time of the evaluation.
        duplicates: designs the sampler proposed again before this one, all dropped without evaluation.
    """

    number: int
    point: Mapping[str, Any]
    key: str
    state: State
    metrics: Mapping[str, MetricValues] = field(default_factory=dict)
    combined: MetricValues = field(default_factory=dict)
    violations: Mapping[str, float] = field(default_factory=dict)
    error: str | None = None
    started_s: float = 0.0
    seconds: float = 0.0
    duplicates: int = 0

    @property
    def feasible(self) -> bool:
        """Whether the evaluation succeeded and every constraint holds."""
        return self.state == "complete" and all(excess <= 0 for excess in self.violations.values())
