"""What weights weigh, against the sizes of published checkpoints."""

from __future__ import annotations

import pytest

from simcore.errors import InputError
from simcore.presets import list_presets, model
from simcore.quantization.weights import find_weight_format, weight_bytes, weight_formats, weight_parts


@pytest.mark.parametrize(
    ("name", "weight_format", "published_gb"),
    [
        ("llama-3.1-8b", "bf16", 16.06),  # huggingface.co/meta-llama/Llama-3.1-8B-Instruct
        ("llama-3.1-8b", "fp8", 9.08),  # huggingface.co/RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8
        ("llama-3.1-8b", "int4", 5.73),  # huggingface.co/hugging-quants/Meta-Llama-3.1-8B-Instruct-AWQ-INT4
        ("gpt-oss-120b", None, 65.2),  # huggingface.co/openai/gpt-oss-120b: 60.8 GiB
        ("gpt-oss-20b", None, 13.8),  # huggingface.co/openai/gpt-oss-20b: 12.8 GiB
    ],
)
def test_checkpoint_sizes(name: str, weight_format: str | None, published_gb: float) -> None:
    assert weight_bytes(model(name), weight_format) / 1e9 == pytest.approx(published_gb, rel=0.01)


@pytest.mark.parametrize("name", list_presets("models"))
def test_parts_add_up(name: str) -> None:
    spec = model(name)
    for weight_format in weight_formats():
        parts = weight_parts(spec, weight_format)
        assert min(parts) >= 0
        assert weight_bytes(spec, weight_format) == round(parts.total_bytes) == round(sum(parts[:3]))
    assert weight_bytes(spec, "bf16") == 2 * spec.params
    assert find_weight_format(spec.dtype).bits <= 16


def test_a_tied_embedding_is_read_every_step_an_untied_one_looked_up() -> None:
    assert weight_parts(model("qwen3-1.7b")).lookup_bytes == 0
    assert weight_parts(model("qwen3-8b")).lookup_bytes == 2 * 151_936 * 4096


def test_expert_parameters_follow_from_the_two_published_counts() -> None:
    spec = model("mixtral-8x7b")
    assert spec.expert_params == 32 * 8 * 3 * 4096 * 14336
    assert model("llama-3.1-8b").expert_params == 0


def test_unknown_weight_format() -> None:
    with pytest.raises(InputError, match=r"unknown weight format; got fp9\. Did you mean fp8\?"):
        find_weight_format("fp9")
