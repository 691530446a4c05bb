"""Hugging Face config.json files as models: counts, shapes, and one clear message for each way they can be wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simcore.errors import InputError
from simcore.presets import model
from simcore.presets.hf_config import read_config
from tests.simcore.presets.configs import (
    DEEPSEEK_V3,
    GPT_OSS_20B,
    JAMBA,
    LLAMA_8B,
    MIXTRAL,
    NEMOTRON_NANO,
    PUBLISHED,
    QWEN3_NEXT,
)


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def write_config(data: object) -> Path:
        path = tmp_path / "config.json"
        path.write_text(data if isinstance(data, str) else json.dumps(data))
        return path

    return write_config


@pytest.mark.parametrize("name", PUBLISHED)
def test_counts_match_what_is_published(name: str, write: Any) -> None:
    config, total, active = PUBLISHED[name]
    found = read_config(write(config))
    assert found["params"] == pytest.approx(total, rel=1e-6)
    assert found["active_params"] == pytest.approx(active or found["active_params"], rel=0.02)


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_preset_says_what_its_config_says(name: str, write: Any) -> None:
    told, preset = model(str(write(PUBLISHED[name][0]))), model(name)
    same = {"preset", "name", "source", "date", "mla"}
    assert {f: getattr(told, f) for f in type(told).model_fields if f not in same} == {
        f: getattr(preset, f) for f in type(preset).model_fields if f not in same
    }
    if told.mla is not None and preset.mla is not None:
        assert told.mla.kv_lora_rank == preset.mla.kv_lora_rank == 512


def test_jamba(write: Any) -> None:
    """huggingface.co/ai21labs/Jamba-v0.1: 52B parameters, 12B active; attention in one layer of eight, a mixture in two."""
    found = read_config(write(JAMBA))
    assert found["params"] == pytest.approx(52e9, rel=0.01) and found["active_params"] == pytest.approx(12e9, rel=0.01)
    assert found["recurrent"]["layers"] == 28
    assert found["recurrent"]["state_values"] == 8192 * 16 and found["recurrent"]["conv_values"] == 3 * 8192


def test_older_spellings_of_mamba_2(write: Any) -> None:
    """Bamba says which layers are attention, Granite 4 lists all kinds; both spell Mamba's dimensions in their own way."""
    sizes = {"mamba_n_heads": 128, "mamba_d_head": 64, "mamba_d_state": 128, "mamba_n_groups": 1, "mamba_d_conv": 4}
    bamba = read_config(write({**LLAMA_8B, **sizes, "model_type": "bamba", "attn_layer_indices": [9, 18, 27]}))
    kinds = ["attention" if layer in (9, 18, 27) else "mamba" for layer in range(32)]
    granite = read_config(write({**LLAMA_8B, **sizes, "model_type": "granitemoehybrid", "layer_types": kinds}))
    assert bamba["recurrent"] == granite["recurrent"]
    assert bamba["recurrent"] == {
        "layers": 29, "heads": 128, "state_values": 2**20, "conv_values": 3 * (8192 + 256), "state_format": "bf16",
    }  # fmt: skip


def test_the_text_part_of_a_vision_model(write: Any) -> None:
    text = {k: v for k, v in LLAMA_8B.items() if k != "torch_dtype"}
    found = read_config(write({"model_type": "llava", "torch_dtype": "float16", "hidden_size": 1, "text_config": text}))
    assert (found["params"], found["hidden_size"], found["dtype"]) == (8_030_261_248, 4096, "f16")


def test_a_folder_holds_its_config(tmp_path: Path) -> None:
    folder = tmp_path / "Llama-3.1-8B"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(LLAMA_8B))
    assert model(str(folder)).name == "Llama-3.1-8B"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"layer_types": None}, 12),  # gpt_oss alternates without saying so
        ({"layer_types": ["full_attention"] * 24}, None),
        ({"sliding_window": 131_072}, None),  # a window as long as the longest context
        ({"layer_types": None, "model_type": "mistral"}, 24),
        ({"layer_types": None, "model_type": "gemma3_text", "sliding_window_pattern": 6}, 20),
        ({"layer_types": None, "model_type": "qwen2", "use_sliding_window": True, "max_window_layers": 20}, 4),
        ({"layer_types": None, "model_type": "qwen2", "use_sliding_window": False}, None),
    ],
)
def test_windowed_layers(changes: dict[str, Any], expected: int | None, write: Any) -> None:
    found = read_config(write({**GPT_OSS_20B, **changes}))
    assert (found.get("sliding") or {}).get("layers") == expected


