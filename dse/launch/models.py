"""The preset a model id of a hub stands for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import simcore
from simcore.errors import InputError, did_you_mean

_FORMATS = {
    "fp8": "fp8", "w8a8": "int8", "int8": "int8", "8bit": "int8", "w8a16": "int8", "awq": "int4", "int4": "int4",
    "w4a16": "int4", "4bit": "int4", "gptq": "int4", "nvfp4": "nvfp4", "fp4": "nvfp4", "mxfp4": "mxfp4",
}  # fmt: skip
_EMPTY = {"meta", "instruct", "chat", "it", "hf", "base", "dynamic", "quantized", "thinking", "bnb", "unsloth", "4k", "8k",
          "128k", "autoround", "marlin", "pytorch", "bf16", "fp16", "v0.1", "v0.2", "v0.3", "g128", "block",
          "mlx", "nvidia"}  # fmt: skip


def find_model(name: str, base_dir: Path) -> tuple[str, str | None]:
    """(preset or path, format of the weights if the name says one).

    Raises:
        InputError: neither a preset, nor a folder or file, nor an id whose preset is known.
    """
    path = base_dir / Path(name).expanduser()
    if path.exists():
        return str(path), None
    presets = simcore.list_presets("models")
    if name in presets:
        return name, None
    tokens = _tokens(name)
    known = {tuple(t for t in _tokens(preset)): preset for preset in presets}
    formats = [_FORMATS[t] for t in tokens if t in _FORMATS]
    found = known.get(tuple(t for t in tokens if t not in _FORMATS))
    if found is not None:
        wide = next((f for f in formats if f == "int8"), None)
        return found, wide or (formats[0] if formats else None)
    short = name.rstrip("/").rsplit("/", 1)[-1].lower()
    hint = f"give its config.json: --model PATH; {did_you_mean(short, presets)}"
    raise InputError("is no model preset and no config.json", path="--model", value=name, hint=hint)


def _tokens(name: str) -> Sequence[str]:
    short = name.rstrip("/").rsplit("/", 1)[-1].lower().replace("quantized.", "")
    return [t for t in re.split(r"[-_]", short) if t and t not in _EMPTY and not re.fullmatch(r"\d{4}", t)]
