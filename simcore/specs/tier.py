"""One tier of the block store: how much, how fast, how kept, how dear."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from simcore.errors import InputError
from simcore.specs.base import Bytes, BytesPerSecond, Seconds, Spec, Usd, UsdPerGib
from simcore.units import exact_bytes


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
        read_bandwidth_bytes_per_s, write_bandwidth_bytes_per_s: of the device or network, not of the GPU's host link.
        read_latency_s, write_latency_s: before the first byte, once per transfer.
        copy_overhead_s: cost of each separate copy, which makes small copies slow.
        usd_per_gib: price of its memory; absent: cost metrics are refused.
        device_price_usd: price of the device, counted once when the capacity is not 0.
        max_capacity_bytes: the largest the device can be; a larger capacity is refused.
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
    read_bandwidth_bytes_per_s: BytesPerSecond | None = None
    write_bandwidth_bytes_per_s: BytesPerSecond | None = None
    read_latency_s: Seconds = 0.0
    write_latency_s: Seconds = 0.0
    copy_overhead_s: Seconds = 0.0
    usd_per_gib: UsdPerGib | None = None
    device_price_usd: Usd = 0.0
    max_capacity_bytes: Bytes | None = None
    planning_value: bool = False
    source: str = ""
    date: str = ""

    @model_validator(mode="after")
    def _within_device(self) -> Self:
        limit = self.max_capacity_bytes
        if limit is not None and self.capacity_bytes > limit:
            raise InputError(
                f"must not exceed the device's {exact_bytes(limit)}",
                path="capacity",
                value=exact_bytes(self.capacity_bytes),
                hint=f"{self.preset or 'this tier'} ends there; set max_capacity to describe a larger device",
            )
        return self

    def bandwidths(self) -> tuple[float, float]:
        """(read, write) bandwidth in bytes per second.

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
        return self.capacity_bytes / 2**30 * self.usd_per_gib + self.device_price_usd
