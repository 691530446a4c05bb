"""What the same clients save: one JSON object (vLLM, --save-result), or one a line (sglang.bench_serving)."""

from __future__ import annotations

import json
from typing import Any

from simcore.calibration.logs.bench_text import run_fields
from simcore.calibration.records import Measured, Reading

_KEYS = {
    "requests": ("completed",),
    "concurrency": ("max_concurrency",),
    "input": ("total_input_tokens", "total_input"),
    "output": ("total_output_tokens", "total_output"),
    "ttft_ms": ("mean_ttft_ms",),
    "tpot_ms": ("mean_tpot_ms",),
    "itl_ms": ("mean_itl_ms",),
}
_FAMILIES = {"vllm": "vllm", "openai": None, "sglang": "sglang", "trt": "trtllm", "tensorrt-llm": "trtllm"}


def sniff(text: str) -> bool:
    """Whether the text is JSON with the mean times of a client."""
    return text.lstrip().startswith(("{", "[")) and '"mean_ttft_ms"' in text


def read(text: str, file: str) -> Reading:
    """Every result in the file; entries without mean times are left out."""
    runs = []
    for number, entry in enumerate(_entries(text), 1):
        found = {name: float(v) for name, keys in _KEYS.items() if (v := _first(entry, keys)) is not None}
        fields: dict[str, Any] = dict(run_fields(found))
        family = _FAMILIES.get(str(entry.get("backend") or entry.get("endpoint_type") or "").split("-")[0])
        if family:
            fields["family"] = family
        client = _client(entry)
        if client:
            fields["client"] = client
        if found:
            runs.append(Measured(fields, f"{file}, entry {number}"))
    return Reading(runs=tuple(runs))


def _entries(text: str) -> list[dict[str, Any]]:
    try:
        data = json.loads(text)
        rows = data if isinstance(data, list) else [data]
    except json.JSONDecodeError:
        rows = [json.loads(line) for line in text.splitlines() if line.strip().startswith("{") and line.strip().endswith("}")]
    return [row for row in rows if isinstance(row, dict)]


def _first(entry: dict[str, Any], keys: tuple[str, ...]) -> float | None:
    return next((entry[key] for key in keys if isinstance(entry.get(key), (int, float))), None)


def _client(entry: dict[str, Any]) -> str | None:
    """The client's lengths, where the entry tells: sglang draws between `random_range_ratio` and 1 of them."""
    ratio = entry.get("random_range_ratio")
    if not isinstance(ratio, (int, float)) or not str(entry.get("backend", "")).startswith("sglang"):
        return None
    return "fixed" if ratio >= 1 else "varied" if 0.7 <= ratio <= 0.9 else None
