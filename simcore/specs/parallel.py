"""How the GPUs of a replica divide a model."""

from __future__ import annotations

from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from simcore.errors import InputError
from simcore.specs.base import Spec

Degree = Annotated[int, Field(ge=1, le=4096)]


class ParallelSpec(Spec):
    """Degrees of parallelism; a replica takes `tp * pp * dp` GPUs.

    Args:
        tp: tensor parallel: every layer is split over this many GPUs.
        pp: pipeline parallel: the layers are split into this many stages.
        dp: data-parallel attention: this many ranks keep a KV pool and a scheduler each; routed experts are split over
            all of them, everything else is repeated.
        ep: whole experts are placed on the GPUs of a stage; otherwise every expert is split over them.
        stage_layers: layers of each stage, first to last; absent: as even as it gets, what is left over going to the
            stages before the last, last of them first (vLLM's rule: the last stage also has the output head).
    """

    shorthand: ClassVar[str | None] = None
    tp: Degree = 1
    pp: Degree = 1
    dp: Degree = 1
    ep: bool = False
    stage_layers: tuple[Degree, ...] | None = None

    @model_validator(mode="after")
    def _one_entry_a_stage(self) -> Self:
        if self.stage_layers is not None and len(self.stage_layers) != self.pp:
            rule = f"must have one number for each of the {self.pp} stages"
            raise InputError(rule, path="stage_layers", value=list(self.stage_layers))
        return self

    @property
    def gpus(self) -> int:
        """GPUs of a replica."""
        return self.tp * self.pp * self.dp

    def layers_by_stage(self, layers: int) -> tuple[int, ...]:
        """How many of `layers` layers each stage has.

        Raises:
            InputError: more stages than layers, or given numbers that do not add up.
        """
        if self.stage_layers is not None:
            if sum(self.stage_layers) != layers:
                raise InputError(f"must add up to {layers} layers", path="stage_layers", value=list(self.stage_layers))
            return self.stage_layers
        if self.pp > layers:
            raise InputError(f"must not exceed the {layers} layers", path="pp", value=self.pp)
        split = [layers // self.pp] * self.pp
        for back in range(2, layers % self.pp + 2):
            split[-back] += 1
        return tuple(split)
