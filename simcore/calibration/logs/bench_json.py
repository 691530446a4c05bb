"""What the same clients save: one JSON object (vLLM, --save-result), or one a line (sglang.bench_serving)."""

from __future__ import annotations

import json
from typing import Any

from simcore.calibration.checks import total
from simcore.calibration.logs.bench_text import run_fields
from simcore.calibration.records import Measured, Reading
from simcore.errors import InputError

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
    """Every result in the file; entries without any of the client's numbers are left out.

    Raises:
        InputError: a line that is cut or no JSON, or a number that no run can have.
    """
    runs = []
    for number, entry in enumerate(_entries(text, file), 1):
        found = {name: v for name, keys in _KEYS.items() if (v := _first(entry, keys)) is not None}
        fields = run_fields(found, file, f"entry {number}")
        family = _FAMILIES.get(str(entry.get("backend") or entry.get("endpoint_type") or "").split("-")[0])
        if family:
            fields["family"] = family
        client = _client(entry, file, number)
        if client:
            fields["client"] = client
        if found:
            runs.append(Measured(fields, f"{file}, entry {number}"))
    return Reading(runs=tuple(runs))


def _entries(text: str, file: str) -> list[dict[str, Any]]:
    try:
        data = json.loads(text)
        rows = data if isinstance(data, list) else [data]
    except json.JSONDecodeError:
        lines = [(k, line) for k, line in enumerate(text.splitlines(), 1) if line.strip().startswith("{")]
        rows = [_object(line, file, k) for k, line in lines]
    return [row for row in rows if isinstance(row, dict)]


def _object(line: str, file: str, number: int) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        hint = "the file may have been cut while it was written"
        raise InputError(f"is not JSON: {error.msg}", file=file, line=number, hint=hint) from None


def _first(entry: dict[str, Any], keys: tuple[str, ...]) -> tuple[str, Any] | None:
    return next(((key, entry[key]) for key in keys if entry.get(key) is not None), None)


def _client(entry: dict[str, Any], file: str, number: int) -> str | None:
    """The client's lengths, where the entry tells: sglang draws between `random_range_ratio` and 1 of them."""
    ratio = entry.get("random_range_ratio")
    if ratio is None or not str(entry.get("backend", "")).startswith("sglang"):
        return None
    ratio = total(ratio, file=file, path=f"entry {number}: random_range_ratio")
    return "fixed" if ratio >= 1 else "varied" if 0.7 <= ratio <= 0.9 else None
