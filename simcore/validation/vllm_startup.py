"""What vLLM logs when it starts: weights, activations, room for the pool, and the blocks it forces on hybrid models.

* vllm-project/vllm pull request 10511, Llama-3-8B on an H100 (79.22 GiB, 0.9 of it used, budget of 8,192 tokens): weights
  14.96 GiB on one GPU and 7.48 on each of two, activations 1.26 GiB, 53.29 GiB left for the pool.
* Logs of vLLM 0.6, Llama-3.1-8B, activations 1.19 GiB, and 0.8, Qwen3-8B, 1.40 GiB (budget of 2,048 tokens).
* Blocks of hybrid models: vllm-project/vllm issues 47430 (Qwen3.6-27B, 784 tokens) and 35703 (Qwen3.5-397B-A17B on two GPUs,
  2,096), mitchross/talos-argocd-proxmox issue 1995 (Qwen3.6-27B geometry, fp8 cache on two GPUs, 1,568).
"""

from __future__ import annotations

from collections.abc import Mapping

from simcore.presets import gpu, model
from simcore.roofline.memory import activation_bytes, hbm_excess_bytes, hbm_use, usable_bytes
from simcore.roofline.paging import block_tokens
from simcore.specs.base import validate
from simcore.specs.engine import EngineSpec
from simcore.specs.kv_format import KvFormatSpec
from simcore.units import GIB
from simcore.validation.case import Case, series

SYSTEM = "vLLM start-up"
SOURCE = "vllm-project/vllm#10511 and logs of vLLM 0.6, 0.8"
HYBRID = "vllm-project/vllm#47430, #35703, mitchross/talos-argocd-proxmox#1995"

WEIGHTS_GIB = {"1 GPU": 14.96, "2 GPUs": 7.48}
ACTIVATIONS_GIB = {"llama-3-8b, 8192 tokens": 1.26, "llama-3.1-8b, 2048 tokens": 1.19, "qwen3-8b, 2048 tokens": 1.40}
BLOCK_TOKENS = {"qwen3.6-27b, bf16, tp 1": 784, "qwen3.6-27b, fp8_e4m3, tp 2": 1568, "qwen3.5-397b-a17b, bf16, tp 2": 2096}
MEMORY_BYTES = int(79.22 * GIB)
BUDGET = 8192


def cases() -> list[Case]:
    blocks = {point: float(tokens) for point, tokens in BLOCK_TOKENS.items()}
    fitted = "start-up logs of vLLM, these among them"
    return [
        *series("weights of Llama-3-8B", WEIGHTS_GIB, _weights, unit="GiB", tolerance=0.005),
        Case(quantity="memory it may use", published=71.29, ours=_usable, unit="GiB", tolerance=0.005),
        Case(quantity="room for the KV pool", published=53.29, ours=_room, unit="GiB", tolerance=0.03, fitted_on=fitted),
        *series("activation peak", ACTIVATIONS_GIB, _activations, unit="GiB", tolerance=0.10, fitted_on=fitted),
        *series("block of a hybrid model", blocks, _blocks, unit="tokens", tolerance=0, source=HYBRID),
    ]


def _weights() -> list[float]:
    cards = [gpu("h100-sxm", count=count) for count in (1, 2)]
    return [hbm_use(model("llama-3-8b"), card, EngineSpec(), 0).weights / GIB for card in cards]


def _usable() -> float:
    return usable_bytes(gpu("h100-sxm", memory_bytes=MEMORY_BYTES), EngineSpec()) / GIB


def _room() -> float:
    card, engine = gpu("h100-sxm", memory_bytes=MEMORY_BYTES), EngineSpec(max_num_batched_tokens=BUDGET)
    return -hbm_excess_bytes(model("llama-3-8b"), card, engine, 0) / GIB


def _activations() -> Mapping[str, float]:
    found = {}
    for point in ACTIVATIONS_GIB:
        name, tokens = point.removesuffix(" tokens").split(", ")
        engine = EngineSpec(max_num_batched_tokens=int(tokens), max_num_seqs=256)
        found[point] = activation_bytes(model(name), engine) / GIB
    return found


def _blocks() -> Mapping[str, float]:
    found = {}
    for point in BLOCK_TOKENS:
        name, form, tp = point.split(", ")
        found[point] = block_tokens(model(name), validate(KvFormatSpec, form), EngineSpec(), int(tp.removeprefix("tp ")))
    return found
