"""Time to move KV blocks over a link.

    seconds = bytes / bandwidth + copies * overhead

so small copies are slow: at 64 GB/s raw (PCIe 5 x16) the shipped constants give 50 GB/s for a copy of 2 MiB and 14 GB/s for
one of 64 KiB. A block in one piece ("contiguous") is one copy; a block spread over the layers' own arrays ("per_layer") is one
copy for each layer's K and each layer's V, or one per layer for a latent cache or a state.

A load from a tier below HBM passes the tier's own device or network first, then the host link; under tensor parallelism each
GPU's link carries that GPU's part, all at once.
"""

from __future__ import annotations

from typing import Literal

from simcore.roofline.constants import Constants
from simcore.specs.gpu import GpuSpec
from simcore.specs.model import ModelSpec
from simcore.specs.tier import TierSpec


def seconds_per_block(block_bytes: float, copies: int, bandwidth_bytes_per_s: float, copy_overhead_s: float = 0.0) -> float:
    """Seconds to move `block_bytes` in `copies` separate copies."""
    return block_bytes / bandwidth_bytes_per_s + copies * copy_overhead_s


def effective_bandwidth(copy_bytes: float, bandwidth_bytes_per_s: float, copy_overhead_s: float = 0.0) -> float:
    """Bytes per second reached with copies of `copy_bytes` each."""
    return copy_bytes / seconds_per_block(copy_bytes, 1, bandwidth_bytes_per_s, copy_overhead_s)


def copies_per_block(model: ModelSpec, kv_layout: Literal["contiguous", "per_layer"]) -> int:
    """Separate copies a block takes in this layout."""
    if kv_layout == "contiguous":
        return 1
    states = model.layers - model.attention_layers
    return states + model.attention_layers * (1 if model.mla is not None else 2)


def host_link_bandwidth(gpu: GpuSpec, constants: Constants) -> float:
    """Bytes per second one large copy reaches over the host link, one way."""
    return constants.host_link_share * gpu.host_link_bytes_per_s


def host_link_seconds_per_block(gpu: GpuSpec, constants: Constants, block_bytes_per_gpu: float, copies: int) -> float:
    """Seconds one GPU's part of a block takes over its host link, one way."""
    return seconds_per_block(block_bytes_per_gpu, copies, host_link_bandwidth(gpu, constants), constants.host_copy_s)


def tier_seconds_per_block(tier: TierSpec, block_bytes: float, copies: int) -> tuple[float, float]:
    """(read, write) seconds a block takes on the device or network of a tier below HBM.

    Raises:
        InputError: the tier does not say its bandwidth.
    """
    read, write = tier.bandwidths()
    return (
        seconds_per_block(block_bytes, copies, read, tier.copy_overhead_s),
        seconds_per_block(block_bytes, copies, write, tier.copy_overhead_s),
    )
