"""KV caches of LLM serving: replicas of an engine over an HBM pool and any list of lower tiers.

The parts: `_kv_scenario` what a user may write, `_kv_static` closed forms, `_kv_run` simulation through the serving engine,
`_kv_canonical` equality of designs, `_kv_text` words, `_kv_account` why a run is as fast as it is.
"""

from simcore.families._kv_account import account
from simcore.families._kv_canonical import canonical
from simcore.families._kv_run import check_workload, prepare, simulate
from simcore.families._kv_scenario import Scenario
from simcore.families._kv_static import static_metrics
from simcore.families._kv_text import describe, expected_errors, explain, trust

__all__ = [
    "Scenario",
    "account",
    "canonical",
    "check_workload",
    "describe",
    "expected_errors",
    "explain",
    "prepare",
    "simulate",
    "static_metrics",
    "trust",
]
