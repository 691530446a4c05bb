"""Recurrent layers of a Hugging Face config.json: how many, the state each keeps, the parameters each has.

Understood: gated delta networks (Qwen3-Next, Qwen3.5 and later), Mamba-2 (Nemotron-H, Bamba, Granite 4), Mamba-1 (Jamba). A
state and the window of its convolution are what the engines keep for one sequence:

    gated delta   heads * key dim * value dim            (kernel - 1) * (2 * key width + value width)
    Mamba-2       heads * head dim * state size          (kernel - 1) * (inner width + 2 * groups * state size)
    Mamba-1       inner width * state size               (kernel - 1) * inner width
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from simcore.presets.hf_values import Values

FULL = {"full_attention", "attention", "global_attention"}
WINDOWED = {"sliding_attention", "chunked_attention", "local_attention"}
RECURRENT = {"linear_attention", "mamba", "gated_delta_net", "mamba2"}
_UNKNOWN = ("attn_type_list", "linear_attn_config", "conv_L_cache", "layers_block_type", "rwkv_config", "lru_width")
"""Keys of architectures whose layers are not modelled: lightning attention, Kimi's delta attention, short convolutions ..."""
_MARKS = ("linear_num_value_heads", "mamba_d_state", "ssm_state_size", "hybrid_override_pattern", "attn_layer_period")


@dataclass(frozen=True)
class Recurrent:
    """The layers of a hybrid model.

    Attributes:
        attention, recurrent: how many layers of each kind.
        feed_forward: blocks with a feed-forward, of which some may be mixtures.
        mixtures: of those, mixtures of experts; None: by the config's other keys.
        heads, state_values, conv_values: of one recurrent layer, see `RecurrentSpec`.
        params: parameters of one recurrent layer, its norms and feed-forward apart.
    """

    attention: int
    recurrent: int
    feed_forward: int
    mixtures: int | None
    heads: int
    state_values: int
    conv_values: int
    params: int


def read_recurrent(values: Values, layers: int, hidden: int) -> Recurrent | None:
    """The recurrent layers of a config, None when it has none.

    Raises:
        InputError: layers of a kind that is not modelled, or a key missing.
    """
    for key in _UNKNOWN:
        if values.get(key) is not None:
            hint = "understood: gated delta networks (Qwen3-Next), Mamba-2 (Nemotron-H, Bamba, Granite 4), Mamba-1 (Jamba)"
            raise values.error(key, "layers of this kind are not modelled", hint=hint)
    if str(values.get("model_type")).startswith(("falcon_h1", "hymba", "zamba")):
        rule = "attention and state-space side by side in one layer, or shared layers, are not modelled"
        raise values.error("model_type", rule, values.get("model_type"))
    if all(values.get(key) is None for key in _MARKS):
        return None
    attention, recurrent, feed_forward, mixtures = _counts(values, layers)
    if recurrent == 0:
        return None
    heads, state, conv, params = _kind(values, hidden)
    return Recurrent(attention, recurrent, feed_forward, mixtures, heads, state, conv, params)


def _counts(values: Values, layers: int) -> tuple[int, int, int, int | None]:
    """Attention layers, recurrent layers, blocks with a feed-forward, mixtures among them."""
    pattern = values.get("hybrid_override_pattern")
    if isinstance(pattern, str):
        odd = next((letter for letter in pattern if letter not in "M*-E"), None)
        if odd is not None or len(pattern) != layers:
            rule = f"must say for each of the {layers} blocks: M (Mamba), * (attention), - (feed-forward) or E (experts)"
            raise values.error("hybrid_override_pattern", rule, pattern)
        return pattern.count("*"), pattern.count("M"), pattern.count("-") + pattern.count("E"), pattern.count("E")
    kinds = values.get("layer_types")
    if isinstance(kinds, list):
        recurrent = sum(kind in RECURRENT for kind in kinds[:layers])
    elif isinstance(values.get("attn_layer_indices"), list):
        recurrent = layers - len(values.get("attn_layer_indices"))
    elif values.get("attn_layer_period") is not None:
        period, offset = values.whole("attn_layer_period"), values.whole("attn_layer_offset", default=0, least=0)
        recurrent = layers - sum(layer % period == offset for layer in range(layers))
    elif values.get("linear_num_value_heads") is not None:
        recurrent = layers - layers // values.whole("full_attention_interval")
    else:
        raise values.error("layer_types", "is required: which layers are attention and which recurrent")
    return layers - recurrent, recurrent, layers, _jamba_mixtures(values, layers)


