"""CPU time of one warm simulation of the Mooncake conversation trace, by number of tiers, interleaved."""

from __future__ import annotations

import statistics
import sys
import time
from typing import Any

import simcore

TIERS: dict[str, dict[str, Any]] = {
    "hbm": {"capacity": "40 GiB"},
    "dram": {"preset": "ddr5-host", "capacity": "256 GiB"},
    "nvme": {"preset": "nvme-gen5", "capacity": "4 TiB", "shared": True},
}


def scenario(trace: str, tiers: int) -> Any:
    """Llama-3.1-8B on four replicas of an H100."""
    return simcore.build_scenario(
        {
            "family": "kv",
            "model": "llama-3.1-8b",
            "gpu": "h100-sxm",
            "replicas": 4,
            "engine": {"max_num_batched_tokens": 8192},
            "tiers": dict(list(TIERS.items())[:tiers]),
            "workload": {"trace": trace},
        }
    )


def main(trace: str, rounds: int = 7) -> None:
    scenarios = {n: scenario(trace, n) for n in (1, 2, 3)}
    seconds: dict[int, list[float]] = {n: [] for n in scenarios}
    for n, built in scenarios.items():
        simcore.measure(built)
        values = simcore.measure(built)
        print(f"{n} tiers: utilisation {values['utilisation']:.2f}, hit ratio {values['hit_ratio']:.3f}")
    for _ in range(rounds):
        for n, built in scenarios.items():
            start = time.process_time()
            simcore.measure(built)
            seconds[n].append(time.process_time() - start)
    for n, measured in seconds.items():
        print(f"{n} tiers: {1000 * statistics.median(measured):.0f} ms CPU (median of {rounds})")


if __name__ == "__main__":
    main(sys.argv[1])
