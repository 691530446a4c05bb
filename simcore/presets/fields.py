"""Specs that can be given as a preset: field types for larger specs, and functions for Python.

A family's Scenario declares `model: Model`, `gpu: Gpu`, `tiers: dict[str, Tier]`; a name, a path, or a mapping with `preset`
and overrides is then filled in before it is validated. Relative paths are taken from `base_dir` of the validation context.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, ValidationInfo

from simcore.errors import InputError
from simcore.presets.loader import with_preset
from simcore.specs.base import Spec, validate
from simcore.specs.gpu import GpuSpec
from simcore.specs.model import ModelSpec
from simcore.specs.tier import TierSpec


def _filled(kind: str) -> BeforeValidator:
    def fill(value: Any, info: ValidationInfo) -> Any:
        try:
            return with_preset(kind, value, base_dir=(info.context or {}).get("base_dir"))
        except InputError as error:
            raise _about_that_file(error) from None

    return BeforeValidator(fill)


def _about_that_file(error: InputError) -> InputError:
    """A mistake in another file, told at the place that names that file: its name, line and key move into the rule."""
    if error.file is None:
        return error
    there = error.file if error.line is None else f"{error.file}:{error.line}"
    return InputError(": ".join(p for p in (there, error.path, error.rule) if p), value=error.value, hint=error.hint)


Model = Annotated[ModelSpec, _filled("models")]
Gpu = Annotated[GpuSpec, _filled("gpus")]
Tier = Annotated[TierSpec, _filled("tiers")]

S = TypeVar("S", bound=Spec)


def _built(cls: type[S], kind: str, name: str, changes: dict[str, Any]) -> S:
    spec = validate(cls, with_preset(kind, {"preset": name, **_needed(cls, changes)}))
    return spec.with_changes(**changes) if changes else spec


def _needed(cls: type[Spec], changes: dict[str, Any]) -> dict[str, Any]:
    """What no tier preset can say: its capacity. 0 until the change is applied, in base units."""
    return {"capacity_bytes": 0} if cls is TierSpec else {}


def model(name: str, **changes: Any) -> ModelSpec:
    """A model preset or the config.json at a path, with fields changed (Python names, base units)."""
    return _built(ModelSpec, "models", name, changes)


def gpu(name: str, **changes: Any) -> GpuSpec:
    """A GPU preset with fields changed (Python names, base units): `gpu("h100-sxm", count=2)`."""
    return _built(GpuSpec, "gpus", name, changes)


def tier(name: str, **changes: Any) -> TierSpec:
    """A tier preset with fields changed (Python names, base units): `tier("cxl2-x8", capacity_bytes=256 * 2**30)`."""
    return _built(TierSpec, "tiers", name, changes)
