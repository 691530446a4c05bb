"""Small scenarios to vary in tests."""

from __future__ import annotations

import copy
from typing import Any

import simcore

BASE: dict[str, Any] = {
    "family": "kv",
    "model": "llama-3.1-8b",
    "gpu": "h100-sxm",
    "replicas": 2,
    "engine": {"max_num_seqs": 32},
    "tiers": {
        "hbm": {"capacity": "6 GiB"},
        "dram": {"preset": "ddr5-host", "capacity": "6 GiB"},
        "cxl": {"preset": "cxl2-x8", "capacity": "24 GiB", "placement": "inclusive"},
    },
    "workload": {"kind": "chat", "request_rate": 4, "requests": 300, "tenants": 8, "system_tokens": 1024, "turns": 6},
    "slo": {"ttft": "500 ms", "tpot": "30 ms"},
}


def with_paths(changes: dict[str, Any], base: dict[str, Any] = BASE) -> dict[str, Any]:
    """`base` with dotted paths set (None removes)."""
    data = copy.deepcopy(base)
    for path, value in changes.items():
        data = simcore.expand_scenario(data)
        *parents, last = path.split(".")
        place = data
        for key in parents:
            place = place.setdefault(key, {})
        if value is None:
            place.pop(last, None)
        else:
            place[last] = value
    return data


def measured(changes: dict[str, Any], base: dict[str, Any] = BASE) -> dict[str, float | None]:
    """Metrics of `base` with changes."""
    return simcore.measure(simcore.build_scenario(with_paths(changes, base)))
