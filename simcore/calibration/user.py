"""A user's own measurements: read, fitted, written as a file of constants."""

from __future__ import annotations

import csv
import datetime
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import simcore.calibration.logs as logs
import simcore.presets as presets
from simcore.calibration.choose import choose
from simcore.calibration.cross import Fitted, calibrate, medians
from simcore.calibration.fit import NAMES, active
from simcore.calibration.records import Measured, PoolLine, Reading, Transfer
from simcore.calibration.runs import CLIENTS, Deployment, Run
from simcore.calibration.transfers import Link, fit_link
from simcore.errors import InputError, did_you_mean
from simcore.plugins import find, names
from simcore.quantization.kv_bytes import kv_bytes_per_token_per_gpu
from simcore.roofline.constants import DEFAULT, FAMILIES, Constants, load_constants
from simcore.specs.gpu import GpuSpec
from simcore.specs.kv_format import KvFormatSpec, KvPair
from simcore.specs.model import ModelSpec
from simcore.specs.parallel import ParallelSpec
from simcore.yamlio import read_text

LEAST_RUNS = 4
USUAL = {"family": "vllm", "kv_format": "bf16"}
"""What a row without these cells is taken to say."""
CHOOSE = "choose"
NEEDED = ("model", "gpu", "client", "input_tokens", "output_tokens", "concurrency")
HINTS = {
    "client": f"how the clients went about it, {', '.join(CLIENTS)} or {CHOOSE} (whichever explains the times best): TTFT "
    "depends on it more than on anything else",
    "concurrency": "requests in flight; an open loop cannot be fitted without its arrival times",
}


@dataclass(frozen=True, eq=False)
class Calibration:
    """What came out of a user's files; parts the files say nothing about are None or empty.

    Attributes:
        fitted: step-time constants with their errors.
        deployment: what was assumed of client and server.
        cross_validated: whether `fitted.unseen` are errors on runs left out.
        link, gpu: the host link, and the GPU it belongs to.
        pools: (what the engine said, tokens by our arithmetic or None).
        text: the file of constants; empty where nothing was fitted.
        notes: what the reader should know.
    """

    fitted: Fitted | None
    cross_validated: bool
    link: Link | None
    gpu: GpuSpec | None
    pools: tuple[tuple[PoolLine, float | None], ...]
    text: str
    notes: tuple[str, ...] = field(default=())

    @property
    def faults(self) -> list[str]:
        """Why the constants should not be used, as the file says too."""
        return [] if self.fitted is None else _shown_faults(self.fitted, self.cross_validated)


def calibrate_files(files: Sequence[str | Path], said: Mapping[str, Any]) -> Calibration:
    """Fit what the files allow.

    Args:
        files: tables, logs, metrics and results in any of the formats of `simcore.calibration.logs`.
        said: values of `records.FIELDS` for what the files leave out; they do not override a file.

    Raises:
        InputError: a file is in no known format, or says too little for a fit; the message says what is missing.
    """
    readings = [_read(Path(file)) for file in files]
    runs = [run for reading in readings for run in reading.runs]
    transfers = [transfer for reading in readings for transfer in reading.transfers]
    pools = [pool for reading in readings for pool in reading.pools]
    notes = [note for reading in readings for note in reading.notes]
    fitted = _fit_runs(runs, said, notes) if runs else None
    gpu = fitted.runs[0].gpu if fitted else _gpu(said) if transfers or pools else None
    if transfers and gpu is None:
        raise InputError(
            "does not say the GPU, whose host link bounds what a transfer can reach", path="gpu", hint="give --gpu"
        )
    link = fit_link(transfers, gpu.host_link_bytes_per_s) if transfers and gpu else None
    if fitted is None and link is None and not pools:
        raise InputError("nothing to fit: no runs, transfers or pools in these files", path="FILE")
    validated = fitted is not None and _can_validate(fitted.runs)
    text = constants_text(fitted, link, said, files, validated) if fitted or link else ""
    return Calibration(fitted, validated, link, gpu, _checked(pools, said), text, tuple(notes))


def _read(path: Path) -> Reading:
    text, known = read_text(path), names(logs.__name__)
    for name in known:
        module = find(logs.__name__, name, ("sniff", "read"))
        if module.sniff(text):
            return _reading(module, text, str(path), name)
    raise InputError("is in no known format of measurements", file=str(path), hint=f"known: {', '.join(known)}")


