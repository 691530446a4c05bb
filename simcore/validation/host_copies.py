"""Copies between GPU and host memory: bandwidth by the size of a copy.

* vLLM's post on its offloading connector (vllm.ai, 2026-01-08): about 50 GB/s one way in copies of 2 MiB, H100 on PCIe 5 x16.
* Strata, arXiv 2508.18572: pages of 32 tokens reach 22 % of PCIe 5 x16. One layer's keys of 32 tokens of Llama-3.1-8B make a
  copy of 64 KiB.
* CachedAttention, arXiv 2403.19708: 26 GB/s over PCIe 4 x16 of an A100.
The share of the link and the cost of a copy were fitted to the first two; the third was not used.
"""

from __future__ import annotations

from simcore.presets import gpu
from simcore.roofline.constants import load_constants
from simcore.roofline.transfer import effective_bandwidth, host_link_bandwidth
from simcore.units import KIB, MIB
from simcore.validation.case import Case

SYSTEM = "Host copies"
SOURCE = "vllm.ai blog 2026-01-08; arXiv 2508.18572; arXiv 2403.19708"
FITTED = "the two H100 rows of host copies"


def cases() -> list[Case]:
    return [
        Case(
            quantity="H100, copies of 2 MiB",
            published=50,
            ours=lambda: _reached("h100-sxm", 2 * MIB) / 1e9,
            unit="GB/s",
            tolerance=0.03,
            fitted_on=FITTED,
            source="vllm.ai blog, 2026-01-08",
        ),
        Case(
            quantity="H100, copies of 64 KiB, of the link",
            published=22,
            ours=lambda: 100 * _reached("h100-sxm", 64 * KIB) / gpu("h100-sxm").host_link_bytes_per_s,
            unit="%",
            tolerance=0.10,
            fitted_on=FITTED,
            source="arXiv 2508.18572",
        ),
        Case(
            quantity="A100, large copies",
            published=26,
            ours=lambda: host_link_bandwidth(gpu("a100-80"), load_constants("default")) / 1e9,
            unit="GB/s",
            tolerance=0.05,
            source="arXiv 2403.19708",
        ),
    ]


def _reached(name: str, copy_bytes: int) -> float:
    constants = load_constants("default")
    return effective_bandwidth(copy_bytes, host_link_bandwidth(gpu(name), constants), constants.host_copy_s)