@pytest.mark.parametrize(
    ("quantised", "expected"),
    [
        ({"quant_method": "fp8"}, "fp8"),
        ({"quant_method": "awq", "bits": 4}, "int4"),
        ({"quant_method": "gptq", "bits": 8}, "int8"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "int4"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "nvfp4"),
        ({"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float"}}}},
         "fp8"),
        ({"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "int"}}}},
         "int4"),
    ],
)  # fmt: skip
def test_quantised_checkpoints(quantised: dict[str, Any], expected: str, write: Any) -> None:
    assert read_config(write({**LLAMA_8B, "quantization_config": quantised}))["dtype"] == expected


def test_older_spellings(write: Any) -> None:
    gpt2 = {"model_type": "gpt2", "n_layer": 12, "n_embd": 768, "n_head": 12, "n_positions": 1024, "vocab_size": 50257}
    found = read_config(write(gpt2))
    assert found["params"] == pytest.approx(124_439_808, rel=1e-6)  # huggingface.co/openai-community/gpt2
    assert found["tied_embeddings"] and found["intermediate_size"] == 3072
    falcon_7b = {
        "model_type": "falcon", "num_hidden_layers": 32, "hidden_size": 4544, "num_attention_heads": 71,
        "multi_query": True, "vocab_size": 65024,
    }  # fmt: skip
    found = read_config(write(falcon_7b))
    assert (found["kv_heads"], found["head_dim"], found["max_model_len"]) == (1, 64, 2048)


@pytest.mark.parametrize(
    ("base", "changes", "key", "rule"),
    [
        (LLAMA_8B, {"num_hidden_layers": None}, "num_hidden_layers", "is required (or n_layer, num_layers)"),
        (LLAMA_8B, {"hidden_size": "big"}, "hidden_size", "whole number of at least 1; got big"),
        (LLAMA_8B, {"hidden_size": -1}, "hidden_size", "whole number of at least 1; got -1"),
        (LLAMA_8B, {"vocab_size": True}, "vocab_size", "whole number"),
        (LLAMA_8B, {"num_key_value_heads": 5}, "num_key_value_heads", "must divide num_attention_heads (32); got 5"),
        (LLAMA_8B, {"hidden_size": 4097}, "head_dim", "is required: hidden_size 4097"),
        (LLAMA_8B, {"torch_dtype": "int3"}, "torch_dtype", "unknown weight type; got int3"),
        (LLAMA_8B, {"quantization_config": {"quant_method": "zip"}}, "quantization_config.quant_method", "not known; got zip"),
        (LLAMA_8B, {"layer_types": ["full_attention"]}, "layer_types", "must list the 32 layers"),
        (LLAMA_8B, {"layer_types": ["linear_attention"] * 32}, "layer_types", "not modelled; got linear_attention"),
        (LLAMA_8B, {"mamba_d_state": 16}, "layer_types", "is required: which layers are attention"),
        (LLAMA_8B, {"attn_type_list": [0, 1]}, "attn_type_list", "layers of this kind are not modelled"),
        (LLAMA_8B, {"model_type": "falcon_h1", "mamba_d_state": 16}, "model_type", "side by side in one layer"),
        (QWEN3_NEXT, {"linear_num_key_heads": None}, "linear_num_key_heads", "is required"),
        (QWEN3_NEXT, {"layer_types": ["linear_attention", "psychic"] * 24}, "layer_types", "not modelled; got psychic"),
        (NEMOTRON_NANO, {"hybrid_override_pattern": "M*Z"}, "hybrid_override_pattern", "for each of the 52 blocks"),
        (NEMOTRON_NANO, {"ssm_state_size": None}, "ssm_state_size", "is required"),
        (GPT_OSS_20B, {"sliding_window": None}, "sliding_window", "is required"),
        (DEEPSEEK_V3, {"qk_rope_head_dim": None}, "qk_rope_head_dim", "is required"),
        (DEEPSEEK_V3, {"first_k_dense_replace": 62}, "first_k_dense_replace", "must name layers of the 61"),
        (MIXTRAL, {"num_experts_per_tok": None}, "num_experts_per_tok", "is required"),
        (MIXTRAL, {"num_experts_per_tok": 9}, "num_experts_per_tok", "must not exceed the 8 experts; got 9"),
    ],
)
def test_wrong_values_name_file_key_and_rule(
    base: dict[str, Any], changes: dict[str, Any], key: str, rule: str, write: Any
) -> None:
    path = write({**base, **changes})
    with pytest.raises(InputError) as caught:
        read_config(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: {key}: ") and rule in message and "\n" not in message


@pytest.mark.parametrize(
    ("text", "rule"),
    [("{", "is not valid JSON"), ("[1]", "must be a JSON object"), ("\x00", "binary"), ("[" * 100_000, "nested too deeply")],
)
def test_files_that_are_no_config(text: str, rule: str, write: Any) -> None:
    with pytest.raises(InputError, match=rule):
        read_config(write(text))


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_config(tmp_path / "config.json")
