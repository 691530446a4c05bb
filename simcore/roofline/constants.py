"""Calibrated constants of the step-time and transfer formulas, one set per pair of GPU and engine family.

A set that was fitted states how far the engine is from the measurements with it. A pair without a fit gets the typical
values ("default").
Sets whose fit was degenerate (an efficiency above 1, a start-up time of half a second) are not shipped.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated

from pydantic import Field

from simcore.errors import InputError, did_you_mean
from simcore.presets import list_presets, load_preset
from simcore.specs.base import Seconds, Spec, validate
from simcore.specs.gpu import GpuSpec

Share = Annotated[float, Field(gt=0, le=1)]
DEFAULT = "default"


class Constants(Spec):
    """What data sheets do not say.

    Args:
        preset: the name of the set.
        gpu: GPU preset it was fitted on; absent: typical values.
        family: engine family it was fitted on; absent: typical values.
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
        ttft_error, tpot_error: median relative error of this engine with these constants on the table they were fitted to
            (experiments/01_measured_latencies).
        measured_runs, measured_model: how many rows of which model that was.
        source, date: where the numbers are from.
    """

    preset: str | None = None
    gpu: str | None = None
    family: str | None = None
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
    ttft_error: float | None = None
    tpot_error: float | None = None
    measured_runs: int | None = None
    measured_model: str | None = None
    source: str
    date: str


@lru_cache
def load_constants(name: str) -> Constants:
    """A set of constants by name; what a fitted set does not say it takes from the typical values.

    Raises:
        InputError: no such set.
    """
    own = load_preset("constants", name)
    fitted = own.get("mfu") is not None
    typical = {} if name == DEFAULT else load_preset("constants", DEFAULT)
    if fitted:
        typical = {key: value for key, value in typical.items() if key not in ("mfu_fp8", "mfu_fp4")}
    return validate(Constants, {**typical, **own, "preset": name})


def find_constants(gpu: GpuSpec, family: str = "vllm") -> Constants:
    """The set for a GPU and an engine family, the typical values when that pair was not fitted.

    Args:
        gpu: its preset's name selects the fit.
        family: an engine family, or the name of one set of constants to use as it is.

    Raises:
        InputError: neither a known family nor a set.
    """
    sets = list_presets("constants")
    if family in sets:
        return load_constants(family)
    families = sorted({c.family for c in map(load_constants, sets) if c.family})
    if family not in families:
        known = [*families, *sets]
        raise InputError("unknown engine family", path="engine.family", value=family, hint=did_you_mean(family, known))
    name = f"{gpu.preset}-{family}"
    return load_constants(name if name in sets else DEFAULT)