def _reading(module: ModuleType, text: str, file: str, name: str) -> Reading:
    """What a format's module reads; whatever else it stumbles over is the file's fault as well."""
    try:
        reading: Reading = module.read(text, file)
    except InputError:
        raise
    except (ValueError, ArithmeticError, LookupError, TypeError, csv.Error, RecursionError) as error:
        raise InputError(f"cannot be read as {name}: {error or type(error).__name__}", file=file) from None
    return reading


def _fit_runs(measured: Sequence[Measured], said: Mapping[str, Any], notes: list[str]) -> Fitted:
    rows = [(m, {**{k: v for k, v in said.items() if v is not None}, **m.fields}) for m in measured]
    for m, row in rows:
        missing = [name for name in NEEDED if name not in row]
        if missing:
            hint = "; ".join(
                f"{name}: {HINTS.get(name, 'give --' + name.replace('_', '-') + ' or a column')}" for name in missing
            )
            raise InputError(f"does not say {', '.join(missing)}", path=m.where, hint=hint)
        if "ttft_ms" not in row and "tpot_ms" not in row:
            raise InputError("has neither ttft_ms nor tpot_ms", path=m.where)
    together = {
        name: {str(row.get(name, USUAL.get(name, ""))) for _, row in rows}
        for name in ("gpu", "family", "model", "client", "kv_format")
    }
    for name, values in together.items():
        if len(values) > 1:
            hint = "one set of constants is for one; calibrate them one after another"
            raise InputError(f"differs between runs: {', '.join(sorted(values))}", path=name, hint=hint)
    runs = [_run(m, row) for m, row in rows]
    if len(runs) < LEAST_RUNS or len({(r.cell, r.concurrency) for r in runs}) < LEAST_RUNS:
        rule = f"needs at least {LEAST_RUNS} runs that differ in lengths, parallelism or concurrency"
        raise InputError(
            rule, path="runs", value=len(runs), hint="a sweep of concurrency from 1 to 64 tells the constants apart"
        )
    client = rows[0][1]["client"]
    deployment = Deployment(
        client=CLIENTS[0] if client == CHOOSE else client, kv_format=rows[0][1].get("kv_format", USUAL["kv_format"])
    )
    if client == CHOOSE:
        deployment = choose(runs, load_constants(DEFAULT), {"client": CLIENTS}, deployment)
        notes.append(f"client not stated: {deployment.client} explains the times best")
    return calibrate(runs, deployment, load_constants(DEFAULT))


def _run(m: Measured, row: Mapping[str, Any]) -> Run:
    parallel = ParallelSpec(**{name: row[name] for name in ("tp", "pp", "dp", "ep") if name in row})
    family, client = row.get("family", USUAL["family"]), row["client"]
    if family not in FAMILIES:
        raise InputError("unknown engine family", path=f"{m.where}: family", value=family, hint=did_you_mean(family, FAMILIES))
    if client not in (*CLIENTS, CHOOSE):
        hint = f"one of: {', '.join((*CLIENTS, CHOOSE))}"
        raise InputError("unknown pattern of clients", path=f"{m.where}: client", value=client, hint=hint)
    if row["output_tokens"] < 2:
        raise InputError("must be at least 2: one token has no time per token", path=f"{m.where}: output_tokens")
    model = presets.model(row["model"])
    return Run(
        model=model,
        gpu=presets.gpu(row["gpu"], count=parallel.gpus),
        parallel=parallel,
        weight_format=row.get("weight_format", model.dtype),
        input_tokens=row["input_tokens"],
        output_tokens=row["output_tokens"],
        family=family,
        concurrency=row["concurrency"],
        ttft_s=row["ttft_ms"] / 1e3 if "ttft_ms" in row else None,
        tpot_s=row["tpot_ms"] / 1e3 if "tpot_ms" in row else None,
    )


def _gpu(said: Mapping[str, Any]) -> GpuSpec | None:
    return presets.gpu(said["gpu"]) if said.get("gpu") else None


