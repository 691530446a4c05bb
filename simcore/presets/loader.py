"""Presets by name: one YAML file each, found in the folder of its kind. A path is taken where a name is."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from simcore.errors import InputError, did_you_mean
from simcore.presets.hf_config import read_config
from simcore.specs.base import yaml_name
from simcore.yamlio import load_yaml

_HERE = Path(__file__).parent
KINDS = ("models", "gpus", "tiers", "workloads", "constants")
_SINGULAR = {"models": "model", "gpus": "GPU", "tiers": "tier", "workloads": "workload", "constants": "set of constants"}


def list_presets(kind: str) -> list[str]:
    """Names of the packaged presets of a kind ("models", "gpus", "tiers", "workloads", "constants"), sorted."""
    return sorted(path.stem for path in _folder(kind).glob("*.yaml"))


def load_preset(kind: str, name: str, *, base_dir: str | Path | None = None) -> dict[str, Any]:
    """The data of a preset, as YAML gives it (quantities are text with units).

    Args:
        kind: see `list_presets`.
        name: a packaged name; or the path of a YAML file of the same form; for models also of a Hugging Face config.json or
            of the folder that holds it.
        base_dir: what a relative path is relative to; the working directory when absent.

    Raises:
        InputError: no such preset (the nearest name is in the hint), or the file is missing or wrong.
    """
    if not is_path(name):
        return copy.deepcopy(_packaged(kind, name))
    path = Path(base_dir or ".") / Path(name).expanduser()
    if kind == "models" and (path.suffix == ".json" or path.is_dir()):
        return read_config(path / "config.json" if path.is_dir() else path)
    data = load_yaml(path).data
    if not isinstance(data, dict):
        raise InputError(f"must be a mapping that describes a {_SINGULAR[kind]}", file=str(path), value=data)
    return data


def is_path(name: str) -> bool:
    """Whether a preset is given as a path, not by name."""
    return "/" in name or "\\" in name or name.endswith((".json", ".yaml", ".yml")) or name in {".", ".."}


def with_preset(kind: str, raw: Any, *, base_dir: str | Path | None = None) -> Any:
    """`raw` with the data of the preset it names laid underneath; what `raw` says itself wins, part by part and under
    either spelling of a key.

    A bare string is the name. `preset` stays in the result when it is a packaged name; a path is dropped, since everything
    it said is now written out. Data without a preset comes back as it is.

    Raises:
        InputError: as `load_preset`, with the path "preset".
    """
    if isinstance(raw, str):
        raw = {"preset": raw}
    if not isinstance(raw, Mapping) or raw.get("preset") is None:
        return raw
    name = raw["preset"]
    if not isinstance(name, str):
        raise InputError("must be the name of a preset or a path", path="preset", value=name)
    merged = _over(load_preset(kind, name, base_dir=base_dir), raw)
    if is_path(name):
        del merged["preset"]
    return merged


def _over(below: Mapping[str, Any], raw: Mapping[str, Any]) -> dict[str, Any]:
    """`raw` over a preset's data, part by part where both are mappings."""
    said = {yaml_name(str(key)) for key in raw}
    merged = {key: value for key, value in below.items() if yaml_name(key) not in said}
    for key, value in raw.items():
        part = below.get(key)
        merged[key] = _over(part, value) if isinstance(part, Mapping) and isinstance(value, Mapping) else value
    return merged


def _folder(kind: str) -> Path:
    if kind not in KINDS:
        raise InputError("unknown kind of preset", value=kind, hint=did_you_mean(kind, KINDS))
    return _HERE / kind


def _nearest(name: str, known: list[str]) -> str:
    variants = [n for n in known if name and n.startswith(name)]
    return f"one of: {', '.join(variants)}" if variants else did_you_mean(name, known)


@lru_cache
def _packaged(kind: str, name: str) -> dict[str, Any]:
    if name not in list_presets(kind):
        raise InputError(
            f"unknown {_SINGULAR[kind]} preset", path="preset", value=name, hint=_nearest(name, list_presets(kind))
        )
    data = load_yaml(_folder(kind) / f"{name}.yaml").data
    assert isinstance(data, dict), f"{kind}/{name}.yaml must be a mapping"
    return data
