"""What engines print of their KV pools, as users posted it: tokens in so many GiB, GiB of so many tokens.

* vllm-project/vllm issue 33263: Qwen3-1.7B, 18.78 GiB available, 175,856 tokens.
* alvarobartt/hf-mem issue 60: gpt-oss-120b, 5.38 GiB, 78,384 tokens (sliding layers in pages of full length). Issue 70:
  gpt-oss-20b, 32 sequences of 8,192 tokens: 12.00 GiB with such pages, 6.09 GiB with windows.
* LMCache/LMCache issue 1739: Qwen3-14B, 6.51 GiB, 42,656 tokens, 1.30 times a length of 32,768. Issue 1740: 10,010 tokens of
  Qwen3-8B stored as 1.3747 GB, of 2^30 bytes.
* vllm-project/vllm issue 22291: Qwen2.5-7B, 0.164 GiB of a request of 3,072 tokens.
* vLLM's post on its offloading connector (2026-01-08): 2 MB, of 2^20 bytes, hold 16 tokens of Llama-3.1-8B.
* ggml-org/llama.cpp issue 6032: 8,192 tokens in f16, 20 GB of Qwen-72B and 2.5 GB of Llama-2-70B; ollama/ollama issue 6276:
  32,768 tokens of Llama-3.1-8B, 4 GB in f16, 1.1 GB in q4_0. Both of 2^30 bytes.
"""

from __future__ import annotations

from functools import partial
from typing import Literal

from simcore.presets import model
from simcore.quantization.kv_bytes import kv_footprint
from simcore.roofline.memory import pool
from simcore.specs.base import validate
from simcore.specs.engine import EngineSpec
from simcore.specs.kv_format import KvFormatSpec
from simcore.units import GIB, MIB
from simcore.validation.case import Case, printed

SYSTEM = "Engine logs"
SOURCE = "start-up logs posted by users of vLLM, LMCache, llama.cpp, ollama"
TOLERANCE = 0.005


def cases() -> list[Case]:
    return [
        _pool("qwen3-1.7b", 18.78, 175_856, "vllm-project/vllm#33263"),
        _pool("gpt-oss-120b", 5.38, 78_384, "alvarobartt/hf-mem#60"),
        _pool("qwen3-14b", 6.51, 42_656, "LMCache/LMCache#1739"),
        Case(
            quantity="sequences of 32,768 tokens in a pool",
            at="qwen3-14b, 6.51 GiB",
            published=1.30,
            ours=lambda: _pool_tokens("qwen3-14b", 6.51) / 32_768,
            tolerance=printed(2),
            absolute=True,
            source="LMCache/LMCache#1739",
        ),
        _held("gpt-oss-20b", 32, 8_192, 12.00, "alvarobartt/hf-mem#70"),
        _held("gpt-oss-20b", 32, 8_192, 6.09, "alvarobartt/hf-mem#70", window="ring"),
        _held("qwen3-8b", 1, 10_010, 1.3747, "LMCache/LMCache#1740"),
        _held("qwen2.5-7b", 1, 3_072, 0.164, "vllm-project/vllm#22291"),
        _held("qwen-72b", 1, 8_192, 20.0, "ggml-org/llama.cpp#6032", form="f16"),
        _held("llama-2-70b", 1, 8_192, 2.5, "ggml-org/llama.cpp#6032", form="f16"),
        _held("llama-3.1-8b", 1, 32_768, 4.0, "ollama/ollama#6276", form="f16"),
        _held("llama-3.1-8b", 1, 32_768, 2.125, "block of 34 bytes for 32 values (ggml)", form="q8_0"),
        Case(
            quantity="KV of so many tokens",
            at="llama-3.1-8b, 32,768 tokens, q4_0",
            published=1.1,
            ours=partial(_gib, "llama-3.1-8b", 1, 32_768, "q4_0", "unified"),
            unit="GiB",
            tolerance=printed(1),
            absolute=True,
            source="ollama/ollama#6276",
        ),
        Case(
            quantity="KV of a block of 16 tokens",
            at="llama-3.1-8b",
            published=2.0,
            ours=lambda: _gib("llama-3.1-8b", 1, 16, "bf16", "unified") * GIB / MIB,
            unit="MiB",
            tolerance=0,
            source="vllm.ai blog, 2026-01-08",
        ),
    ]


def _pool(name: str, gib: float, tokens: int, source: str) -> Case:
    return Case(
        quantity="KV pool, as logged",
        at=f"{name}, {gib} GiB",
        published=tokens,
        ours=partial(_pool_tokens, name, gib),
        unit="tokens",
        tolerance=TOLERANCE,
        source=source,
    )


def _held(
    name: str,
    sequences: int,
    tokens: int,
    gib: float,
    source: str,
    *,
    form: str = "bf16",
    window: Literal["unified", "ring"] = "unified",
) -> Case:
    many = f"{sequences} x " if sequences > 1 else ""
    windowed = ", windows" if window == "ring" else ""
    return Case(
        quantity="KV of so many tokens",
        at=f"{name}, {many}{tokens:,} tokens, {form}{windowed}",
        published=gib,
        ours=partial(_gib, name, sequences, tokens, form, window),
        unit="GiB",
        tolerance=TOLERANCE,
        source=source,
    )


def _pool_tokens(name: str, gib: float) -> float:
    return pool(model(name), validate(KvFormatSpec, "bf16"), EngineSpec(), int(gib * GIB)).tokens


def _gib(name: str, sequences: int, tokens: int, form: str, window: Literal["unified", "ring"]) -> float:
    return sequences * kv_footprint(model(name), validate(KvFormatSpec, form), window).bytes_of(tokens) / GIB