def _checked(pools: Sequence[PoolLine], said: Mapping[str, Any]) -> tuple[tuple[PoolLine, float | None], ...]:
    """Each pool with the tokens its bytes hold by our arithmetic, where the model is known."""
    found = []
    for pool in pools:
        ours = None
        if pool.available_bytes and said.get("model"):
            name = said.get("kv_format") or "bf16"
            kv_format = KvFormatSpec(default=KvPair(k=name, v=name))
            ours = pool.available_bytes / kv_bytes_per_token_per_gpu(
                presets.model(said["model"]), kv_format, said.get("tp") or 1
            )
        found.append((pool, ours))
    return tuple(found)


def _can_validate(runs: Sequence[Run]) -> bool:
    return len({run.cell for run in runs}) >= 3 and len(runs) >= 8


def constants_text(
    fitted: Fitted | None, link: Link | None, said: Mapping[str, Any], files: Sequence[str | Path], validated: bool
) -> str:
    """A file of constants that `engine.family` takes. What was not fitted is left out and taken from the typical values."""
    lines = ["# Constants fitted by dse calibrate; use as engine.family: PATH."]
    if fitted is not None:
        run = fitted.runs[0]
        lines += [*_gpu_lines(run.gpu), f"family: {run.family}", *_model_lines(run.model)]
        lines += [f"# Do not rely on it: {fault}" for fault in _shown_faults(fitted, validated)]
        lines += fitted_lines(fitted)
        for name, error in zip(
            ("ttft_error", "tpot_error"), medians(fitted.unseen if validated else fitted.errors), strict=True
        ):
            lines += [f"{name}: {error:.3f}"] if validated and error == error else []
        lines += [f"measured_runs: {len(fitted.runs)}", f"measured_model: {json.dumps(run.model.name)}"]
        lines += [f"clients: {fitted.deployment.client}"]
    elif said.get("gpu"):
        lines += [*_gpu_lines(presets.gpu(str(said["gpu"]))), f"family: {said.get('family') or 'vllm'}"]
    if link is not None:
        gpu = fitted.runs[0].gpu if fitted else presets.gpu(str(said["gpu"]))
        lines += [f"host_link_share: {link.bandwidth_bytes_per_s / gpu.host_link_bytes_per_s:.3f}"]
        lines += [f"host_copy: {1e6 * link.overhead_s:.4g} us"] if link.overhead_s is not None else []
    lines += [f"source: {json.dumps(', '.join(Path(file).name for file in files))}", f"date: {datetime.date.today():%Y-%m}"]
    return "\n".join(lines) + "\n"


def _shown_faults(fitted: Fitted, validated: bool) -> list[str]:
    """Why the constants should not be used; errors on runs left out only where those were cross-validated."""
    return [fault for fault in fitted.faults if validated or "left out" not in fault]


def _gpu_lines(gpu: GpuSpec) -> list[str]:
    """What a scenario's GPU is compared with: the preset, or what the card says of itself."""
    if gpu.preset is not None:
        return [f"gpu: {gpu.preset}"]
    lines = [f"gpu_name: {json.dumps(gpu.name)}", f"gpu_bandwidth: {gpu.bandwidth_bytes_per_s / 1e9:.9g} GB/s"]
    return lines + ([f"gpu_generation: {gpu.generation}"] if gpu.generation else [])


def _model_lines(model: ModelSpec) -> list[str]:
    """What a scenario's model is compared with: the preset, or the shape of a config.json."""
    if model.preset in presets.list_presets("models"):
        return [f"model: {model.preset}"]
    return [f"model_layers: {model.layers}", f"model_hidden_size: {model.hidden_size}", f"model_params: {model.params}"]


def fitted_lines(fitted: Fitted) -> list[str]:
    """The fitted constants as lines of YAML; those the runs say nothing about are left out, but for the rates."""
    said = {NAMES[k] for k in active(fitted.runs)} | {"step_s"}
    lines = []
    for name, value in zip(NAMES, fitted.theta, strict=True):
        number = float(2.718281828459045**value)
        if name in said or name == "mfu":
            unit = (1e3, "ms") if name in ("step_s", "request_s") else (1e6, "us")
            lines.append(f"{name[:-2]}: {number * unit[0]:.3g} {unit[1]}" if name.endswith("_s") else f"{name}: {number:.3f}")
    return lines


__all__ = ["Calibration", "Constants", "Transfer", "calibrate_files", "constants_text", "fitted_lines"]
