"""PagedAttention (vLLM): memory of the servers of the study.

Kwon et al., "Efficient Memory Management for Large Language Model Serving with PagedAttention", SOSP 2023, arXiv 2309.06180.
Table 1: OPT-13B on one A100 of 40 GB, OPT-66B on four, OPT-175B on eight of 80 GB: parameters of 26, 132 and 346 GB; 12, 21 and
264 GB, of 2^30 bytes, left for the KV cache, with room for 15.7K, 9.7K and 60.1K tokens.
"""

from __future__ import annotations

from collections.abc import Mapping

from simcore.presets import model
from simcore.quantization.weights import weight_bytes
from simcore.roofline.memory import pool
from simcore.specs.base import validate
from simcore.specs.engine import EngineSpec
from simcore.specs.kv_format import KvFormatSpec
from simcore.units import GIB
from simcore.validation.case import Case, series

SYSTEM = "PagedAttention"
SOURCE = "arXiv 2309.06180 (SOSP 2023), table 1"
TOLERANCE = 0.02
"""The table has two or three digits."""

WEIGHTS_GB = {"opt-13b": 26.0, "opt-66b": 132.0, "opt-175b": 346.0}
POOL_GB = {"opt-13b": 12, "opt-66b": 21, "opt-175b": 264}
SLOTS = {"opt-13b": 15_700.0, "opt-66b": 9_700.0, "opt-175b": 60_100.0}


def cases() -> list[Case]:
    return [
        *series("parameters", WEIGHTS_GB, _weights, unit="GB", tolerance=TOLERANCE),
        *series("tokens in the KV memory", SLOTS, _slots, tolerance=TOLERANCE),
    ]


def _weights() -> Mapping[str, float]:
    return {name: weight_bytes(model(name), "f16") / 1e9 for name in WEIGHTS_GB}


def _slots() -> Mapping[str, float]:
    form = validate(KvFormatSpec, "f16")
    return {name: pool(model(name), form, EngineSpec(), gb * GIB).tokens for name, gb in POOL_GB.items()}
