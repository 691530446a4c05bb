"""simcore: a fast simulator of big tiered caches.

    >>> import simcore
    >>> scenario = simcore.load_scenario("scenario.yaml")            # doctest: +SKIP
    >>> simcore.metric_values(simcore.simulate(scenario))            # doctest: +SKIP
"""

from simcore.errors import InputError, SimcoreError
from simcore.metrics import METRICS, Metric, find_metric, mean_values, metric_values
from simcore.outcome import Outcome
from simcore.presets import list_presets, load_preset
from simcore.scenario import (
    build_scenario,
    canonical,
    check_workload,
    describe,
    expand_scenario,
    explain,
    load_scenario,
    measure,
    prepare,
    simulate,
    static_metrics,
    trust,
)
from simcore.specs.base import yaml_dict

__all__ = [
    "METRICS",
    "InputError",
    "Metric",
    "Outcome",
    "SimcoreError",
    "build_scenario",
    "canonical",
    "check_workload",
    "describe",
    "expand_scenario",
    "explain",
    "find_metric",
    "list_presets",
    "load_preset",
    "load_scenario",
    "mean_values",
    "measure",
    "metric_values",
    "prepare",
    "simulate",
    "static_metrics",
    "trust",
    "yaml_dict",
]
