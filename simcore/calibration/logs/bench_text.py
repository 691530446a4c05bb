"""What `vllm bench serve`, benchmark_serving.py and sglang.bench_serving print at the end of a run.

============ Serving Benchmark Result ============
Successful requests:                     1000
Maximum request concurrency:             64
Total input tokens:                      229711
Mean TTFT (ms):                          9626.13
Mean TPOT (ms):                          77.86
"""

from __future__ import annotations

import re

from simcore.calibration.records import Measured, Reading

_START = re.compile(r"^.*=+ Serving Benchmark Result =+.*$", re.M)
_NUMBERS = {
    "requests": r"Successful requests:\s+(\d+)",
    "concurrency": r"Max(?:imum)? request concurrency:\s+(\d+)",
    "input": r"Total input tokens:\s+(\d+)",
    "output": r"Total generated tokens:\s+(\d+)",
    "ttft_ms": r"Mean TTFT \(ms\):\s+([\d.]+)",
    "tpot_ms": r"Mean TPOT \(ms\):\s+([\d.]+)",
    "itl_ms": r"Mean ITL \(ms\):\s+([\d.]+)",
}


def sniff(text: str) -> bool:
    """Whether the text has the heading of such a result."""
    return _START.search(text) is not None


def read(text: str, file: str) -> Reading:
    """Every result in the text. The older client prints its concurrency above the heading, so the lines before count too."""
    starts = [match.start() for match in _START.finditer(text)]
    ends = [*starts[1:], len(text)]
    runs = []
    for number, (start, end) in enumerate(zip(starts, ends, strict=True), 1):
        block = text[start:end].split("==================================================")[0]
        before = text[ends[number - 2] if number > 1 else 0 : start].splitlines()[-3:]
        found = {name: float(m[1]) for name, pattern in _NUMBERS.items() if (m := re.search(pattern, block))}
        if "concurrency" not in found and (m := re.search(_NUMBERS["concurrency"], "\n".join(before))):
            found["concurrency"] = float(m[1])
        runs.append(Measured(run_fields(found), f"{file}, result {number}"))
    return Reading(runs=tuple(runs))


def run_fields(found: dict[str, float]) -> dict[str, float | int | str]:
    """A run from totals of a client: mean lengths, and how the client went about it as far as its totals tell."""
    fields: dict[str, float | int | str] = {name: found[name] for name in ("ttft_ms", "tpot_ms") if found.get(name)}
    if "tpot_ms" not in fields and found.get("itl_ms"):
        fields["tpot_ms"] = found["itl_ms"]
    requests = found.get("requests")
    if requests:
        for name, key in (("input_tokens", "input"), ("output_tokens", "output")):
            if key in found:
                fields[name] = round(found[key] / requests)
    if found.get("concurrency"):
        fields["concurrency"] = int(found["concurrency"])
    return fields
