"""A Hugging Face config.json as the fields of a ModelSpec.

Understood: grouped-query attention, multi-head latent attention, sliding windows (`layer_types`, or the older keys), mixtures
of experts with shared experts and dense layers, tied embeddings, quantised checkpoints, the text part of vision models.
Recurrent layers: see `hf_recurrent`. Refused: other layers whose state is not a KV cache.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from simcore.presets.hf_params import Mixture, Shape, parameters
from simcore.presets.hf_recurrent import FULL, RECURRENT, WINDOWED, Recurrent, read_recurrent, recurrent_fields
from simcore.presets.hf_values import Values, read_values

_DTYPES = {"bfloat16": "bf16", "float16": "f16", "float32": "f32"}
_QUANTISED = {"fp8": "fp8", "fbgemm_fp8": "fp8", "mxfp4": "mxfp4", "nvfp4": "nvfp4"}
_BITS = {4: "int4", 8: "int8"}


def read_config(path: Path) -> dict[str, Any]:
    """The fields of a ModelSpec from a config.json. Parameters are counted from the shapes; a vision tower is not counted.

    Raises:
        InputError: the file cannot be read, a key is missing or wrong, or the architecture is not one that is understood.
    """
    values = read_values(path)
    shape = _shape(values)
    total, active = parameters(shape)
    max_len = values.whole(
        "max_position_embeddings", "n_positions", "seq_length", "max_sequence_length",
        default=2048 if shape.model_type == "falcon" else None,
    )  # fmt: skip
    fields: dict[str, Any] = {
        "name": _name(values, path),
        "params": total,
        "active_params": active,
        "layers": shape.layers,
        "hidden_size": shape.hidden,
        "query_heads": shape.heads,
        "kv_heads": shape.kv_heads,
        "head_dim": shape.head_dim,
        "intermediate_size": shape.mixture.width if shape.mixture else shape.width,
        "vocab_size": shape.vocabulary,
        "tied_embeddings": shape.tied,
        "max_model_len": max_len,
        "dtype": _dtype(values),
        "source": f"computed from {path.name}",
    }
    if shape.latent is not None:
        fields["mla"] = {"kv_lora_rank": shape.latent, "qk_rope_head_dim": shape.rope_dim}
        fields["mla"] |= {"qk_nope_head_dim": shape.head_dim, "v_head_dim": shape.value_dim}
    if shape.mixture is not None:
        fields |= {"experts": shape.mixture.experts, "experts_per_token": shape.mixture.chosen}
    if shape.recurrent is not None:
        fields["recurrent"] = recurrent_fields(values, shape.recurrent)
    window = _sliding(values, shape.layers, max_len, shape.recurrent is not None)
    if window is not None:
        fields["sliding"] = window
    return fields


def _name(values: Values, path: Path) -> str:
    named = values.get("_name_or_path", "name_or_path")
    if isinstance(named, str) and named.strip("./"):
        return named.rstrip("/").rsplit("/", 1)[-1]
    return path.parent.name if path.name == "config.json" and path.parent.name else path.stem


def _shape(values: Values) -> Shape:
    layers = values.whole("num_hidden_layers", "n_layer", "num_layers")
    hidden = values.whole("hidden_size", "n_embd", "d_model")
    heads = values.whole("num_attention_heads", "n_head")
    one_kv_head = values.get("multi_query") is True and values.get("new_decoder_architecture") is not True
    kv_keys = ("num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num")
    kv_heads = 1 if one_kv_head else values.whole(*kv_keys, default=heads)
    if heads % kv_heads:
        raise values.error(kv_keys[0], f"must divide num_attention_heads ({heads})", kv_heads)
    latent = values.whole("kv_lora_rank", default=0, least=0) or None
    if latent is None and values.get("head_dim") is None and hidden % heads:
        raise values.error("head_dim", f"is required: hidden_size {hidden} is no multiple of {heads} heads")
    head_dim = values.whole("head_dim", "attention_head_dim", default=max(1, hidden // heads))
    if latent is not None:
        head_dim = values.whole("qk_nope_head_dim")
    width = values.whole("intermediate_size", "ffn_dim", "ffn_hidden_size", "n_inner", default=4 * hidden)
    model_type = str(values.get("model_type") or "")
    recurrent = read_recurrent(values, layers, hidden)
    blocks = layers if recurrent is None else recurrent.feed_forward
    return Shape(
        model_type=model_type,
        layers=layers if recurrent is None else recurrent.attention + recurrent.recurrent,
        hidden=hidden,
        heads=heads,
        kv_heads=heads if latent is not None else kv_heads,
        head_dim=head_dim,
        value_dim=values.whole("v_head_dim", default=head_dim) if latent is not None else head_dim,
        latent=latent,
        rope_dim=values.whole("qk_rope_head_dim") if latent is not None else 0,
        query_latent=values.whole("q_lora_rank", default=0, least=0),
        width=width,
        vocabulary=values.whole("vocab_size", "padded_vocab_size"),
        positions=values.whole("max_position_embeddings", "n_positions", default=0, least=0),
        tied=bool(values.data.get("tie_word_embeddings", model_type in {"opt", "falcon", "gpt2", "gemma2", "gemma3_text"})),
        attention_bias=bool(values.get("attention_bias")),
        mixture=_mixture(values, layers, width, recurrent),
        recurrent=recurrent,
        feed_forward=blocks,
        gated_query=bool(values.get("attn_output_gate")) or model_type.startswith("qwen3_next"),
    )


def _mixture(values: Values, layers: int, width: int, recurrent: Recurrent | None) -> Mixture | None:
    experts = values.whole("num_local_experts", "n_routed_experts", "num_experts", "moe_num_experts", default=0, least=0)
    if experts <= 1:
        return None
    chosen = values.whole("num_experts_per_tok", "experts_per_token", "num_experts_per_token", "moe_top_k")
    if chosen > experts:
        raise values.error("num_experts_per_tok", f"must not exceed the {experts} experts", chosen)
    each = values.whole("moe_intermediate_size", default=width)
    first_dense = values.whole("first_k_dense_replace", default=0, least=0)
    step = values.whole("decoder_sparse_step", "moe_layer_freq", "interleave_moe_layer_step", default=1)
    named = values.get("mlp_only_layers") or []
    if not isinstance(named, list) or first_dense > layers:
        key = "first_k_dense_replace" if isinstance(named, list) else "mlp_only_layers"
        raise values.error(key, f"must name layers of the {layers}", values.get(key))
    sparse = sum(layer >= first_dense and (layer + 1) % step == 0 and layer not in named for layer in range(layers))
    shared = each * values.whole("n_shared_experts", default=0, least=0)
    shared += values.whole("shared_expert_intermediate_size", default=0, least=0)
    if values.get("moe_shared_expert_intermediate_size") is not None:
        shared = values.whole("moe_shared_expert_intermediate_size")
    if recurrent is not None and recurrent.mixtures is not None:
        sparse = recurrent.mixtures
        if sparse == 0:
            return None
    return Mixture(experts=experts, chosen=chosen, width=each, shared_width=shared, layers=sparse)


def _sliding(values: Values, layers: int, max_len: int, hybrid: bool) -> dict[str, int] | None:
    """Window and number of windowed layers; a window no shorter than the longest context is none."""
    kinds = values.get("layer_types")
    if kinds is not None:
        if not isinstance(kinds, list) or len(kinds) < layers:
            raise values.error("layer_types", f"must list the {layers} layers", kinds)
        known = FULL | WINDOWED | (RECURRENT if hybrid else set())
        unknown = next((kind for kind in kinds[:layers] if kind not in known), None)
        if unknown is not None:
            hint = f"one of: {', '.join(sorted(known))}"
            raise values.error("layer_types", "has a kind of layer that is not modelled", unknown, hint)
        count = sum(kind in WINDOWED for kind in kinds[:layers])
    elif values.get("sliding_window") is None or values.data.get("use_sliding_window") is False:
        return None
    else:
        count = _windowed_by_rule(values, layers)
    if count == 0:
        return None
    window = values.whole("sliding_window", "attention_chunk_size")
    return {"window_tokens": window, "layers": count} if window < max_len else None


def _windowed_by_rule(values: Values, layers: int) -> int:
    """How many layers are windowed where the config lists no kinds (configs older than `layer_types`)."""
    pattern = values.get("sliding_window_pattern", "_sliding_window_pattern")
    if isinstance(pattern, int) and pattern > 0:
        return layers - layers // pattern
    if values.get("model_type") in {"gemma2", "gpt_oss"}:
        return layers - layers // 2
    if str(values.get("model_type")).startswith("qwen"):
        return layers - min(layers, values.whole("max_window_layers", default=layers, least=0))
    return layers


def _dtype(values: Values) -> str:
    """The weight format of the checkpoint."""
    quantised = values.get("quantization_config")
    if isinstance(quantised, dict):
        return _quantised(values, quantised)
    name = str(values.get("torch_dtype", "dtype") or "bfloat16").removeprefix("torch.")
    if name not in _DTYPES:
        raise values.error("torch_dtype", "unknown weight type", name, f"one of: {', '.join(_DTYPES)}")
    return _DTYPES[name]


def _quantised(values: Values, config: dict[str, Any]) -> str:
    method = str(config.get("quant_method", ""))
    algorithm = str(config.get("quant_algo", "")).lower()
    if method in _QUANTISED or algorithm in _QUANTISED:
        return _QUANTISED.get(method) or _QUANTISED[algorithm]
    if method == "bitsandbytes":
        return "int4" if config.get("load_in_4bit") else "int8"
    if method == "compressed-tensors":
        groups = config.get("config_groups")
        first: Any = next(iter(groups.values()), {}) if isinstance(groups, dict) else {}
        weights = first.get("weights") if isinstance(first, dict) else None
        config = {"bits": (weights or {}).get("num_bits")}
        if (weights or {}).get("type") == "float":
            return "fp8" if config["bits"] == 8 else "nvfp4"
    if config.get("bits") in _BITS:
        return _BITS[config["bits"]]
    hint = f"known: {', '.join(sorted([*_QUANTISED, 'awq', 'bitsandbytes', 'compressed-tensors', 'gptq']))}"
    raise values.error("quantization_config.quant_method", "is a quantisation that is not known", method or None, hint)
