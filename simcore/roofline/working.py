"""The arithmetic of a sizing, term by term: value, how it comes about, where its numbers are from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from simcore.quantization.formats import find_format
from simcore.quantization.kv_bytes import LayerGroup, heads_per_gpu
from simcore.quantization.weights import find_weight_format
from simcore.roofline.memory import SAMPLER_BYTES_PER_LOGIT, activation_bytes
from simcore.roofline.sizing import Deployment, Sizing, StageSize
from simcore.units import format_bytes

KIND_WORDS = {"full": "attention", "window": "sliding-window", "state": "recurrent"}
SHARES = {"sglang": "mem_fraction_static", "trtllm": "free_gpu_memory_fraction"}


class Term(NamedTuple):
    """One line of the working.

    Attributes:
        name: what it is.
        value: in `unit`: "bytes", "tokens", "blocks" or "requests".
        how: the factors.
        source: where they are from; empty where it follows from lines above.
    """

    name: str
    value: float
    unit: str
    how: str
    source: str = ""


def working(sized: Sizing, origins: Mapping[str, str] | None = None) -> list[Term]:
    """Every term from the model's shape to the number of requests that fit.

    Args:
        origins: dotted path of a setting -> where its value is from ("--max-model-len", "default of vLLM").
    """
    known = origins or {}
    return [*cache_terms(sized), *_memory(sized, known), *_pool(sized, known)]


def cache_terms(sized: Sizing) -> Iterator[Term]:
    """How many bytes of cache a token and a sequence take, by kind of layer."""
    d = sized.deployment
    source = d.model.source or "the scenario"
    for group in sized.groups:
        if group.bytes_per_token:
            name = (
                "KV per token"
                if sum(g.bytes_per_token > 0 for g in sized.groups) == 1
                else f"KV per token, {KIND_WORDS[group.kind]} layers"
            )
            yield Term(name, group.bytes_per_token, "bytes", _token_words(d, group), source)
    if sum(g.bytes_per_token > 0 for g in sized.groups) > 1:
        yield Term("KV per token", sized.footprint.bytes_per_token, "bytes", "the sum")
    for group in sized.groups:
        if group.fixed_bytes_per_sequence:
            words = {"state": _state_words, "window": _ring_words, "full": _recent_words}[group.kind](d, group)
            yield Term(f"per sequence, {KIND_WORDS[group.kind]} layers", group.fixed_bytes_per_sequence, "bytes", words, source)
    if d.parallel.gpus > d.parallel.dp:
        per_gpu = max(s.paging.block_bytes / s.paging.block_tokens for s in sized.stages)
        yield Term("KV per token and GPU", per_gpu, "bytes", _split_words(d))


def _token_words(d: Deployment, group: LayerGroup) -> str:
    model, layers = d.model, group.layers
    pairs = set(d.kv_format.per_layer(model.layers))
    if len(pairs) > 1:
        return f"{layers} layers in {len(pairs)} pairs of formats"
    pair = next(iter(pairs))
    if model.mla is not None:
        width = f"({model.mla.kv_lora_rank} + {model.mla.qk_rope_head_dim}) latent values"
        return f"{layers} layers x {width} x {_bits(pair.k, model.mla.kv_lora_rank)}"
    shape = f"{layers} layers x {model.kv_heads} KV heads x {model.head_dim} values"
    grouped = f"; the hidden size ({model.hidden_size}) does not enter" if model.kv_heads < model.query_heads else ""
    if pair.k == pair.v:
        return f"2 (K and V) x {shape} x {_bits(pair.k, model.head_dim)}{grouped}"
    return f"{shape} x (K {_bits(pair.k, model.head_dim)} + V {_bits(pair.v, model.head_dim)}){grouped}"


def _bits(name: str, width: int) -> str:
    form = find_format(name)
    scales = ", scales counted" if form.scale_bits or form.overhead_bits else ""
    return f"{form.bits_per_value(width):g} bits ({name}{scales})"


def _state_words(d: Deployment, group: LayerGroup) -> str:
    state = d.model.recurrent
    assert state is not None
    return (
        f"{group.layers} layers x ({state.state_values:,} values in {state.state_format} + {state.conv_values:,} of the "
        "convolution in bf16), whatever the length"
    )


def _ring_words(d: Deployment, group: LayerGroup) -> str:
    assert d.model.sliding is not None
    return f"{group.layers} layers x {d.model.sliding.window_tokens} tokens of their window"


def _recent_words(d: Deployment, group: LayerGroup) -> str:
    formats = {find_format(name) for pair in d.kv_format.per_layer(d.model.layers) for name in (pair.k, pair.v)}
    return f"the last {max(form.residual_tokens for form in formats)} tokens of each sequence at 16 bits, beyond their own"


def _split_words(d: Deployment) -> str:
    words = []
    if d.parallel.pp > 1:
        words.append(f"{max(d.parallel.layers_by_stage(d.model.layers))} of {d.model.layers} layers on the largest stage")
    if d.parallel.tp > 1 and d.model.mla is not None:
        words.append("the latent is whole on every GPU: tensor parallelism does not divide it")
    elif d.parallel.tp > d.model.kv_heads:
        words.append(f"{d.model.kv_heads} KV heads repeated over {d.parallel.tp} GPUs: 1 on each")
    elif d.parallel.tp > 1:
        words.append(f"{heads_per_gpu(d.model, d.parallel.tp)} of {d.model.kv_heads} KV heads on each GPU")
    return "; ".join(words)


def _memory(sized: Sizing, origins: Mapping[str, str]) -> Iterator[Term]:
    d, gpu = sized.deployment, sized.deployment.gpu
    source = origins.get("gpu", gpu.source.partition(";")[0])
    yield Term("GPU memory", gpu.memory_bytes, "bytes", f"{gpu.name}, as the driver reports it", source)
    share = d.engine.gpu_memory_utilization
    if d.pool_bytes is None and d.max_blocks is None:
        name = SHARES.get(d.engine.family, "gpu_memory_utilization")
        of = "the free memory" if d.engine.family == "trtllm" else "GPU memory"
        yield Term("engine's share", gpu.memory_bytes * share, "bytes", f"{name} {share:g} of {of}",
                   origins.get("engine.gpu_memory_utilization", ""))  # fmt: skip
    yield from _stage(sized, sized.binding, origins)


def _stage(sized: Sizing, stage: StageSize, origins: Mapping[str, str]) -> Iterator[Term]:
    d, fixed = sized.deployment, stage.stage.fixed
    yield Term("weights", fixed.weights, "bytes", _weight_words(d, stage), origins.get("weight_format", d.model.source))
    yield Term("activations", fixed.activations, "bytes", _activation_words(d, fixed.activations),
               origins.get("engine.max_num_batched_tokens", ""))  # fmt: skip
    yield Term("runtime", fixed.runtime, "bytes", "CUDA context and workspaces"
               + (", communication buffers" if d.parallel.gpus > 1 else ""), "fitted to engine logs")  # fmt: skip
    if d.pool_bytes is not None:
        how = "given"
    elif d.max_blocks is not None:
        how = f"{d.max_blocks:,} blocks, as given"
    elif d.engine.family == "sglang":
        how = "the share less weights and runtime, if activations fit beside it"
    elif d.engine.family == "trtllm":
        how = "the share of what weights, activations and runtime leave"
    else:
        how = "the share less weights, activations and runtime"
    yield Term("KV pool", stage.pool_bytes, "bytes", how, origins.get("pool_bytes", ""))
    left = d.gpu.memory_bytes - fixed.total - stage.pool_bytes
    how = "for CUDA graphs and other processes; logs have 0.1 to 1.1 GiB of graphs, none with --enforce-eager"
    yield Term("left over", left, "bytes", how, "engine logs")


def _weight_words(d: Deployment, stage: StageSize) -> str:
    form = find_weight_format(d.weights)
    words = f"{d.model.params / 1e9:.4g}e9 parameters in {d.weights}"
    if form.covers != "all":
        what = {"blocks": "vocabulary matrices", "experts": "all but the routed experts"}[form.covers]
        words += f" ({what} at 16 bits)"
    parts = [f"{name} {n}" for name, n in (("tp", d.parallel.tp), ("pp", d.parallel.pp), ("dp", d.parallel.dp)) if n > 1]
    words += f", on each GPU of {', '.join(parts)}" if parts else ""
    layers = stage.stage.layers
    where = f"; stage {stage.stage.number} with layers {layers.start} to {layers.stop - 1} is shown, it binds"
    return words + (where if d.parallel.pp > 1 else "")


def _activation_words(d: Deployment, found: int) -> str:
    engine, model = d.engine, d.model
    if found == activation_bytes(model, engine, d.parallel.tp, sampler=False):
        width = f"{model.ffn_width} / {d.parallel.tp}" if d.parallel.tp > 1 else str(model.ffn_width)
        return f"2 B x {engine.max_num_batched_tokens:,} tokens a step x (4 x {model.hidden_size} + 3 x {width})"
    return f"{SAMPLER_BYTES_PER_LOGIT} B x {engine.max_num_seqs} sequences x {model.vocab_size:,} logits of the sampler"


def _pool(sized: Sizing, origins: Mapping[str, str]) -> Iterator[Term]:
    d, pages = sized.deployment, sized.binding.paging
    asked = d.engine.block_size
    if pages.block_tokens != asked:
        how = f"{asked} asked for; raised until a page of attention is as large as a state ({d.engine.state_pages})"
        yield Term("block", pages.block_tokens, "tokens", how, origins.get("engine.block_size", ""))
    else:
        yield Term(
            "block", asked, "tokens", f"of {format_bytes(pages.block_bytes)} on a GPU", origins.get("engine.block_size", "")
        )
    if pages.sequence_pages:
        how = f"{d.engine.states_per_sequence} for each group of recurrent layers"
        yield Term("blocks beside its tokens, a sequence", pages.sequence_pages / pages.pages_per_block, "blocks", how)
    where = f" of stage {sized.binding.stage.number}, which runs out first" if d.parallel.pp > 1 else ""
    yield Term("blocks", sized.blocks, "blocks", f"whole ones in the KV pool{where}")
    if sized.fixed_per_sequence:
        how = f"as engines print it: {sized.sequences:.2f} requests x {d.request_tokens:,}; not a rate, since a part is fixed"
    else:
        how = f"{sized.blocks:,} x {sized.block_tokens}"
    yield Term("tokens", sized.pool_tokens, "tokens", how)
    length = origins.get("max_model_len", "the model's longest" if d.max_model_len is None else "")
    yield Term("one request", sized.request_bytes(), "bytes",
               f"{d.request_tokens:,} tokens in {pages.blocks_of(d.request_tokens):,} blocks, on a GPU", length)  # fmt: skip
    yield Term("requests at once", sized.sequences, "requests", "the pool over one request")
