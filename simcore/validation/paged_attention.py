"""PagedAttention (vLLM): memory of the servers of the study, and how much of it holds tokens with and without pages.

Kwon et al., "Efficient Memory Management for Large Language Model Serving with PagedAttention", SOSP 2023, arXiv 2309.06180.
Table 1: OPT-13B on one A100 of 40 GB, OPT-66B on four, OPT-175B on eight of 80 GB: parameters of 26, 132 and 346 GB; 12, 21 and
264 GB, of 2^30 bytes, left for the KV cache, with room for 15.7K, 9.7K and 60.1K tokens.
Figure 2: share of the KV memory that holds token states, with Orca's contiguous reservations (Max, Pow2, Oracle) 20.4, 26.8 and
38.2 %, with pages 96.3 %. Ours is the mean over the steps that begin with requests waiting, of OPT-13B and unrelated requests
of the study's mean lengths (ShareGPT: 161 and 338 tokens, distribution assumed geometric) at more than the server can take; the
paper does not say at which load its shares were taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from simcore.metrics import metric_values
from simcore.presets import model
from simcore.quantization.weights import weight_bytes
from simcore.roofline.memory import pool
from simcore.scenario import build_scenario, simulate
from simcore.specs.base import validate
from simcore.specs.engine import EngineSpec
from simcore.specs.kv_format import KvFormatSpec
from simcore.units import GIB
from simcore.validation.case import Case, series

SYSTEM = "PagedAttention"
SOURCE = "arXiv 2309.06180 (SOSP 2023), table 1"
FIGURE = "arXiv 2309.06180 (SOSP 2023), figure 2"
TOLERANCE = 0.02
"""The table has two or three digits."""

WEIGHTS_GB = {"opt-13b": 26.0, "opt-66b": 132.0, "opt-175b": 346.0}
POOL_GB = {"opt-13b": 12, "opt-66b": 21, "opt-175b": 264}
SLOTS = {"opt-13b": 15_700.0, "opt-66b": 9_700.0, "opt-175b": 60_100.0}

FIGURE_2 = {"max": 20.4, "pow2": 26.8, "oracle": 38.2, "paged": 96.3}
UNRELATED = {
    "kind": "chat",
    "requests": 1500,
    "tenants": 1500,
    "zipf": 0,
    "system_tokens": 1,
    "user_tokens": "sharegpt-input",
    "output_tokens": "sharegpt-output",
    "turns": 1,
    "max_turns": 1,
    "request_rate": 6,
}


def cases() -> list[Case]:
    return [
        Case(quantity="order by useful KV memory", published=tuple(FIGURE_2), ours=_order, tolerance=0, source=FIGURE),
        *series("useful KV memory", FIGURE_2, _shares, unit="%", tolerance=0.15, source=FIGURE),
        *series("parameters", WEIGHTS_GB, _weights, unit="GB", tolerance=TOLERANCE),
        *series("tokens in the KV memory", SLOTS, _slots, tolerance=TOLERANCE),
    ]


def _weights() -> Mapping[str, float]:
    return {name: weight_bytes(model(name), "f16") / 1e9 for name in WEIGHTS_GB}


def _slots() -> Mapping[str, float]:
    form = validate(KvFormatSpec, "f16")
    return {name: pool(model(name), form, EngineSpec(), gb * GIB).tokens for name, gb in POOL_GB.items()}


@cache
def _shares() -> Mapping[str, float]:
    return {allocation: _share(allocation) for allocation in FIGURE_2}


def _order() -> tuple[str, ...]:
    return tuple(sorted(_shares(), key=lambda allocation: _shares()[allocation]))


def _share(allocation: str) -> float:
    """Percent of the pool that holds tokens; twice the rate that any of the four can take."""
    scenario = build_scenario(
        {
            "family": "kv",
            "model": "opt-13b",
            "gpu": "a100-40",
            "engine": {"allocation": allocation, "max_model_len": 2048, "chunked_prefill": False},
            "kv_format": "f16",
            "tiers": {"hbm": {"capacity": f"{POOL_GB['opt-13b']} GiB"}},
            "workload": UNRELATED,
        }
    )
    share = metric_values(simulate(scenario))["kv_token_share"]
    assert share is not None, "no request ever waited"
    return 100 * share
