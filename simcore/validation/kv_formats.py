"""Bits of quantised KV caches with all that is stored beside the values, and what 128K tokens of LLaMA-7B take in them.

* Hooper et al., "KVQuant", arXiv 2401.18079: non-uniform codes with 1 % of the values kept apart cost 4.33, 3.33 and 2.33 bits
  and save 3.7, 4.8 and 6.9 times; a cache of 131,072 tokens of LLaMA-7B is 64 GB in fp16, 13.3 and 9.3 GB in the latter two, of
  2^30 bytes. The same paper counts KIVI's 2 bits at 3.05 over 32K tokens: groups of 32, and 128 recent tokens in fp16.
* Block formats of ggml (ggml-org/ggml, ggml-common.h): 34, 24 and 18 bytes for 32 values in q8_0, q5_1 and q4_0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from simcore.presets import model
from simcore.quantization.kv_bytes import kv_footprint
from simcore.specs.base import validate
from simcore.specs.kv_format import KvFormatSpec
from simcore.units import GIB
from simcore.validation.case import Case, printed, series

Points = Callable[[], Mapping[str, float]]

SYSTEM = "KV formats"
SOURCE = "arXiv 2401.18079 (KVQuant)"
BLOCKS = "ggml-org/ggml, ggml-common.h"

KVQUANT_BITS = {"kvquant4": 4.33, "kvquant3": 3.33, "kvquant2": 2.33}
KVQUANT_SAVING = {"kvquant4": 3.7, "kvquant3": 4.8, "kvquant2": 6.9}
GB_OF_128K = {"f16": 64.0, "kvquant3": 13.3, "kvquant2": 9.3}
KIVI_BITS = {"kivi2": 3.05}
BLOCK_BYTES = {"q8_0": 34, "q5_1": 24, "q4_0": 18}


def cases() -> list[Case]:
    blocks = {name: float(size) for name, size in BLOCK_BYTES.items()}
    return [
        *_digits("bits of a value", KVQUANT_BITS, lambda: {n: _bits(n, 0) for n in KVQUANT_BITS}, 2),
        *_digits("saving against 16 bit", KVQUANT_SAVING, lambda: {n: 16 / _bits(n, 0) for n in KVQUANT_SAVING}, 1),
        *_digits("128K tokens of LLaMA-7B, GB of 2^30", GB_OF_128K, lambda: {n: _gib(n) for n in GB_OF_128K}, 1),
        *_digits("bits of a value over 32K tokens", KIVI_BITS, lambda: {n: _bits(n, 32_768) for n in KIVI_BITS}, 2),
        *series("bytes of 32 values", blocks, _block_bytes, tolerance=0, source=BLOCKS),
    ]


def _digits(quantity: str, published: Mapping[str, float], ours: Points, digits: int) -> list[Case]:
    return series(quantity, published, ours, tolerance=printed(digits), absolute=True)


def _bytes(name: str, tokens: int) -> float:
    """Cache bytes of a sequence of LLaMA-7B, the first of the models in that paper; of one more token where tokens is 0."""
    footprint = kv_footprint(model("llama-7b"), validate(KvFormatSpec, name))
    return footprint.bytes_of(tokens) if tokens else footprint.bytes_per_token


def _bits(name: str, tokens: int) -> float:
    return 16 * _bytes(name, tokens) / _bytes("f16", tokens)


def _gib(name: str) -> float:
    return _bytes(name, 131_072) / GIB


def _block_bytes() -> Mapping[str, float]:
    return {name: 32 * _bits(name, 0) / 8 for name in BLOCK_BYTES}
