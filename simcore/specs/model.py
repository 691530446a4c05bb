"""What the simulator knows about a language model: counts and shapes, no weights."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from simcore.errors import InputError
from simcore.specs.base import Spec

Count = Annotated[int, Field(gt=0)]


class MlaSpec(Spec):
    """Multi-head latent attention: the cache of a layer is one latent per token, shared by K, V and all heads.

    Args:
        kv_lora_rank: width of the compressed latent.
        qk_rope_head_dim: width of the part that carries positions.
        qk_nope_head_dim: per-head query/key width without positions; `head_dim` of the model when absent.
        v_head_dim: per-head value width; `head_dim` of the model when absent.
    """

    shorthand: ClassVar[str | None] = None
    kv_lora_rank: Count
    qk_rope_head_dim: Count
    qk_nope_head_dim: Count | None = None
    v_head_dim: Count | None = None


class SlidingSpec(Spec):
    """Layers that attend to the last `window_tokens` tokens only.

    Args:
        window_tokens: tokens such a layer can see.
        layers: how many layers are of this kind. Where position matters they are taken as spread evenly.
    """

    shorthand: ClassVar[str | None] = None
    window_tokens: Count
    layers: Count


class RecurrentSpec(Spec):
    """Layers that keep a state of fixed size in place of a KV cache (Mamba, gated delta networks, linear attention).

    Args:
        layers: how many layers are of this kind. Where position matters they are taken as spread evenly.
        heads: heads the state is divided by; tensor parallelism splits them.
        state_values: values of the recurrent state of one layer, for one sequence.
        conv_values: values of the window of its convolution.
        state_format: number format of the recurrent state; the window is kept at 16 bits.
    """

    shorthand: ClassVar[str | None] = None
    layers: Count
    heads: Count
    state_values: Count
    conv_values: Annotated[int, Field(ge=0)] = 0
    state_format: Literal["f32", "bf16"] = "bf16"

    @property
    def bytes_per_layer(self) -> int:
        """Bytes of one layer's state and window, for one sequence."""
        return self.state_values * (4 if self.state_format == "f32" else 2) + 2 * self.conv_values


LayerKind = Literal["full", "window", "state"]


class ModelSpec(Spec):
    """A decoder-only model.

    Args:
        preset: the preset or the config.json this came from, if any.
        name: as printed, and as looked up in tables of published accuracy.
        params: parameters of the language model, input embedding and output head included.
        active_params: parameters a token passes through (all but the unused experts); equals `params` when dense.
        layers: layers that remember tokens: attention and `recurrent` together (not blocks that are a feed-forward only).
        hidden_size, query_heads, kv_heads, head_dim: shape of the attention layers.
        intermediate_size: width of one feed-forward block, of one expert in a mixture; 4 x hidden when absent.
        vocab_size: tokens in the vocabulary.
        tied_embeddings: input embedding and output head are one matrix.
        mla: present when the cache is a latent (DeepSeek V2/V3).
        sliding: present when some layers see a window only.
        recurrent: present when some layers keep a state of fixed size.
        max_model_len: longest context the model supports, in tokens.
        experts, experts_per_token: routed experts of a mixture and how many a token uses.
        dtype: weight format of the published checkpoint.
        source, date: where the numbers are from and when they were read.
    """

    preset: str | None = None
    name: str
    params: Count
    active_params: Count
    layers: Count
    hidden_size: Count
    query_heads: Count
    kv_heads: Count
    head_dim: Count
    intermediate_size: Count | None = None
    vocab_size: Count
    tied_embeddings: bool = False
    mla: MlaSpec | None = None
    sliding: SlidingSpec | None = None
    recurrent: RecurrentSpec | None = None
    max_model_len: Count
    experts: Count | None = None
    experts_per_token: Count | None = None
    dtype: str = "bf16"
    source: str = ""
    date: str = ""

    @model_validator(mode="before")
    @classmethod
    def _dense_is_all_active(cls, data: Any) -> Any:
        if isinstance(data, dict) and "params" in data and data.get("active_params") is None:
            return {**data, "active_params": data["params"]}
        return data

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.query_heads % self.kv_heads:
            raise InputError(f"must divide query_heads ({self.query_heads})", path="kv_heads", value=self.kv_heads)
        if self.active_params > self.params:
            raise InputError(f"must not exceed params ({self.params})", path="active_params", value=self.active_params)
        if (self.experts is None) != (self.experts_per_token is None):
            missing = "experts" if self.experts is None else "experts_per_token"
            raise InputError("is required: a mixture needs experts and experts_per_token", path=missing)
        if self.experts and self.experts_per_token and self.experts_per_token > self.experts:
            raise InputError(
                f"must not exceed experts ({self.experts})", path="experts_per_token", value=self.experts_per_token
            )
        if self.recurrent is not None and self.recurrent.layers > self.layers:
            raise InputError(f"must not exceed layers ({self.layers})", path="recurrent.layers", value=self.recurrent.layers)
        if self.sliding is not None and self.sliding.layers > self.attention_layers:
            rule = f"must not exceed the attention layers ({self.attention_layers})"
            raise InputError(rule, path="sliding.layers", value=self.sliding.layers)
        return self

    @property
    def attention_layers(self) -> int:
        """Layers with a KV cache."""
        return self.layers - (self.recurrent.layers if self.recurrent is not None else 0)

    @property
    def embedding_params(self) -> int:
        """Parameters of one vocabulary matrix (input embedding, or output head)."""
        return self.vocab_size * self.hidden_size

    @property
    def expert_params(self) -> int:
        """Parameters of all routed experts: what is inactive for a token is (E - k) of E equal shares."""
        if self.experts is None or self.experts_per_token is None or self.experts == self.experts_per_token:
            return 0
        return (self.params - self.active_params) * self.experts // (self.experts - self.experts_per_token)

    @property
    def ffn_width(self) -> int:
        """Hidden units of the feed-forward blocks one token passes through in a layer."""
        return (self.intermediate_size or 4 * self.hidden_size) * (self.experts_per_token or 1)

    def layer_kinds(self) -> tuple[LayerKind, ...]:
        """What each layer keeps: all tokens, a window of them, or a state; the rarer kinds are spread evenly."""
        kinds: list[LayerKind] = []
        attention = 0
        for layer in range(self.layers):
            if self.recurrent is not None and _spread(layer, self.recurrent.layers, self.layers):
                kinds.append("state")
                continue
            windowed = self.sliding is not None and _spread(attention, self.sliding.layers, self.attention_layers)
            kinds.append("window" if windowed else "full")
            attention += 1
        return tuple(kinds)


def _spread(position: int, share: int, total: int) -> bool:
    """Whether `position` of `total` is one of `share` that are spread evenly."""
    return (position + 1) * share // total > position * share // total
