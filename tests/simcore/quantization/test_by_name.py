"""KV bytes of a model by name."""

from __future__ import annotations

import pytest

from simcore.errors import InputError
from simcore.quantization.by_name import named_kv_bytes_per_token


def test_published_sizes() -> None:
    assert named_kv_bytes_per_token("llama-3.1-70b") == ("llama-3.1-70b", 327_680)
    assert named_kv_bytes_per_token("llama-3.1-8b") == ("llama-3.1-8b", 131_072)
    assert named_kv_bytes_per_token("llama-3.1-8b", "fp8_e4m3")[1] == 65_536


@pytest.mark.parametrize(("model", "kv_format"), [("llama-3.1-9b", "bf16"), ("llama-3.1-8b", "bf17"), ("none.json", "bf16")])
def test_unknown_names(model: str, kv_format: str) -> None:
    with pytest.raises(InputError):
        named_kv_bytes_per_token(model, kv_format)
