"""simcore: a fast simulator of big tiered caches.

>>> import simcore
>>> scenario = simcore.load_scenario("scenario.yaml")            # doctest: +SKIP
>>> simcore.metric_values(simcore.simulate(scenario))            # doctest: +SKIP
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

import simcore.edited  # noqa: F401  # before all else: it takes the time
from simcore.errors import InputError, SimcoreError

if TYPE_CHECKING:
    from simcore.accounting import Account, Errors, Round
    from simcore.calibration.user import Calibration, calibrate_files
    from simcore.families._kv_size import deployment_of
    from simcore.metrics import METRICS, Metric, find_metric, mean_values, metric_values
    from simcore.outcome import Outcome
    from simcore.presets import list_presets, load_preset
    from simcore.quantization.by_name import named_kv_bytes_per_token
    from simcore.replay.curve import Curve, default_capacities, miss_ratio_curve
    from simcore.replay.describe import describe_trace
    from simcore.replay.distances import lru_curve
    from simcore.replay.offline import sees_the_future
    from simcore.replay.splits import LruCurve
    from simcore.roofline.format_trade import FormatTrade, compare_formats
    from simcore.roofline.levers import Lever, levers
    from simcore.roofline.log_fit import LogFit, fit_footprint
    from simcore.roofline.sizing import Deployment, Sizing, StageSize, build_deployment, size
    from simcore.roofline.working import Term, working
    from simcore.scenario import (
        account,
        build_scenario,
        canonical,
        check_workload,
        describe,
        expand_scenario,
        expected_errors,
        explain,
        load_scenario,
        measure,
        prepare,
        simulate,
        static_metrics,
        trust,
    )
    from simcore.specs.base import yaml_dict
    from simcore.tenants import TenantOutcome, tenant_outcomes
    from simcore.traces.accesses import Accesses
    from simcore.traces.load import format_of, read_accesses
    from simcore.traces.options import option_names, parse_options
    from simcore.validation.compare import Compared, validation_cases

_LATER = {
    "accounting": "Account Errors Round",
    "calibration.user": "Calibration calibrate_files",
    "families._kv_size": "deployment_of",
    "metrics": "METRICS Metric find_metric mean_values metric_values",
    "outcome": "Outcome",
    "presets": "list_presets load_preset",
    "quantization.by_name": "named_kv_bytes_per_token",
    "replay.curve": "Curve default_capacities miss_ratio_curve",
    "replay.describe": "describe_trace",
    "replay.distances": "lru_curve",
    "replay.offline": "sees_the_future",
    "replay.splits": "LruCurve",
    "roofline.format_trade": "FormatTrade compare_formats",
    "roofline.levers": "Lever levers",
    "roofline.log_fit": "LogFit fit_footprint",
    "roofline.sizing": "Deployment Sizing StageSize build_deployment size",
    "roofline.working": "Term working",
    "scenario": (
        "account build_scenario canonical check_workload describe expand_scenario expected_errors explain load_scenario "
        "measure prepare simulate static_metrics trust"
    ),
    "specs.base": "yaml_dict",
    "tenants": "TenantOutcome tenant_outcomes",
    "traces.accesses": "Accesses",
    "traces.load": "format_of read_accesses",
    "traces.options": "option_names parse_options",
    "validation.compare": "Compared validation_cases",
}
"""What is imported when it is first used: a replay has no use for scenarios, nor a list of presets for the compiler."""


def __getattr__(name: str) -> Any:
    for module, names in _LATER.items():
        if name in names.split():
            found = globals()[name] = getattr(import_module(f"simcore.{module}"), name)
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "METRICS",
    "Accesses",
    "Account",
    "Calibration",
    "Compared",
    "Curve",
    "Deployment",
    "Errors",
    "FormatTrade",
    "InputError",
    "Lever",
    "LogFit",
    "LruCurve",
    "Metric",
    "Outcome",
    "Round",
    "SimcoreError",
    "Sizing",
    "StageSize",
    "TenantOutcome",
    "Term",
    "account",
    "build_deployment",
    "build_scenario",
    "calibrate_files",
    "canonical",
    "check_workload",
    "compare_formats",
    "default_capacities",
    "deployment_of",
    "describe",
    "describe_trace",
    "expand_scenario",
    "expected_errors",
    "explain",
    "find_metric",
    "fit_footprint",
    "format_of",
    "levers",
    "list_presets",
    "load_preset",
    "load_scenario",
    "lru_curve",
    "mean_values",
    "measure",
    "metric_values",
    "miss_ratio_curve",
    "named_kv_bytes_per_token",
    "option_names",
    "parse_options",
    "prepare",
    "read_accesses",
    "sees_the_future",
    "simulate",
    "size",
    "static_metrics",
    "tenant_outcomes",
    "trust",
    "validation_cases",
    "working",
    "yaml_dict",
]
