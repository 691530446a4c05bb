"""Reading the YAML tables of this package: one file per format or per published source, found by its name."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from simcore.errors import InputError, did_you_mean
from simcore.specs.base import Spec, validate
from simcore.yamlio import load_yaml

_HERE = Path(__file__).parent
_LABELS = {"formats": "KV format", "weights": "weight format", "quality": "source of accuracy figures"}
S = TypeVar("S", bound=Spec)


@lru_cache
def names(folder: str) -> tuple[str, ...]:
    """Members of a folder of this package, sorted."""
    return tuple(sorted(path.stem for path in (_HERE / folder).glob("*.yaml")))


def read(folder: str, name: str, cls: type[S]) -> S:
    """The member `name` of a folder as a spec.

    Raises:
        InputError: no member has that name; the nearest one is in the hint.
    """
    if name not in names(folder):
        raise InputError(f"unknown {_LABELS[folder]}", value=name, hint=did_you_mean(name, names(folder)))
    document = load_yaml(_HERE / folder / f"{name}.yaml")
    return validate(cls, document.data, file=document.file, lines=document.lines)
