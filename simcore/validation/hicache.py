"""SGLang HiCache: hit rate by round of a multi-turn benchmark whose tiers hold everything.

sgl-project/sglang issue 33984: 20 clients, rounds 0 to 8, equal new tokens a round and one token of output; L1, L2 and an SSD
of 2 TB. The logged rates lie on the ceiling. With 4,096 new tokens a round, round k finds 4096 k of its 4096 (k + 1) + k
tokens: answers of one token lengthen the prompts, and no whole block covers them. Ours is what the serving engine finds, over
three tiers.
"""

from __future__ import annotations

from collections.abc import Sequence

from simcore.families._kv_run import serving_setup, trace_of
from simcore.scenario import build_scenario
from simcore.serving.serve import serve
from simcore.validation.case import Case, printed, series

SYSTEM = "SGLang HiCache"
SOURCE = "sgl-project/sglang#33984"
HIT_RATE = (0.0, 0.4999, 0.6666, 0.7499, 0.7998, 0.8332, 0.8570, 0.8748, 0.8887)
TIERS = {
    "hbm": {"capacity": "12 GiB"},
    "dram": {"preset": "ddr5-host", "capacity": "20 GiB"},
    "nvme": {"preset": "nvme-gen5", "capacity": "1 TiB"},
}


def cases() -> list[Case]:
    rounds = {f"round {k}": rate for k, rate in enumerate(HIT_RATE)}
    return series("hit rate of prompt tokens by round", rounds, _by_round, tolerance=printed(4), absolute=True)


def _by_round() -> Sequence[float]:
    scenario = build_scenario(
        {
            "family": "kv",
            "model": "llama-3.1-8b",
            "gpu": "h100-sxm",
            "engine": {"load": "always", "write_backlog": "1000 s"},
            "tiers": TIERS,
            "workload": "multiturn-hicache",
            "reuse": {"recompute_last": False},
        }
    )
    trace = trace_of(scenario)  # type: ignore[arg-type]
    result = serve(trace, serving_setup(scenario, trace))  # type: ignore[arg-type]
    prompt = trace.input_tokens
    rounds = range(len(HIT_RATE))
    return [float(result.hit_tokens[trace.wave == k].sum() / prompt[trace.wave == k].sum()) for k in rounds]
