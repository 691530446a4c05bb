"""A GPU as the simulator sees it: rates, memory, links, power, money."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from simcore.specs.base import Bytes, BytesPerSecond, Flops, Spec, Usd, UsdPerGib, Watts

Generation = Literal["volta", "turing", "ampere", "ada", "hopper", "blackwell", "cdna3", "cdna4"]
GENERATIONS: dict[Generation, tuple[str, int]] = {
    "volta": ("nvidia", 0), "turing": ("nvidia", 0), "ampere": ("nvidia", 1), "ada": ("nvidia", 2), "hopper": ("nvidia", 2),
    "blackwell": ("nvidia", 3), "cdna3": ("amd", 3), "cdna4": ("amd", 4),
}  # fmt: skip
"""Maker and place in the order of appearance."""
Speedup = Annotated[float, Field(ge=1, allow_inf_nan=False)]


class GpuSpec(Spec):
    """One GPU, and how many of them share a replica.

    Args:
        preset: the preset this came from, if any.
        name: as printed.
        count: GPUs of one replica, used as tensor parallel degree.
        memory_bytes: memory the driver reports (a card sold as 80 GB reports 79.6 to 80.0 GiB).
        bandwidth_bytes_per_s: memory bandwidth of the data sheet.
        flops: dense 16-bit tensor rate of the data sheet, 32-bit accumulation.
        fp8_speedup, fp4_speedup: rate of matrix products in that format over `flops`; 1 where the hardware lacks it.
        generation: architecture, one of `GENERATIONS`; a GPU without constants of its own takes those of a neighbouring one.
        converts_weights: kernels that turn low-precision weights into 16-bit operands on their way in (Marlin) run on it;
            without them, weights in a format the hardware lacks are written out at 16 bits before each product.
        host_link_bytes_per_s: link to the host, one way, as specified (before protocol overhead).
        host_link_j_per_byte: energy of a byte over the host link; absent: the energy of transfers is unknown.
        nvlink_bytes_per_s: GPU-to-GPU link, both ways together as vendors quote it; absent: traffic goes over the
            host link.
        power_w: board power limit.
        hbm_usd_per_gib: price of the card's own memory; absent: cost metrics are refused.
        price_usd: purchase price of one card; absent: cost metrics that need it are refused.
        planning_value: the prices are planning values of `date`, not list prices.
        source, date: where the numbers are from and when they were read.
    """

    preset: str | None = None
    name: str
    count: Annotated[int, Field(ge=1)] = 1
    memory_bytes: Bytes
    bandwidth_bytes_per_s: BytesPerSecond
    flops: Flops
    fp8_speedup: Speedup = 1.0
    fp4_speedup: Speedup = 1.0
    generation: Generation | None = None
    converts_weights: bool = True
    host_link_bytes_per_s: BytesPerSecond
    host_link_j_per_byte: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    nvlink_bytes_per_s: BytesPerSecond | None = None
    power_w: Watts
    hbm_usd_per_gib: UsdPerGib | None = None
    price_usd: Usd | None = None
    planning_value: bool = False
    source: str = ""
    date: str = ""
