"""vLLM's metrics as Prometheus text: means over everything the server has served.

A scrape says how long requests took and how long they were, not how they came: `concurrency` and `client` must be said
beside it.
"""

from __future__ import annotations

import re

from simcore.calibration.records import Measured, PoolLine, Reading

_SAMPLE = re.compile(r"^(vllm:[\w:]+)(\{[^}]*\})? ([-+.\deE]+|NaN)", re.M)
_TPOT = ("vllm:request_time_per_output_token_seconds", "vllm:time_per_output_token_seconds", "vllm:inter_token_latency_seconds")


def sniff(text: str) -> bool:
    """Whether the text has samples of vLLM."""
    return _SAMPLE.search(text) is not None


def read(text: str, file: str) -> Reading:
    """One run, of all requests the server has finished; and its pool, where it says it."""
    total: dict[str, float] = {}
    pools = []
    for name, labels, value in _SAMPLE.findall(text):
        total[name] = total.get(name, 0.0) + float(value)
        if name == "vllm:cache_config_info":
            said = {key: int(number) for key, number in re.findall(r'(num_gpu_blocks|block_size)="(\d+)"', labels)}
            pools.append(PoolLine(blocks=said.get("num_gpu_blocks"), block_tokens=said.get("block_size")))
    requests = total.get("vllm:time_to_first_token_seconds_count", 0.0)
    if not requests:
        return Reading(pools=tuple(pools), notes=(f"{file}: no finished requests, so no latencies",))
    fields = {"family": "vllm", "ttft_ms": 1e3 * total["vllm:time_to_first_token_seconds_sum"] / requests}
    for name, key in (("input_tokens", "vllm:prompt_tokens_total"), ("output_tokens", "vllm:generation_tokens_total")):
        if key in total:
            fields[name] = round(total[key] / requests)
    for name in _TPOT:
        if total.get(f"{name}_count"):
            fields["tpot_ms"] = 1e3 * total[f"{name}_sum"] / total[f"{name}_count"]
            break
    return Reading(runs=(Measured(fields, file),), pools=tuple(pools))
