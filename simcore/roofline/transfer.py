"""Time to move KV blocks over a link.

    seconds = bytes / bandwidth + copies * overhead

so small copies are slow: at 64 GB/s raw (PCIe 5 x16) the shipped constants give 50 GB/s for a copy of 2 MiB and 14 GB/s for
one of 64 KiB. A block in one piece ("contiguous") is one copy; a block spread over the layers' own arrays ("per_layer") is one
copy for each layer's K and each layer's V, or one per layer for a latent cache or a state.

A load from a tier below HBM passes the tier's own device or network first, then the host link; under tensor parallelism each
GPU's link carries that GPU's part, all at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

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

    The largest of what limits it: bytes, copies (`copy_overhead_s` or `bandwidth_curve`), operations a second, operations in
    flight (Little's law: queue_depth / latency), all over the interleaved devices, and `max_bandwidth_bytes_per_s`; each NUMA
    hop leaves a share of that rate, and a bounce buffer adds its own copy.

    Raises:
        InputError: the tier does not say its bandwidth.
    """
    read, write = tier.bandwidths()
    slower = read / write
    read_s, write_s = tier_latencies(tier)
    return (
        _device_seconds(tier, block_bytes, copies, read, 1.0, tier.read_iops, read_s),
        _device_seconds(tier, block_bytes, copies, write, slower, tier.write_iops, write_s),
    )


def tier_latencies(tier: TierSpec) -> tuple[float, float]:
    """(read, write) seconds before the first byte."""
    hops_s = tier.numa_hops * tier.numa_hop_latency_s
    return tier.read_latency_s + hops_s, tier.write_latency_s + hops_s


def loaded_latencies(tier: TierSpec) -> tuple[tuple[float, float], ...]:
    """(utilisation, read latency in seconds) points of `loaded_latency_s`, sockets between included."""
    hops_s = tier.numa_hops * tier.numa_hop_latency_s
    return tuple((share, latency_s + hops_s) for share, latency_s in tier.loaded_latency_s)


def copy_seconds(curve: Sequence[tuple[int, float]], copy_bytes: float) -> float:
    """Seconds of one copy by a measured curve of (bytes, bytes per second)."""
    sizes = [size for size, _ in curve]
    if copy_bytes >= sizes[-1]:
        return copy_bytes / curve[-1][1]
    return float(np.interp(copy_bytes, sizes, [size / rate for size, rate in curve]))


def _device_seconds(
    tier: TierSpec, block_bytes: float, copies: int, bandwidth: float, slower: float, iops: float | None, latency_s: float
) -> float:
    copy_bytes = block_bytes / copies
    if tier.bandwidth_curve:
        one_s = copies * max(copy_bytes / bandwidth, slower * copy_seconds(tier.bandwidth_curve, copy_bytes))
    else:
        one_s = seconds_per_block(block_bytes, copies, bandwidth, tier.copy_overhead_s)
    operations = copies * math.ceil(copy_bytes / tier.io_size_bytes)
    if iops is not None:
        one_s = max(one_s, operations / iops)
    if tier.queue_depth is not None:
        one_s = max(one_s, operations * latency_s / tier.queue_depth)
    all_s = one_s / tier.devices
    if tier.max_bandwidth_bytes_per_s is not None:
        all_s = max(all_s, block_bytes / tier.max_bandwidth_bytes_per_s)
    all_s /= tier.numa_hop_share**tier.numa_hops
    bounce = tier.bounce_bandwidth_bytes_per_s
    return all_s if bounce is None else all_s + block_bytes / bounce