def _jamba_mixtures(values: Values, layers: int) -> int | None:
    if values.get("expert_layer_period") is None:
        return None
    period, offset = values.whole("expert_layer_period"), values.whole("expert_layer_offset", default=0, least=0)
    return sum(layer % period == offset for layer in range(layers))


def _kind(values: Values, hidden: int) -> tuple[int, int, int, int]:
    """Heads, values of the state, values of the convolution's window, parameters of one layer."""
    if values.get("linear_num_value_heads") is not None:
        return _gated_delta(values, hidden)
    if values.get("mamba_num_heads", "mamba_n_heads") is not None:
        return _mamba2(values, hidden)
    return _mamba1(values, hidden)


def _gated_delta(values: Values, hidden: int) -> tuple[int, int, int, int]:
    heads, key_heads = values.whole("linear_num_value_heads"), values.whole("linear_num_key_heads")
    key_dim, value_dim = values.whole("linear_key_head_dim"), values.whole("linear_value_head_dim")
    kernel = values.whole("linear_conv_kernel_dim", default=4, least=2)
    keys, inner = key_heads * key_dim, heads * value_dim
    mixed = 2 * keys + inner
    params = hidden * (mixed + inner + 2 * heads) + mixed * kernel + 2 * heads + value_dim + inner * hidden
    return heads, heads * key_dim * value_dim, (kernel - 1) * mixed, params


def _mamba2(values: Values, hidden: int) -> tuple[int, int, int, int]:
    heads = values.whole("mamba_num_heads", "mamba_n_heads")
    dim = values.whole("mamba_head_dim", "mamba_d_head")
    state, groups = values.whole("ssm_state_size", "mamba_d_state"), values.whole("n_groups", "mamba_n_groups", default=1)
    kernel = values.whole("conv_kernel", "mamba_d_conv", default=4, least=2)
    inner = heads * dim
    mixed = inner + 2 * groups * state
    params = hidden * (inner + mixed + heads) + mixed * (kernel + 1) + 3 * heads + inner + inner * hidden
    return heads, heads * dim * state, (kernel - 1) * mixed, params


def _mamba1(values: Values, hidden: int) -> tuple[int, int, int, int]:
    inner = hidden * values.whole("mamba_expand", "expand", default=2)
    state, kernel = values.whole("mamba_d_state", "ssm_state_size"), values.whole("mamba_d_conv", default=4, least=2)
    rank = values.whole("mamba_dt_rank", default=-(-hidden // 16))
    params = hidden * 2 * inner + inner * (kernel + 1) + inner * (rank + 2 * state) + rank * inner + inner
    params += inner * state + inner + inner * hidden + rank + 2 * state
    return inner, inner * state, (kernel - 1) * inner, params


def state_format(values: Values) -> str:
    """Number format of the recurrent state: as the config says, else that of the model."""
    return "f32" if str(values.get("mamba_ssm_dtype", "mamba_ssm_cache_dtype")).endswith("float32") else "bf16"


def recurrent_fields(values: Values, found: Recurrent) -> dict[str, Any]:
    """The fields of a `RecurrentSpec`."""
    return {
        "layers": found.recurrent,
        "heads": found.heads,
        "state_values": found.state_values,
        "conv_values": found.conv_values,
        "state_format": state_format(values),
    }
