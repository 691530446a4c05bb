"""Rows of the public table of measured latencies as runs in groups, duplicates dropped."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from typing import NamedTuple

import simcore.presets as presets
from simcore.calibration.runs import Run
from simcore.specs.parallel import ParallelSpec

MODELS = {
    "Llama-3.1-70B": "llama-3.1-70b", "Llama-3.1-8B": "llama-3.1-8b", "Qwen3-32B": "qwen3-32b",
    "Qwen3-235B": "qwen3-235b-a22b", "gpt-oss-120b": "gpt-oss-120b", "MiniMax-M2.5": "minimax-m2.5",
    "Kimi-K2.5": "kimi-k2.5", "Qwen3.5-397B": "qwen3.5-397b-a17b", "DeepSeek": "deepseek-r1", "GLM-5": "glm-5",
}  # fmt: skip
GPUS = {"h100_sxm": "h100-sxm", "h200_sxm": "h200", "b200_sxm": "b200", "b300_sxm": "b300", "gb200": "gb200"}
DENSE = {"llama-3.1-70b", "llama-3.1-8b", "qwen3-32b"}
WEIGHTS = {"": "bf16", "fp8": "fp8", "fp8_block": "fp8", "nvfp4": "nvfp4", "int4_wo": "int4_experts"}
OWN_ROWS, OWN_CELLS, LEAST_ROWS = 15, 3, 8


class Unit(NamedTuple):
    """Rows that one set of constants is fitted to: a model on a GPU under an engine, of one version if it has enough rows."""

    model: str
    gpu: str
    family: str
    version: str

    @property
    def group(self) -> tuple[str, str, str]:
        return self.model, self.gpu, self.family


def read(path: str) -> dict[Unit, list[Run]]:
    """The distinct runs of the table by unit, each unit in the same order in every process."""
    units: dict[Unit, list[Run]] = defaultdict(list)
    seen = set()
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            run = _run(row)
            unit = Unit(run.model.preset or "", run.gpu.preset or "", run.family, row["backend_version"] or "unnamed")
            on = run.parallel
            values = f"{run.ttft_s:.2g} {run.tpot_s:.2g}"
            key = (unit.group, run.weight_format, run.cell, run.concurrency, on.dp, on.ep, values)
            if key not in seen:
                seen.add(key)
                units[unit].append(run)
    joined = _joined(units)
    return {unit: sorted(joined[unit], key=lambda r: (r.cell, r.weight_format, r.concurrency)) for unit in sorted(joined)}


def _joined(units: dict[Unit, list[Run]]) -> dict[Unit, list[Run]]:
    """Versions with few rows or few cells put together within their group."""
    groups: dict[tuple[str, str, str], list[Unit]] = defaultdict(list)
    for unit in units:
        groups[unit.group].append(unit)
    found: dict[Unit, list[Run]] = {}
    for members in groups.values():
        large = [u for u in members if len(units[u]) >= OWN_ROWS and len({r.cell for r in units[u]}) >= OWN_CELLS]
        small = sorted(u for u in members if u not in large)
        for unit in large:
            found[unit] = list(units[unit])
        rest = [run for unit in small for run in units[unit]]
        if not rest:
            continue
        if large and (len(rest) < LEAST_ROWS or len({r.cell for r in rest}) < 2):
            found[max(large, key=lambda u: len(units[u]))] += rest
        else:
            found[small[0]._replace(version="+".join(u.version for u in small))] = rest
    return found


def _run(row: dict[str, str]) -> Run:
    name = next(preset for part, preset in MODELS.items() if part in row["model_path"])
    weights = WEIGHTS[row["gemm_quant_mode"]]
    if name == "gpt-oss-120b":
        weights = "mxfp4"
    elif weights == "nvfp4" and name not in DENSE:
        weights = "nvfp4_experts"
    on = _parallel(row)
    clients = re.search(r"_c(\d+)_", row["id"])  # the column divides the clients by attention copies
    return Run(
        model=presets.model(name),
        gpu=presets.gpu(GPUS[row["system"]], count=on.gpus),
        parallel=on,
        weight_format=weights,
        input_tokens=int(row["isl"]),
        output_tokens=int(row["osl"]),
        family=row["backend"],
        concurrency=int(clients[1] if clients else row["batch_size"]),
        ttft_s=float(row["silicon_ttft_ms"]) / 1e3,
        tpot_s=float(row["silicon_tpot_ms"]) / 1e3,
    )


def _parallel(row: dict[str, str]) -> ParallelSpec:
    """The layout: some rows give degrees of the whole node and products of them (tp 64 for 8 GPUs with moe 8 x 8)."""
    tp, dp, mtp, mep = (int(row[k] or 1) or 1 for k in ("tp_size", "attention_dp_size", "moe_tp_size", "moe_ep_size"))
    if mtp == mep > 1 and tp * dp == mtp * mep and mtp * mep in (16, 64):
        return ParallelSpec(tp=1 if dp > 1 else mtp, dp=mtp if dp > 1 else 1, ep=True)
    if dp == tp > 1 and mep == tp * dp:
        return ParallelSpec(tp=tp, ep=True)
    gpus = max(tp * dp, mtp * mep)
    return ParallelSpec(tp=tp, dp=gpus // tp, ep=mep > 1)
