"""Simulate the rows of a table of measured latencies and print the errors by pair of GPU and engine."""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

import simcore.presets as presets
from simcore.quantization.weights import weight_bytes
from simcore.roofline.constants import Constants, load_constants
from simcore.roofline.memory import activation_bytes, pool, runtime_reserve_bytes, usable_bytes
from simcore.roofline.step_time import step_costs
from simcore.serving.serve import serve
from simcore.serving.setup import ServingSetup
from simcore.specs.engine import EngineSpec
from simcore.specs.kv_format import KvFormatSpec, KvPair
from simcore.traces.trace import Trace

MODELS = {"Llama-3.1-70B": "llama-3.1-70b", "Qwen3-32B": "qwen3-32b", "Llama-3.1-8B": "llama-3.1-8b"}
FITTED = {  # (system, backend, version) -> constants fitted to these rows, KV format of the deployment as chosen by the fit
    ("h100_sxm", "vllm", ""): ("h100-sxm-vllm", "bf16"),
    ("h100_sxm", "vllm", "0.12.0"): ("h100-sxm-vllm-0.12", "bf16"),
    ("h100_sxm", "sglang", "0.5.1.post1"): ("h100-sxm-sglang", "bf16"),
    ("h200_sxm", "vllm", ""): ("h200-vllm", "fp8_e4m3"),
    ("h200_sxm", "trtllm", ""): ("h200-trtllm", "fp8_e4m3"),
    ("b200_sxm", "vllm", ""): ("b200-vllm", "fp8_e4m3"),
    ("b200_sxm", "trtllm", ""): ("b200-trtllm", "fp8_e4m3"),
}
UNSEEN = {  # rows of another model or GPU than the constants were fitted to
    ("h100_sxm", "vllm", "0.12.0"): ("h100-sxm-vllm", "bf16"),
    ("h200_sxm", "vllm", "0.12.0"): ("h200-vllm", "fp8_e4m3"),
    ("h100_sxm", "vllm", ""): ("h200-vllm", "bf16"),
    ("h200_sxm", "vllm", ""): ("h100-sxm-vllm", "fp8_e4m3"),
}
GPUS = {"h100_sxm": "h100-sxm", "h200_sxm": "h200", "b200_sxm": "b200"}
WEIGHTS = {"": "bf16", "fp8": "fp8", "nvfp4": "nvfp4"}
BUDGET = 8192
FIXED_LENGTHS = {"h100-sxm-sglang"}


def closed_loop(isl: int, osl: int, clients: int, shortest: float) -> Trace:
    """10 requests a client, lengths uniform between `shortest` and 1 times the stated ones."""
    n = 10 * clients
    rng = np.random.default_rng(0)
    lengths = [np.ceil(size * (shortest + (1 - shortest) * rng.random(n))).astype(int) for size in (isl, osl)]
    granules = -(-lengths[0] // 512)  # prompts share nothing: every granule has an id of its own
    start = np.concatenate(([0], np.cumsum(granules)))
    return Trace.of(np.zeros(n), lengths[0], np.maximum(lengths[1], 2), (start, np.arange(start[-1])), 512)


def simulated(row: dict[str, str], constants: Constants, kv: str) -> tuple[float, float]:
    """Mean (TTFT, TPOT) in milliseconds."""
    model = presets.model(MODELS[next(m for m in MODELS if m in row["model_path"])])
    gpu = presets.gpu(GPUS[row["system"]], count=int(row["tp_size"]))
    clients = int(row["batch_size"])
    engine = EngineSpec(max_num_seqs=max(clients, 1), max_num_batched_tokens=max(BUDGET, clients), gpu_memory_utilization=0.9)
    weights = WEIGHTS[row["gemm_quant_mode"]]
    fmt = KvFormatSpec(default=KvPair(k=kv, v=kv))
    reserve = weight_bytes(model, weights) // gpu.count + activation_bytes(model, engine, gpu.count)
    room = usable_bytes(gpu, engine) - reserve - runtime_reserve_bytes(gpu.count)
    trace = closed_loop(int(row["isl"]), int(row["osl"]), clients, 1.0 if constants.preset in FIXED_LENGTHS else 0.8)
    result = serve(
        trace,
        ServingSetup(
            pool_pages=pool(model, fmt, engine, room, gpu.count).blocks,
            page_tokens=16,
            unit_tokens=512,
            costs=step_costs(model, gpu, fmt, weights, engine.max_num_batched_tokens, constants),
            max_num_seqs=engine.max_num_seqs,
            max_num_batched_tokens=engine.max_num_batched_tokens,
            arrivals="closed",
            concurrency=clients,
            output_reuse=False,
        ),
    )
    ttft = result.first_token_s - result.arrival_s
    tpot = (result.finish_s - result.first_token_s) / (trace.output_tokens - 1)
    return 1e3 * float(np.nanmean(ttft)), 1e3 * float(np.nanmean(tpot))


def rows(path: str, sets: dict[tuple[str, str, str], tuple[str, str]]) -> Iterator[tuple[str, dict[str, str], str]]:
    """(name of constants, row, KV format) of every distinct configuration that can be simulated."""
    seen = set()
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            key = tuple(v for k, v in row.items() if k not in ("id", "silicon_ttft_ms", "silicon_tpot_ms"))
            pair = sets.get((row["system"], row["backend"], row["backend_version"]))
            dense = any(m in row["model_path"] for m in MODELS) and row["pp_size"] == "1" and row["gemm_quant_mode"] in WEIGHTS
            if pair and dense and key not in seen:
                seen.add(key)
                yield pair[0], row, pair[1]


def table(path: str, sets: dict[tuple[str, str, str], tuple[str, str]]) -> None:
    errors: dict[tuple[str, ...], list[tuple[float, float]]] = defaultdict(list)
    for name, row, kv in rows(path, sets):
        ttft, tpot = simulated(row, load_constants(name), kv)
        where = (name, next(m for m in MODELS if m in row["model_path"]), GPUS[row["system"]])
        errors[where].append((ttft / float(row["silicon_ttft_ms"]) - 1, tpot / float(row["silicon_tpot_ms"]) - 1))
    print("| constants | model | GPU | rows | TTFT median | TTFT mean | TPOT median | TPOT mean |")
    print("|---|---|---|---|---|---|---|---|")
    for where, pairs in sorted(errors.items()):
        e = 100 * np.abs(np.array(pairs))
        cells = [*where, str(len(pairs)), *(f"{x:.0f}" for q in (0, 1) for x in (np.median(e[:, q]), e[:, q].mean()))]
        print("| " + " | ".join(cells) + " |")


def main(path: str) -> None:
    print("Rows the constants were fitted to\n")
    table(path, FITTED)
    print("\nRows of another model or GPU\n")
    table(path, UNSEEN)


if __name__ == "__main__":
    main(sys.argv[1])
