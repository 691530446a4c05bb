"""One tier of the block store: how much, how fast, how kept, how dear."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from simcore.errors import InputError
from simcore.specs.base import Bytes, BytesPerSecond, Seconds, Spec, Usd, UsdPerGib, share
from simcore.units import exact_bytes

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Share = Annotated[float, BeforeValidator(share), Field(ge=0, le=1)]


def _by_tenant(raw: Any) -> Any:
    """Quotas by tenant number or `default`, as texts; a share alone is the default."""
    if raw is None or (isinstance(raw, (str, float, int)) and not isinstance(raw, bool)):
        return {} if raw is None else {"default": raw}
    if not isinstance(raw, Mapping):
        return raw
    quotas = {str(tenant): quota for tenant, quota in raw.items()}
    for tenant, quota in quotas.items():
        if tenant != "default" and not (tenant.isascii() and tenant.isdecimal() and tenant == str(int(tenant[:6]))):
            raise InputError("must be the number of a tenant below 1,000,000, or default", value=tenant)
        if isinstance(quota, bool):
            raise InputError("must be a share", path=tenant, value=quota)
    return quotas


def check_loaded_latency(path: str, read_latency_s: float, points: Sequence[tuple[float, float]]) -> None:
    """Raises:
    InputError: the points are not of growing utilisation above 0, up to 1, or a latency falls or is too long to count.
    """
    shares, latencies = [0.0, *(share for share, _ in points)], [read_latency_s, *(latency for _, latency in points)]
    known = all(map(math.isfinite, (*shares, *latencies)))
    if not known or shares != sorted(set(shares)) or shares[-1] > 1 or latencies != sorted(latencies):
        rule = "must be points of growing utilisation above 0, up to 1, whose latencies do not fall, from read_latency on"
        raise InputError(rule, path=path, value=[list(point) for point in points], hint="write [[0.8, 210 ns], [1, 700 ns]]")
    if points and latencies[-1] > 3600:
        raise InputError("must not exceed an hour", path=path, value=latencies[-1])


class TierSpec(Spec):
    """A tier. The top one (HBM) needs only a capacity and a policy; its speed and price belong to the GPU.

    Args:
        preset: the preset this came from, if any.
        capacity_bytes: bytes given to the cache. HBM: per GPU; below: per replica, or in all when `shared`.
        policy: eviction policy, by name.
        placement: "exclusive" gives a block up when it is loaded; "inclusive" keeps its copy.
        write_policy: when a block is written here. "write_back": when it is evicted above (all that an exclusive tier
            allows, and its default); "write_through" (default of an inclusive tier): when it is complete in HBM;
            "write_through_selective": once `write_after_uses` requests have used it in HBM. The words are SGLang HiCache's.
        write_after_uses: of write_through_selective (SGLang: 2).
        shared: one store for all replicas.
        quotas: share of the blocks that a tenant may hold, by tenant number, `default` for the others; a bare share is the
            default; without one they have no limit. A tenant at its quota gives up its own least recently used block for a
            new one; in HBM, running requests may exceed it.
        persistent: its blocks outlast a restart of the engines.
        read_bandwidth_bytes_per_s, write_bandwidth_bytes_per_s: of a device or network, not of the GPU's host link.
        read_latency_s, write_latency_s: before the first byte, once per transfer.
        loaded_latency_s: read latency of a busy device: points (utilisation, latency), both growing from (0, `read_latency_s`),
            linear in between; the utilisation is the share of the last millisecond in which the tier's read link was busy.
        copy_overhead_s: cost of each separate copy, which makes small copies slow.
        bandwidth_curve: measured instead: (bytes of a copy, bytes per second of such reads), growing; not with
            `copy_overhead_s`. In between, time is linear in bytes; a smaller copy takes as long as the smallest measured,
            a larger one runs at the last rate. Writes have the same curve times write_bandwidth / read_bandwidth.
        read_iops, write_iops: most operations a second, each of at most `io_size_bytes`.
        io_size_bytes: largest piece in which a copy is read or written.
        queue_depth: operations in flight, so at most queue_depth / latency a second; absent: as many as it takes.
        devices: interleaved ones: rates, operations, price and largest size times so many.
        max_bandwidth_bytes_per_s: of all devices together, each way: what the host's links and memory let through.
        numa_hops: sockets between the memory and the GPU's host link.
        numa_hop_share: share of the bandwidth left after a hop. The default is what of the peak remote DDR5 reached when read
            (arXiv:2303.15375).
        numa_hop_latency_s: of a hop. The default is Pond's emulation of one, 78 to 142 ns (arXiv:2203.00241).
        bounce_bandwidth_bytes_per_s: blocks pass a buffer in host memory, copied at this rate before or after the device's own
            transfer; absent: the device and the GPU exchange them directly (GPUDirect), or the copy is hidden.
        transfer_j_per_byte: energy of a byte read or written; absent: the energy of transfers is unknown.
        usd_per_gib: price of its memory; absent: cost metrics are refused.
        device_price_usd: price of a device, counted when the capacity is not 0.
        max_capacity_bytes: the largest a device can be; a larger capacity is refused.
        planning_value: the prices are planning values of `date`, not list prices.
        source, date: where the numbers are from and when they were read.
    """

    preset: str | None = None
    capacity_bytes: Bytes
    policy: str = "lru"
    placement: Literal["exclusive", "inclusive"] = "exclusive"
    write_policy: Literal["write_back", "write_through", "write_through_selective"] | None = None
    write_after_uses: Annotated[int, Field(ge=1, le=2**31)] = 2
    shared: bool = False
    quotas: Annotated[dict[str, Share], BeforeValidator(_by_tenant)] = Field(default_factory=dict)
    persistent: bool = False
    read_bandwidth_bytes_per_s: BytesPerSecond | None = None
    write_bandwidth_bytes_per_s: BytesPerSecond | None = None
    read_latency_s: Seconds = 0.0
    write_latency_s: Seconds = 0.0
    loaded_latency_s: tuple[tuple[float, Seconds], ...] = ()
    copy_overhead_s: Seconds = 0.0
    bandwidth_curve: tuple[tuple[Bytes, BytesPerSecond], ...] = ()
    read_iops: Positive | None = None
    write_iops: Positive | None = None
    io_size_bytes: Annotated[Bytes, Field(ge=512)] = 131_072
    queue_depth: Annotated[int, Field(ge=1)] | None = None
    devices: Annotated[int, Field(ge=1, le=1024)] = 1
    max_bandwidth_bytes_per_s: BytesPerSecond | None = None
    numa_hops: Annotated[int, Field(ge=0, le=8)] = 0
    numa_hop_share: Annotated[float, Field(gt=0, le=1)] = 0.7
    numa_hop_latency_s: Seconds = 64e-9
    bounce_bandwidth_bytes_per_s: BytesPerSecond | None = None
    transfer_j_per_byte: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    usd_per_gib: UsdPerGib | None = None
    device_price_usd: Usd = 0.0
    max_capacity_bytes: Bytes | None = None
    planning_value: bool = False
    source: str = ""
    date: str = ""

    @model_validator(mode="after")
    def _within_device(self) -> Self:
        limit = None if self.max_capacity_bytes is None else self.devices * self.max_capacity_bytes
        if limit is not None and self.capacity_bytes > limit:
            several = "'s" if self.devices == 1 else f"s' (devices: {self.devices})"
            raise InputError(
                f"must not exceed the device{several} {exact_bytes(limit)}",
                path="capacity",
                value=exact_bytes(self.capacity_bytes),
                hint=f"{self.preset or 'this tier'} ends there; set max_capacity to describe a larger device",
            )
        return self

    @model_validator(mode="after")
    def _grows_with_load(self) -> Self:
        check_loaded_latency("loaded_latency", self.read_latency_s, self.loaded_latency_s)
        return self

    @model_validator(mode="after")
    def _measured_or_modelled(self) -> Self:
        sizes = [size for size, _ in self.bandwidth_curve]
        times = [size / rate for size, rate in self.bandwidth_curve]
        if sizes and (sizes[0] == 0 or sizes != sorted(set(sizes)) or times != sorted(times)):
            rule = "must be points of growing copy sizes above 0, whose copies take longer and longer"
            raise InputError(rule, path="bandwidth_curve", hint="write [[64 KiB, 14 GB/s], [2 MiB, 50 GB/s]]")
        if sizes and self.copy_overhead_s > 0:
            raise InputError("must be 0 where bandwidth_curve is given", path="copy_overhead", value=self.copy_overhead_s)
        return self

    def quota_blocks(self, blocks: int) -> tuple[int, ...]:
        """Of a store of `blocks` blocks, what each tenant may hold, by number; the last one holds for all beyond."""
        if not self.quotas:
            return ()
        rest = self.quotas.get("default", 1.0)
        named = [int(tenant) for tenant in self.quotas if tenant != "default"]
        return tuple(int(blocks * self.quotas.get(str(tenant), rest)) for tenant in range(max(named, default=-1) + 2))

    def bandwidths(self) -> tuple[float, float]:
        """(read, write) bandwidth of a device in bytes per second.

        Raises:
            InputError: a tier below HBM that says neither a preset nor its bandwidth.
        """
        pair = {"read_bandwidth": self.read_bandwidth_bytes_per_s, "write_bandwidth": self.write_bandwidth_bytes_per_s}
        for path, value in pair.items():
            if value is None:
                raise InputError("is required below HBM", path=path, hint="name a preset, for example ddr5-host")
        read, write = pair.values()
        assert read is not None and write is not None
        return read, write

    def cost_usd(self) -> float | None:
        """Price of the tier as sized: memory plus device; 0 when empty, None when its price is unknown."""
        if self.capacity_bytes == 0:
            return 0.0
        if self.usd_per_gib is None:
            return None
        return self.capacity_bytes / 2**30 * self.usd_per_gib + self.devices * self.device_price_usd
