"""Weight formats: what the weights of a model weigh, in all and per part."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, ClassVar, Literal, NamedTuple

from pydantic import Field

from simcore.quantization.table import names, read
from simcore.specs.base import Spec
from simcore.specs.model import ModelSpec


class WeightFormat(Spec):
    """How weights are stored and in which arithmetic they are multiplied.

    Args:
        bits: bits of a weight itself.
        group: weights that share one set of scales; absent: scales cost nothing.
        scale_bits: bits of one set of scales (scale and zero point together).
        covers: "all" weights; "blocks": all but the vocabulary matrices, which stay at 16 bits; "experts": routed experts
            only, the rest stays at 16 bits.
        compute: the tensor-core rate of the products: that of 16-bit, fp8 or fp4.
        source, date: where the layout is from.
    """

    shorthand: ClassVar[str | None] = None
    bits: Annotated[int, Field(gt=0)]
    group: Annotated[int, Field(gt=0)] | None = None
    scale_bits: Annotated[int, Field(ge=0)] = 0
    covers: Literal["all", "blocks", "experts"] = "all"
    compute: Literal["16bit", "fp8", "fp4"] = "16bit"
    source: str
    date: str

    @property
    def bytes_per_weight(self) -> float:
        """Bytes of a covered weight, scales included."""
        return (self.bits + (self.scale_bits / self.group if self.group else 0.0)) / 8


class WeightParts(NamedTuple):
    """Bytes of a model's weights. A step reads `dense` always, and of `experts` those its tokens chose."""

    dense_bytes: float
    expert_bytes: float
    lookup_bytes: float
    """An input embedding that is not also the output head: stored, but only the rows of the step's tokens are read."""
    head_bytes: float
    """The output head, which is part of `dense_bytes`."""
    bytes_per_weight: float
    """Of a dense weight outside the vocabulary matrices."""

    @property
    def total_bytes(self) -> float:
        return self.dense_bytes + self.expert_bytes + self.lookup_bytes


def weight_formats() -> tuple[str, ...]:
    """Names of all weight formats."""
    return names("weights")


@lru_cache
def find_weight_format(name: str) -> WeightFormat:
    """The weight format `name`.

    Raises:
        InputError: unknown name; the nearest one is in the hint.
    """
    return read("weights", name, WeightFormat)


def weight_parts(model: ModelSpec, weight_format: str | None = None) -> WeightParts:
    """Bytes of dense weights, routed experts and looked-up embedding; the format of the checkpoint when none is given."""
    form = find_weight_format(weight_format or model.dtype)
    size = form.bytes_per_weight
    covered = {"dense": form.covers != "experts", "vocabulary": form.covers == "all"}
    blocks = size if covered["dense"] else 2.0
    vocabulary = size if covered["vocabulary"] else 2.0
    matrices = 1 if model.tied_embeddings else 2
    dense = model.params - model.expert_params - matrices * model.embedding_params
    return WeightParts(
        dense_bytes=dense * blocks + model.embedding_params * vocabulary,
        expert_bytes=model.expert_params * size,
        lookup_bytes=(matrices - 1) * model.embedding_params * vocabulary,
        head_bytes=model.embedding_params * vocabulary,
        bytes_per_weight=blocks,
    )


def weight_bytes(model: ModelSpec, weight_format: str | None = None) -> int:
    """Bytes of all weights; the format of the checkpoint when none is given."""
    return round(weight_parts(model, weight_format).total_bytes)
