"""KV cache bytes per token, in 16 bit, of published models.

What each model's authors publish (layers, KV heads and head size, or the ranks of a latent, in config.json) times two bytes,
over all layers, each head once. Five are printed as such elsewhere: OPT-13B 800 KB (Kwon et al., arXiv 2309.06180, section 3),
DeepSeek-V3 70.272 KB, Qwen2.5-72B 327.680 KB and Llama-3.1-405B 516.096 KB (DeepSeek-AI, arXiv 2505.09343, table 1), LLaMA-65B
2.5 MB (Gao et al., arXiv 2403.19708).
"""

from __future__ import annotations

from collections.abc import Mapping

from simcore.presets import model
from simcore.quantization.kv_bytes import kv_bytes_per_token
from simcore.specs.base import validate
from simcore.specs.kv_format import KvFormatSpec
from simcore.validation.case import Case, series

SYSTEM = "Model configurations"
SOURCE = "config.json of each model; some in arXiv 2309.06180, 2505.09343, 2403.19708"

BYTES_PER_TOKEN = {
    "opt-6.7b": 524_288,
    "opt-13b": 819_200,
    "opt-30b": 1_376_256,
    "opt-66b": 2_359_296,
    "opt-175b": 4_718_592,
    "llama-65b": 2_621_440,
    "llama-2-7b": 524_288,
    "llama-2-13b": 819_200,
    "llama-2-70b": 327_680,
    "llama-3-8b": 131_072,
    "llama-3-70b": 327_680,
    "llama-3.1-8b": 131_072,
    "llama-3.1-70b": 327_680,
    "llama-3.1-405b": 516_096,
    "mistral-7b": 131_072,
    "mixtral-8x7b": 131_072,
    "mixtral-8x22b": 229_376,
    "qwen2.5-7b": 57_344,
    "qwen2.5-14b": 196_608,
    "qwen2.5-32b": 262_144,
    "qwen2.5-72b": 327_680,
    "qwen3-0.6b": 114_688,
    "qwen3-1.7b": 114_688,
    "qwen3-4b": 147_456,
    "qwen3-8b": 147_456,
    "qwen3-14b": 163_840,
    "qwen3-32b": 262_144,
    "qwen3-30b-a3b": 98_304,
    "qwen3-235b-a22b": 192_512,
    "deepseek-v2": 69_120,
    "deepseek-v3": 70_272,
    "deepseek-r1": 70_272,
    "phi-3-mini": 393_216,
    "phi-3-medium": 204_800,
    "yi-34b": 245_760,
    "falcon-40b": 122_880,
    "smollm2-135m": 23_040,
}
FP8_LATENT = {"deepseek-v3": 40_016}


def cases() -> list[Case]:
    names = {name: float(size) for name, size in BYTES_PER_TOKEN.items()}
    latent = {name: float(size) for name, size in FP8_LATENT.items()}
    return [
        *series("KV of a token, 16 bit", names, _sixteen_bit, unit="B", tolerance=0),
        *series("KV of a token, fp8 latent", latent, _fp8_latent, unit="B", tolerance=0, source="656 B a layer, DeepSeek-V3.2"),
    ]


def _sixteen_bit() -> Mapping[str, float]:
    return {name: _bytes(name, "bf16") for name in BYTES_PER_TOKEN}


def _fp8_latent() -> Mapping[str, float]:
    return {name: _bytes(name, "fp8_ds_mla") for name in FP8_LATENT}


def _bytes(name: str, form: str) -> float:
    return kv_bytes_per_token(model(name), validate(KvFormatSpec, form))
