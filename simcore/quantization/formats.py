"""Cache number formats: bits per value with the scales counted."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from simcore.errors import InputError
from simcore.quantization.table import names, read
from simcore.specs.base import Spec

Bits = Annotated[int, Field(ge=0)]


class KvFormat(Spec):
    """How one vector of the cache is stored.

    Args:
        bits: bits of a value itself.
        group: values that share one set of scales; "vector": one set for each K or V head vector (or latent); absent:
            one scale per tensor or layer, which costs nothing per token.
        scale_bits: bits of one set of scales (scale and zero point together).
        overhead_bits: mean bits a value costs beside its own and its scales (values kept apart, pointers).
        residual_tokens: the last tokens of a sequence that stay at 16 bits.
        rope_bits: bits of the positional part of a latent where that part is kept apart; such a format is for MLA only.
        read_cost: time an attention kernel takes to read it over the time its bytes take; above 1 where unpacking costs.
        source, date: where the layout is from.
    """

    shorthand: ClassVar[str | None] = None
    bits: Annotated[int, Field(gt=0)]
    group: Annotated[int, Field(gt=0)] | Literal["vector"] | None = None
    scale_bits: Bits = 0
    overhead_bits: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    residual_tokens: Bits = 0
    rope_bits: Bits | None = None
    read_cost: Annotated[float, Field(ge=1, allow_inf_nan=False)] = 1.0
    source: str
    date: str

    @property
    def lossless(self) -> bool:
        """16-bit formats are the reference that others are compared with."""
        return self.bits >= 16

    def vector_bits(self, width: int) -> float:
        """Bits of one stored vector of `width` values, scales included; a whole number unless there are `overhead_bits`.

        Raises:
            InputError: the group does not divide the vector (engines refuse that too).
        """
        if self.group is None:
            return width * (self.bits + self.overhead_bits)
        group = width if self.group == "vector" else self.group
        if width % group:
            raise InputError(f"its group of {group} values must divide a vector of {width} values")
        return width * (self.bits + self.overhead_bits) + width // group * self.scale_bits

    def bits_per_value(self, width: int) -> float:
        """Mean bits of a value in a vector of `width` values, scales included."""
        return self.vector_bits(width) / width


def kv_formats() -> tuple[str, ...]:
    """Names of all cache formats."""
    return names("formats")


@lru_cache
def find_format(name: str) -> KvFormat:
    """The cache format `name`.

    Raises:
        InputError: unknown name; the nearest one is in the hint.
    """
    return read("formats", name, KvFormat)
