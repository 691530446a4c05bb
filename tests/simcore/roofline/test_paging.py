"""Pages of models with recurrent layers, against block sizes, pools and concurrency that vLLM logs."""

from __future__ import annotations

import pytest

from simcore.errors import InputError
from simcore.presets import model
from simcore.quantization.kv_bytes import kv_footprint_per_gpu, layer_groups
from simcore.roofline.memory import pool, tier_blocks
from simcore.roofline.paging import block_tokens, paging, tier_block_bytes
from simcore.specs.base import validate
from simcore.specs.engine import EngineSpec
from simcore.specs.kv_format import KvFormatSpec
from simcore.specs.model import ModelSpec, RecurrentSpec
from simcore.units import GIB


def fmt(raw: object) -> KvFormatSpec:
    return validate(KvFormatSpec, raw)


BF16 = fmt("bf16")


QWEN3_6_27B, QWEN3_NEXT = model("qwen3.6-27b"), model("qwen3-next-80b-a3b")
QWEN3_5_4B = model(
    "qwen3.6-27b", layers=32, recurrent=RecurrentSpec(
        layers=24, heads=32, state_values=32 * 128 * 128, conv_values=3 * (2 * 16 * 128 + 32 * 128), state_format="f32"
    ),
)  # fmt: skip


@pytest.mark.parametrize(
    ("spec", "kind", "tp", "logged"),
    [
        (QWEN3_6_27B, "bf16", 1, 784),  # vllm-project/vllm#47430
        (QWEN3_6_27B, "fp8_e4m3", 2, 1568),  # mitchross/talos-argocd-proxmox#1995
        (model("qwen3.5-397b-a17b"), "bf16", 2, 2096),  # vllm-project/vllm#35703
        (QWEN3_5_4B, "bf16", 1, 528),  # vllm-project/vllm#40696
    ],
)
def test_forced_blocks(spec: ModelSpec, kind: str, tp: int, logged: int) -> None:
    assert block_tokens(spec, fmt(kind), EngineSpec(), tp) == logged


def test_a_page_is_padded_as_logged() -> None:
    """vllm-project/vllm#37467: a block of 528 tokens pads the state by 0.76 %."""
    state = layer_groups(QWEN3_5_4B, BF16, 1)[-1]
    pages = paging(QWEN3_5_4B, BF16, EngineSpec())
    per_layer = pages.page_bytes / 8
    assert per_layer / (state.fixed_bytes_per_sequence / state.layers) == pytest.approx(1.0076, abs=5e-5)


def test_a_logged_pool_and_its_concurrency() -> None:
    """mitchross/talos-argocd-proxmox#1995, Qwen3.8-27B (geometry of 3.6), two GPUs, fp8 cache, 4.99 GiB on each: 302,921
    tokens and 2.31 requests of 131,072; a request of 262,144 takes 168 blocks."""
    pages = paging(QWEN3_6_27B, fmt("fp8_e4m3"), EngineSpec(), 2)
    held = int(4.99 * GIB // pages.page_bytes)
    request = pages.blocks_of(131_072) * pages.pages_per_block + pages.sequence_pages
    assert (held, request) == (208, 90)
    assert int(held / request * 131_072) == pytest.approx(302_921, abs=1)
    assert pages.blocks_of(262_144) == 168


def test_a_shared_prefix_shorter_than_the_block() -> None:
    """vllm-project/vllm#54607: 240 shared tokens, blocks of 784: nothing to reuse; 16 would reuse them all."""
    forced = block_tokens(QWEN3_6_27B, BF16, EngineSpec())
    own = block_tokens(QWEN3_6_27B, BF16, EngineSpec(state_pages="separate"))
    assert (240 // forced * forced, 240 // own * own) == (0, 240)


def test_two_terms() -> None:
    """12 of 48 layers grow with the tokens; the others cost their state, whatever the length."""
    footprint = kv_footprint_per_gpu(QWEN3_NEXT, BF16, 1)
    assert footprint.bytes_per_token == 12 * 2 * 2 * 256 * 2
    assert footprint.fixed_bytes_per_sequence == 36 * (2 * 32 * 128 * 128 + 2 * 3 * 8192)
    assert [(g.kind, g.layers) for g in layer_groups(QWEN3_NEXT, BF16, 1)] == [("full", 12), ("state", 36)]


def test_states_of_the_running_sequences_are_set_aside() -> None:
    engine = EngineSpec(max_num_seqs=8)
    pages, held = paging(QWEN3_NEXT, BF16, engine), pool(QWEN3_NEXT, BF16, engine, 10 * GIB)
    assert held.block_tokens == pages.block_tokens == 544
    assert held.reserved_bytes == 8 * 3 * 2 * pages.page_bytes
    assert held.blocks == (10 * GIB - held.reserved_bytes) // pages.block_bytes
    separate = EngineSpec(max_num_seqs=8, state_pages="separate", states_per_sequence=1)
    assert pool(QWEN3_NEXT, BF16, separate, 10 * GIB).reserved_bytes == 8 * 36 * (2 * 32 * 128 * 128 + 2 * 3 * 8192)


def test_a_block_below_hbm_has_the_states_at_its_end() -> None:
    size = tier_block_bytes(QWEN3_NEXT, BF16, EngineSpec())
    footprint = kv_footprint_per_gpu(QWEN3_NEXT, BF16, 1)
    assert size == footprint.bytes_of(544)
    assert tier_blocks(QWEN3_NEXT, BF16, EngineSpec(), 10 * int(size)) == 10


def test_more_attention_than_recurrent_layers() -> None:
    """A group has as many layers as the rarer kind: 24 attention layers beside 8 recurrent ones make three."""
    spec = model("llama-3.1-8b", recurrent=RecurrentSpec(layers=8, heads=8, state_values=2**20))
    pages = paging(spec, BF16, EngineSpec())
    assert (pages.pages_per_block, pages.sequence_pages) == (3, 2)
    assert pages.block_bytes == 24 * 4096 * pages.block_tokens


def test_recurrent_layers_only() -> None:
    spec = model("llama-3.1-8b", recurrent=RecurrentSpec(layers=32, heads=8, state_values=2**20))
    engine = EngineSpec(states_per_sequence=1, max_num_seqs=4)
    pages = paging(spec, BF16, engine)
    assert pages.bytes_per_sequence == 32 * 2**21
    assert kv_footprint_per_gpu(spec, BF16, 1).bytes_per_token == 0


def test_heads_of_the_state_limit_tensor_parallelism() -> None:
    spec = model("llama-3.1-8b", recurrent=RecurrentSpec(layers=8, heads=12, state_values=2**20))
    with pytest.raises(InputError, match="must divide the 12 recurrent heads"):
        paging(spec, BF16, EngineSpec(), 8)
