"""Quality loss: published figures only, unknown stays unknown."""

from __future__ import annotations

import pytest

from simcore.presets import list_presets, model
from simcore.quantization.formats import find_format
from simcore.quantization.quality import QualitySource, quality_loss
from simcore.quantization.table import names, read
from simcore.specs.base import validate
from simcore.specs.kv_format import KvFormatSpec


def loss(name: str, raw: object) -> float | None:
    found = quality_loss(model(name), validate(KvFormatSpec, raw))
    return None if found is None else found.value


@pytest.mark.parametrize("name", ["llama-3.1-8b", "deepseek-v3", "opt-13b"])
def test_sixteen_bit_is_the_reference(name: str) -> None:
    assert loss(name, "bf16") == loss(name, "f16") == loss(name, {"k": "f16", "v": "bf16"}) == 0


def test_published_pairs() -> None:
    # sums over the six benchmarks of LMDeploy's table: 229.57 at 16 bits, 229.27 with int8, 225.45 with int4
    assert loss("llama-2-7b", "int8") == pytest.approx(1 - 229.27 / 229.57)
    assert loss("llama-2-7b", "int4") == pytest.approx(1 - 225.45 / 229.57)
    # a perplexity rises: 6.234369 over 6.232196
    assert loss("llama-3-8b", "q8_0") == pytest.approx(6.234369 / 6.232196 - 1)
    assert loss("llama-3.1-8b", "fp8_e4m3") == pytest.approx(1 - 68.0 / 68.3)
    # KIVI: sums over three benchmarks; uniform 2 bits per token collapse to 82.46 of 118.57
    assert loss("mistral-7b", "kivi2") == pytest.approx(1 - 134.53 / 136.21)
    assert loss("llama-2-13b", "int2") == pytest.approx(1 - 82.46 / 118.57)
    assert loss("llama-7b", "kvquant2") == pytest.approx(6.01 / 5.68 - 1)
    assert loss("llama-3.1-8b", "kivi4") == pytest.approx(1 - 0.8011 / 0.8038)


def test_a_gain_is_noise_not_a_negative_loss() -> None:
    assert loss("gpt-oss-120b", "fp8_e4m3") == 0
    assert loss("llama-3.3-70b", "fp8_e4m3") == 0


def test_unknown_is_none_never_zero() -> None:
    assert loss("llama-3.1-8b", "fp8_e5m2") is None
    assert loss("yi-34b", "int8") is None
    assert loss("llama-3.1-8b", {"k": "bf16", "v": "fp8_e4m3"}) is None
    assert loss("llama-3.1-8b", {"default": "fp8_e4m3", "groups": {"last": {"layers": 31, "k": "bf16"}}}) is None


def test_a_latent_is_looked_up_by_k() -> None:
    assert loss("deepseek-r1", {"k": "fp8_e4m3", "v": "bf16"}) == loss("deepseek-r1", "fp8_e4m3")


@pytest.mark.parametrize("name", names("quality"))
def test_every_row_is_about_a_preset_and_complete(name: str) -> None:
    source = read("quality", name, QualitySource)
    models = {model(n).name for n in list_presets("models")}
    for row in source.rows:
        assert row.model in models
        assert len(row.baseline) == len(row.score) == len(source.benchmarks)
        assert find_format(row.k) and find_format(row.v)
