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
from collections.abc import Mapping
from typing import Any

from simcore.calibration.checks import field, number
from simcore.calibration.records import Measured, Reading

_START = re.compile(r"^.*=+ Serving Benchmark Result =+.*$", re.M)
_NUMBERS = {
    "requests": r"(Successful requests):[ \t]*(\S*)",
    "concurrency": r"(Max(?:imum)? request concurrency):[ \t]*(\S*)",
    "input": r"(Total input tokens):[ \t]*(\S*)",
    "output": r"(Total generated tokens):[ \t]*(\S*)",
    "ttft_ms": r"(Mean TTFT \(ms\)):[ \t]*(\S*)",
    "tpot_ms": r"(Mean TPOT \(ms\)):[ \t]*(\S*)",
    "itl_ms": r"(Mean ITL \(ms\)):[ \t]*(\S*)",
}
_UNLIMITED = ("None", "not", "inf")
"""How the clients print that there was no limit to the requests in flight."""


def sniff(text: str) -> bool:
    """Whether the text has the heading of such a result."""
    return _START.search(text) is not None


def read(text: str, file: str) -> Reading:
    """Every result in the text. The older client prints its concurrency above the heading, so the lines before count too."""
    starts = [match.start() for match in _START.finditer(text)]
    ends = [*starts[1:], len(text)]
    runs = []
    for place, (start, end) in enumerate(zip(starts, ends, strict=True), 1):
        block = text[start:end].split("==================================================")[0]
        before = text[ends[place - 2] if place > 1 else 0 : start].splitlines()[-3:]
        found = {name: (m[1], m[2]) for name, pattern in _NUMBERS.items() if (m := re.search(pattern, block))}
        if "concurrency" not in found and (m := re.search(_NUMBERS["concurrency"], "\n".join(before))):
            found["concurrency"] = (m[1], m[2])
        if found.get("concurrency", ("", ""))[1] in _UNLIMITED:
            del found["concurrency"]
        runs.append(Measured(run_fields(found, file, f"result {place}"), f"{file}, result {place}"))
    return Reading(runs=tuple(runs))


def run_fields(found: Mapping[str, tuple[str, Any]], file: str, place: str) -> dict[str, Any]:
    """A run from totals of a client: mean lengths and times, and the requests in flight.

    Args:
        found: what the file calls a number and the number as it stands there, by the names of `_NUMBERS`.
        place: which of the file's results, for messages.

    Raises:
        InputError: a number that no run can have.
    """
    fields: dict[str, Any] = {}
    for name in ("concurrency", "ttft_ms", "tpot_ms"):
        label, value = found[name] if name in found else found.get("itl_ms", ("", None)) if name == "tpot_ms" else ("", None)
        if value is not None:
            fields[name] = field(name, value, file=file, path=f"{place}: {label}")
    if "requests" in found:
        requests = field("requests", found["requests"][1], file=file, path=f"{place}: {found['requests'][0]}")
        for name, key in (("input_tokens", "input"), ("output_tokens", "output")):
            if key in found:
                label, value = found[key]
                mean = round(number(value, file=file, path=f"{place}: {label}") / requests)
                fields[name] = field(name, mean, file=file, path=f"{place}: {label} per request")
    return fields
