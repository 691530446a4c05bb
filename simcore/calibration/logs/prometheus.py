"""vLLM's metrics as Prometheus text: means over everything the server has served.

A scrape says how long requests took and how long they were, not how they came: `concurrency` and `client` must be said
beside it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from simcore.calibration.checks import field, number, total
from simcore.calibration.records import Measured, PoolLine, Reading
from simcore.errors import InputError

_SAMPLE = re.compile(r"^(vllm:[\w:]+)(\{[^}]*\})? (\S+)", re.M)
_TTFT = "vllm:time_to_first_token_seconds"
_LENGTHS = (("input_tokens", "vllm:prompt_tokens_total"), ("output_tokens", "vllm:generation_tokens_total"))
_TPOT = ("vllm:request_time_per_output_token_seconds", "vllm:time_per_output_token_seconds", "vllm:inter_token_latency_seconds")


def sniff(text: str) -> bool:
    """Whether the text has samples of vLLM."""
    return _SAMPLE.search(text) is not None


def read(text: str, file: str) -> Reading:
    """One run, of all requests the server has finished; and its pool, where it says it.

    Raises:
        InputError: a counter that is no number or not above 0, or a count without its sum.
    """
    counters: dict[str, float] = {}
    pools = []
    used = {f"{name}_{part}" for name in (_TTFT, *_TPOT) for part in ("count", "sum")} | {key for _, key in _LENGTHS}
    for name, labels, value in _SAMPLE.findall(text):
        if name in used:
            counters[name] = counters.get(name, 0.0) + total(value, file=file, path=name)
        if name == "vllm:cache_config_info":
            found = re.findall(r'(num_gpu_blocks|block_size)="(\d+)"', labels)
            said = {key: int(number(value, file=file, path=f"{name}: {key}")) for key, value in found}
            pools.append(PoolLine(blocks=said.get("num_gpu_blocks"), block_tokens=said.get("block_size")))
    requests = counters.get(f"{_TTFT}_count", 0.0)
    if not requests:
        return Reading(pools=tuple(pools), notes=(f"{file}: no finished requests, so no latencies",))
    fields = {"family": "vllm", "ttft_ms": _mean_ms("ttft_ms", _TTFT, counters, file)}
    for name, key in _LENGTHS:
        if key in counters:
            fields[name] = field(name, round(counters[key] / requests), file=file, path=f"{key} per request")
    for name in _TPOT:
        if counters.get(f"{name}_count"):
            fields["tpot_ms"] = _mean_ms("tpot_ms", name, counters, file)
            break
    return Reading(runs=(Measured(fields, file),), pools=tuple(pools))


def _mean_ms(name: str, metric: str, counters: Mapping[str, float], file: str) -> float:
    if f"{metric}_sum" not in counters:
        hint = "the scrape may have been cut"
        raise InputError("is missing, though the count is there", file=file, path=f"{metric}_sum", hint=hint)
    return field(name, 1e3 * counters[f"{metric}_sum"] / counters[f"{metric}_count"], file=file, path=f"mean {metric}")
