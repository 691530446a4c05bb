"""The keys of published config.json files that the reader uses, and the parameter counts published with them."""

from __future__ import annotations

from typing import Any


def _llama(layers: int, hidden: int, heads: int, kv: int, ffn: int, vocab: int, longest: int, **more: Any) -> dict[str, Any]:
    return {
        "model_type": "llama", "torch_dtype": "bfloat16", "num_hidden_layers": layers, "hidden_size": hidden,
        "num_attention_heads": heads, "num_key_value_heads": kv, "intermediate_size": ffn, "vocab_size": vocab,
        "max_position_embeddings": longest, "tie_word_embeddings": False, **more,
    }  # fmt: skip


def _deepseek(layers: int, hidden: int, ffn: int, vocab: int, **more: Any) -> dict[str, Any]:
    return {
        **_llama(layers, hidden, 128, 128, ffn, vocab, 163_840), "q_lora_rank": 1536, "kv_lora_rank": 512,
        "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128, "moe_layer_freq": 1, **more,
    }  # fmt: skip


_QWEN3 = {"model_type": "qwen3", "head_dim": 128, "attention_bias": False, "sliding_window": None}
_OSS = {
    "model_type": "gpt_oss", "head_dim": 64, "sliding_window": 128, "num_experts_per_tok": 4, "attention_bias": True,
    "quantization_config": {"quant_method": "mxfp4"},
}  # fmt: skip

_GATED_DELTA = {
    "head_dim": 256, "linear_num_key_heads": 16, "linear_key_head_dim": 128, "linear_value_head_dim": 128,
    "linear_conv_kernel_dim": 4,
}  # fmt: skip


