"""Bytes of KV cache of a model and a format given by name."""

from __future__ import annotations

from pathlib import Path

from simcore.presets import is_path, model
from simcore.quantization.kv_bytes import kv_bytes_per_token
from simcore.specs.base import validate
from simcore.specs.kv_format import KvFormatSpec


def named_kv_bytes_per_token(model_name: str, kv_format: str = "bf16") -> tuple[str, float]:
    """The model's name, and cache bytes of a token over all its layers, each at full length, each head stored once.

    Args:
        model_name: a preset, or the path of a YAML file or a Hugging Face config.json.
        kv_format: a format of K and V.

    Raises:
        InputError: there is no such model or format, or the format does not go with the model.
    """
    spec = model(model_name)
    name = Path(model_name).name if is_path(model_name) else model_name
    return name, kv_bytes_per_token(spec, validate(KvFormatSpec, kv_format))
