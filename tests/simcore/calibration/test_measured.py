"""The shipped constants against a part of the table they were fitted to (experiments/05_calibration has all of it)."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

import numpy as np

from simcore.calibration.runs import Deployment, Run, predict
from simcore.presets import gpu, model
from simcore.roofline.constants import match_constants
from simcore.specs.parallel import ParallelSpec

SETS = {  # (system, backend) of Llama-3.1-70B -> GPU, KV format of the deployment as the calibration chose it
    ("h100_sxm", "vllm"): ("h100-sxm", "bf16"),
    ("h200_sxm", "vllm"): ("h200", "fp8_e4m3"),
    ("b200_sxm", "vllm"): ("b200", "fp8_e4m3"),
}


def test_llama_70b_at_moderate_concurrency(shared: Path) -> None:
    """Medians over each group: TPOT within 10 %, TTFT within 20 %, with the clients of those runs."""
    errors: dict[str, list[tuple[float, float]]] = defaultdict(list)
    with (shared / "silicon" / "calibration.csv").open() as table:
        for row in csv.DictReader(table):
            found = SETS.get((row["system"], row["backend"]))
            clients = int(row["batch_size"])
            if found is None or "Llama-3.1-70B" not in row["model_path"] or clients > 32 or row["isl"] != "1024":
                continue
            on = ParallelSpec(tp=int(row["tp_size"]))
            card = gpu(found[0], count=on.gpus)
            run = Run(
                model=model("llama-3.1-70b"), gpu=card, parallel=on, weight_format=row["gemm_quant_mode"],
                input_tokens=1024, output_tokens=int(row["osl"]), family="vllm", concurrency=clients,
                ttft_s=float(row["silicon_ttft_ms"]) / 1e3, tpot_s=float(row["silicon_tpot_ms"]) / 1e3,
            )  # fmt: skip
            match = match_constants(card, "vllm", run.model)
            assert match.kind == "calibrated"
            ttft, tpot = predict(run, Deployment(client="varied", kv_format=found[1]), match.constants)
            errors[found[0]].append((ttft / (run.ttft_s or 1) - 1, tpot / (run.tpot_s or 1) - 1))
    assert len(errors) == 3
    for name, pairs in errors.items():
        ttft, tpot = np.median(np.abs(np.array(pairs)), axis=0)
        assert len(pairs) >= 10 and ttft < 0.20 and tpot < 0.10, name