def _alternating(layers: int) -> list[str]:
    return ["sliding_attention", "full_attention"] * (layers // 2)


# preset: (config, all parameters, active parameters or None) as published on the model's page
PUBLISHED: dict[str, tuple[dict[str, Any], int, float | None]] = {
    "llama-3.1-8b": (_llama(32, 4096, 32, 8, 14336, 128_256, 131_072), 8_030_261_248, None),
    "llama-3.1-405b": (_llama(126, 16384, 128, 8, 53248, 128_256, 131_072), 405_853_388_800, None),
    "mistral-7b": (_llama(32, 4096, 32, 8, 14336, 32768, 32768, model_type="mistral", sliding_window=None),
                   7_248_023_552, None),
    "mixtral-8x7b": (_llama(32, 4096, 32, 8, 14336, 32000, 32768, model_type="mixtral", num_local_experts=8,
                            num_experts_per_tok=2), 46_702_792_704, 12.9e9),
    "qwen2.5-7b": (_llama(28, 3584, 28, 4, 18944, 152_064, 32768, model_type="qwen2", sliding_window=131_072,
                          use_sliding_window=False), 7_615_616_512, None),
    "qwen3-1.7b": ({**_llama(28, 2048, 16, 8, 6144, 151_936, 40960), **_QWEN3, "tie_word_embeddings": True},
                   1_720_574_976, None),
    "qwen3-30b-a3b": ({**_llama(48, 2048, 32, 4, 6144, 151_936, 40960), **_QWEN3, "model_type": "qwen3_moe",
                       "num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768,
                       "decoder_sparse_step": 1, "mlp_only_layers": []}, 30_532_122_624, 3.35e9),
    "deepseek-v2": (_deepseek(60, 5120, 12288, 102_400, model_type="deepseek_v2", n_routed_experts=160,
                              num_experts_per_tok=6, n_shared_experts=2, moe_intermediate_size=1536,
                              first_k_dense_replace=1), 235_741_434_880, 21e9),
    "deepseek-v3": (_deepseek(61, 7168, 18432, 129_280, model_type="deepseek_v3", n_routed_experts=256,
                              num_experts_per_tok=8, n_shared_experts=1, moe_intermediate_size=2048,
                              first_k_dense_replace=3, quantization_config={"quant_method": "fp8"}),
                    671_026_419_200, 37e9),
    "qwen3-next-80b-a3b": (
        {**_llama(48, 2048, 16, 2, 5120, 151_936, 262_144), **_GATED_DELTA, "model_type": "qwen3_next", "num_experts": 512,
         "num_experts_per_tok": 10, "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512,
         "linear_num_value_heads": 32, "full_attention_interval": 4, "decoder_sparse_step": 1, "mlp_only_layers": []},
        79_674_391_296, 3.9e9),
    "qwen3.6-27b": ({"model_type": "qwen3_5", "torch_dtype": "bfloat16", "text_config": {
        **_llama(64, 5120, 24, 4, 17408, 248_320, 262_144), **_GATED_DELTA, "model_type": "qwen3_5_text",
        "linear_num_value_heads": 48, "layer_types": (["linear_attention"] * 3 + ["full_attention"]) * 16,
        "attn_output_gate": True, "mamba_ssm_dtype": "float32"}}, 26_895_998_464, None),
    "nemotron-3-nano-30b-a3b": (
        {**_llama(52, 2688, 32, 2, 1856, 131_072, 262_144), "model_type": "nemotron_h", "head_dim": 128,
         "hybrid_override_pattern": "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME", "mamba_num_heads": 64,
         "mamba_head_dim": 64, "ssm_state_size": 128, "n_groups": 8, "conv_kernel": 4, "n_routed_experts": 128,
         "n_shared_experts": 1, "num_experts_per_tok": 6, "moe_intermediate_size": 1856,
         "moe_shared_expert_intermediate_size": 3712}, 31_577_940_288, 3.6e9),
    "gpt-oss-120b": ({**_llama(36, 2880, 64, 8, 2880, 201_088, 131_072), **_OSS, "num_local_experts": 128,
                      "layer_types": _alternating(36)}, 116_829_156_672, None),
    "gpt-oss-20b": ({**_llama(24, 2880, 64, 8, 2880, 201_088, 131_072), **_OSS, "num_local_experts": 32,
                     "layer_types": _alternating(24)}, 20_914_757_184, None),
    "phi-3-mini": (_llama(32, 3072, 32, 32, 8192, 32064, 131_072, model_type="phi3", sliding_window=262_144),
                   3_821_079_552, None),
    "opt-13b": ({"model_type": "opt", "torch_dtype": "float16", "num_hidden_layers": 40, "hidden_size": 5120,
                 "num_attention_heads": 40, "ffn_dim": 20480, "vocab_size": 50272, "max_position_embeddings": 2048},
                12_853_473_280, None),
    "falcon-40b": ({"model_type": "falcon", "torch_dtype": "bfloat16", "num_hidden_layers": 60, "hidden_size": 8192,
                    "num_attention_heads": 128, "num_kv_heads": 8, "new_decoder_architecture": True,
                    "vocab_size": 65024}, 41_303_293_952, None),
}  # fmt: skip

LLAMA_8B = PUBLISHED["llama-3.1-8b"][0]
GPT_OSS_20B = PUBLISHED["gpt-oss-20b"][0]
DEEPSEEK_V3 = PUBLISHED["deepseek-v3"][0]
MIXTRAL = PUBLISHED["mixtral-8x7b"][0]
QWEN3_NEXT = PUBLISHED["qwen3-next-80b-a3b"][0]
NEMOTRON_NANO = PUBLISHED["nemotron-3-nano-30b-a3b"][0]
JAMBA = {
    **_llama(32, 4096, 32, 8, 14336, 65536, 262_144), "model_type": "jamba", "attn_layer_period": 8, "attn_layer_offset": 4,
    "expert_layer_period": 2, "expert_layer_offset": 1, "num_experts": 16, "num_experts_per_tok": 2, "mamba_d_state": 16,
    "mamba_d_conv": 4, "mamba_expand": 2, "mamba_dt_rank": 256,
}  # fmt: skip
