"""Calibrated constants of the step-time and transfer formulas: one set for a model on a GPU under an engine family.

A fitted set states its errors on runs that the fit had not seen (experiments/05_calibration). A scenario takes

    calibrated        the set of its model (or of one of the same shape), GPU and family, where there is one
    another model     else the mean of all sets of its kind of model, dense or mixture; its GPU and family are among them
    similar hardware  the same mean, where its family was measured on this or a neighbouring GPU generation of the same maker
    uncalibrated      else typical values ("default")

and each kind has its own expected error. Means are geometric; sets of the same family count `SAME_FAMILY` times, of the same
GPU generation `SAME_GENERATION` times: constants carry over within an engine better than between engines, within a generation
better than between generations, and a mean of many better than the nearest one. Sets whose fit was degenerate, or too far off
on runs not seen, are not shipped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from simcore.errors import InputError, did_you_mean
from simcore.presets import list_presets, load_preset
from simcore.presets.loader import is_path
from simcore.specs.base import BytesPerSecond, Seconds, Spec, validate, yaml_name
from simcore.specs.gpu import GENERATIONS, Generation, GpuSpec
from simcore.specs.model import ModelSpec

Share = Annotated[float, Field(gt=0, le=1)]
Error = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Kind = Literal["calibrated", "another model", "similar hardware", "uncalibrated", "own"]
DEFAULT = "default"
SAME_FAMILY, SAME_GENERATION = 6, 2
"""Weights chosen by the errors of groups left out (experiments/05_calibration)."""
MEASURED = (
    "weight_bandwidth_share", "kv_bandwidth_share", "mfu", "mfu_fp8", "mfu_fp4", "step_s", "layer_s", "allreduce_s",
    "gpu_link_share", "sequence_s", "request_s",
)  # fmt: skip
"""What a fit finds."""
FAMILIES = ("sglang", "trtllm", "vllm")
"""Engine families that are known whether or not a set of constants ships for them."""


class Constants(Spec):
    """What data sheets do not say.

    Args:
        preset: the name of the set.
        gpu: GPU preset it was fitted on; absent: typical values.
        family: engine family it was fitted on; absent: typical values.
        version: release of the engine, where the measurements name one.
        model: model preset it was fitted on.
        gpu_name, gpu_generation, gpu_bandwidth_bytes_per_s: the GPU it was fitted on, where that is no preset.
        model_layers, model_hidden_size, model_params: shape of the model it was fitted on, where that is no preset.
        weight_bandwidth_share: share of memory bandwidth reached when reading weights.
        kv_bandwidth_share: share of memory bandwidth reached when reading the KV cache.
        mfu: share of the dense rate reached by matrix products in 16-bit arithmetic.
        mfu_fp8: the same in fp8; `mfu` when absent.
        mfu_fp4: the same in fp4; `mfu_fp8` when absent.
        converted_rate_share: share of the 16-bit rate reached where weights are converted to 16 bits on their way in.
        step_s: fixed time of a step (scheduling, sampling).
        layer_s: time of a layer's launches and small kernels.
        allreduce_s: latency of one all-reduce over 8 GPUs; grows with log2 of the GPUs.
        gpu_link_share: share of the GPU-to-GPU bandwidth (both ways) reached by an all-reduce.
        sequence_s: time a decoding sequence adds to a step.
        request_s: time between arrival and first token that is no step (tokenising, network).
        host_link_share: share of the host link's bandwidth reached by one large copy.
        host_copy_s: time each separate copy over the host link costs beyond its bytes.
        ttft_error, tpot_error: median relative errors on runs of the fitted kind that the fit had not seen.
        model_ttft_error, model_tpot_error: the same of sets used for another model on the same GPU and engine.
        gpu_ttft_error, gpu_tpot_error: the same of sets used on a neighbouring GPU generation.
        measured_runs: how many runs were fitted.
        measured_model: their model, as printed.
        clients: how their clients behaved, as far as the runs show it.
        source, date: where the numbers are from.
    """

    preset: str | None = None
    gpu: str | None = None
    family: str | None = None
    version: str | None = None
    model: str | None = None
    gpu_name: str | None = None
    gpu_generation: Generation | None = None
    gpu_bandwidth_bytes_per_s: BytesPerSecond | None = None
    model_layers: int | None = None
    model_hidden_size: int | None = None
    model_params: int | None = None
    weight_bandwidth_share: Share
    kv_bandwidth_share: Share
    mfu: Share
    mfu_fp8: Share | None = None
    mfu_fp4: Share | None = None
    converted_rate_share: Share
    step_s: Seconds
    layer_s: Seconds
    allreduce_s: Seconds
    gpu_link_share: Share
    sequence_s: Seconds
    request_s: Seconds
    host_link_share: Share
    host_copy_s: Seconds
    ttft_error: Error | None = None
    tpot_error: Error | None = None
    model_ttft_error: Error | None = None
    model_tpot_error: Error | None = None
    gpu_ttft_error: Error | None = None
    gpu_tpot_error: Error | None = None
    measured_runs: int | None = None
    measured_model: str | None = None
    clients: str | None = None
    source: str
    date: str


class Match(NamedTuple):
    """The constants a scenario takes, why, and how far TTFT and TPOT are expected to be off; None where nobody measured."""

    constants: Constants
    kind: Kind
    ttft_error: float | None
    tpot_error: float | None


def load_constants(name: str) -> Constants:
    """A set of constants by name or path; what a fitted set does not say it takes from the typical values.

    Raises:
        InputError: no such set or file, or a mistake in it.
    """
    return _read(name) if is_path(name) else _packaged(name)


@lru_cache
def _packaged(name: str) -> Constants:
    return _read(name)


def _read(name: str) -> Constants:
    own = load_preset("constants", name)
    typical = {} if name == DEFAULT else load_preset("constants", DEFAULT)
    if own.get("mfu") is not None:
        typical = {key: value for key, value in typical.items() if key not in ("mfu_fp8", "mfu_fp4")}
    if name != DEFAULT:
        typical = {key: value for key, value in typical.items() if not key.endswith("_error")}
    file = str(Path(name)) if is_path(name) else None
    return validate(Constants, {**typical, **own, "preset": name}, file=file)


def find_constants(gpu: GpuSpec, family: str = "vllm", model: ModelSpec | None = None) -> Constants:
    """The constants of `match_constants`."""
    return match_constants(gpu, family, model).constants


def match_constants(gpu: GpuSpec, family: str, model: ModelSpec | None, *, among: Sequence[Constants] | None = None) -> Match:
    """The best set for a GPU, an engine family and a model.

    Args:
        gpu: its preset's name and generation select the fit.
        family: an engine family; or the name or path of one set of constants to use as it is.
        model: what is served; without one, the set of the GPU with the most runs.
        among: the fitted sets to take from; those that ship when None.

    Raises:
        InputError: neither a known family nor a set.
    """
    if is_path(family) or family in _packaged_names():
        return _named(family, gpu, model)
    if family not in FAMILIES:
        known = [*FAMILIES, *list_presets("constants")]
        raise InputError("unknown engine family", path="engine.family", value=family, hint=did_you_mean(family, known))
    every = _fitted() if among is None else among
    sets = [c for c in every if c.family == family]
    here = [c for c in sets if c.gpu == gpu.preset]
    own = [c for c in here if model is None or _same_shape(c, model)]
    if own:
        best = max(own, key=lambda c: c.measured_runs or 0)
        return Match(best, "calibrated", best.ttft_error, best.tpot_error)
    alike = [c for c in every if model is None or _alike(c, model)]
    near = [c for c in alike if c.family == family and _generations(c, gpu) <= 1]
    if near:
        mean, first = _mean(alike, gpu, family), near[0]
        if any(c.gpu == gpu.preset for c in near):
            return Match(mean, "another model", first.model_ttft_error, first.model_tpot_error)
        return Match(mean, "similar hardware", first.gpu_ttft_error, first.gpu_tpot_error)
    typical = load_constants(DEFAULT)
    return Match(typical, "uncalibrated", typical.ttft_error, typical.tpot_error)


def family_name(family: str) -> str:
    """The engine family of `engine.family`, which may also name a set of constants."""
    if family in FAMILIES:
        return family
    return load_constants(family).family or "vllm"


def _named(family: str, gpu: GpuSpec, model: ModelSpec | None) -> Match:
    """One set used as it is: calibrated for what it was fitted on."""
    try:
        found = load_constants(family)
    except InputError as error:
        raise error if error.file else error.within(prefix="engine.family") from None
    own = load_preset("constants", family)
    if own.get("mfu") is None and family != DEFAULT:  # a link alone: steps as if it were not there
        steps = match_constants(gpu, own.get("family") or "vllm", model)
        link = {name: getattr(found, name) for name in ("host_link_share", "host_copy_s") if yaml_name(name) in own}
        return steps._replace(constants=steps.constants.model_copy(update=link))
    if found.gpu is None and found.gpu_name is None:
        return Match(found, "own" if is_path(family) else "uncalibrated", found.ttft_error, found.tpot_error)
    if not _same_gpu(found, gpu):
        if _generations(found, gpu) > 1:
            return Match(found, "uncalibrated", None, None)
        return Match(found, "similar hardware", found.gpu_ttft_error, found.gpu_tpot_error)
    if model is not None and not _same_shape(found, model):
        return Match(found, "another model", found.model_ttft_error, found.model_tpot_error)
    return Match(found, "calibrated", found.ttft_error, found.tpot_error)


@lru_cache
def _packaged_names() -> frozenset[str]:
    return frozenset(list_presets("constants"))


@lru_cache
def _fitted() -> tuple[Constants, ...]:
    return tuple(c for c in map(load_constants, list_presets("constants")) if c.gpu is not None)


@lru_cache
def _shape(preset: str) -> ModelSpec:
    return validate(ModelSpec, {**load_preset("models", preset), "preset": preset})


def _same_shape(c: Constants, model: ModelSpec) -> bool:
    """Whether the set was fitted on this model or on one with the same numbers under another name."""
    if c.model is None:
        return (c.model_layers, c.model_hidden_size, c.model_params) == (model.layers, model.hidden_size, model.params)
    shape = _shape(c.model)
    return (shape.layers, shape.hidden_size, shape.params) == (model.layers, model.hidden_size, model.params)


def _same_gpu(c: Constants, gpu: GpuSpec) -> bool:
    """Whether the set was fitted on this GPU: the same preset, or no preset and the same name and bandwidth."""
    if c.gpu is not None or gpu.preset is not None:
        return c.gpu == gpu.preset
    return c.gpu_name == gpu.name and math.isclose(c.gpu_bandwidth_bytes_per_s or 0, gpu.bandwidth_bytes_per_s, rel_tol=1e-6)


def _alike(c: Constants, model: ModelSpec) -> bool:
    """Whether both are mixtures or both dense."""
    return c.model is not None and bool(_shape(c.model).experts) == bool(model.experts)


def _mean(sets: Sequence[Constants], gpu: GpuSpec, family: str) -> Constants:
    """The weighted geometric mean of fitted constants; what only some sets know is averaged over those."""
    weights = [(SAME_FAMILY if c.family == family else 1) * (SAME_GENERATION if _generations(c, gpu) == 0 else 1) for c in sets]
    fields: dict[str, float] = {}
    for name in MEASURED:
        known = [(w, getattr(c, name)) for w, c in zip(weights, sets, strict=True) if getattr(c, name)]
        if known:
            fields[name] = math.exp(sum(w * math.log(v) for w, v in known) / sum(w for w, _ in known))
    source = f"mean of {len(sets)} sets, those of {family} and of the same GPU generation counted more"
    return load_constants(DEFAULT).model_copy(update={**fields, "preset": None, "source": source})


@lru_cache
def _generation(preset: str) -> Generation | None:
    found: Generation | None = load_preset("gpus", preset).get("generation")
    return found


def _generations(c: Constants, gpu: GpuSpec) -> float:
    """Generations between the GPU of a set and `gpu`; infinite between makers, or where one is not known."""
    fitted = _generation(c.gpu) if c.gpu else c.gpu_generation
    if fitted is None or gpu.generation is None or GENERATIONS[fitted][0] != GENERATIONS[gpu.generation][0]:
        return math.inf
    return abs(GENERATIONS[fitted][1] - GENERATIONS[gpu.generation][1])
