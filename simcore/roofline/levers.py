"""What would make more room: each lever is the same deployment with one thing changed, sized again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from simcore.errors import InputError
from simcore.presets import gpu as gpu_preset
from simcore.presets import list_presets
from simcore.quantization.formats import find_format
from simcore.quantization.quality import LOSSLESS, QualityLoss, quality_loss
from simcore.quantization.weights import find_weight_format
from simcore.roofline.sizing import Deployment, Sizing, size

HIGHEST_SHARE = 0.95
SMALL_STEP = {"max_num_batched_tokens": 2048, "max_num_seqs": 64}


class Lever(NamedTuple):
    """One change and what it gives.

    Attributes:
        change: what is changed, in the words of a scenario.
        sizing: the deployment with it.
        loss: published quality cost of a cache format; None where nothing of quality changes, or nobody published it.
        unknown_loss: a cache format whose cost on this model nobody published.
        lossy: weights in fewer bits: their cost is not in the tables.
    """

    change: str
    sizing: Sizing
    loss: QualityLoss | None = None
    unknown_loss: bool = False
    lossy: bool = False


def levers(base: Sizing, wanted: int = 1) -> list[Lever]:
    """Every lever that gives room for longer or more requests, best first; shorter requests only where `wanted` of the longest
    length do not fit at once.

    Ranked by requests of the longest length that fit, then by the longest sequence. Tiers below HBM are none: they hold
    reusable KV, never that of a running request.
    """
    found = []
    for change, deployment, extra in [*_candidates(base.deployment), *_shorter(base, wanted)]:
        try:
            sized = size(deployment)
        except InputError:
            continue  # degrees of parallelism the heads do not allow, a format the head size does not
        if _better(sized, base):
            found.append(Lever(change, sized, **extra))
    return sorted(found, key=lambda lever: (lever.sizing.sequences, lever.sizing.longest), reverse=True)


def _better(sized: Sizing, base: Sizing) -> bool:
    if not sized.weights_fit:
        return False
    return sized.sequences > base.sequences or sized.longest > base.longest


Candidate = tuple[str, Deployment, dict[str, Any]]


def _shorter(base: Sizing, wanted: int) -> Iterator[Candidate]:
    """Requests so short that `wanted` of them fit."""
    longest = base.longest_of(wanted)
    if base.sequences < wanted and 0 < longest < base.deployment.request_tokens:
        yield f"max_model_len {longest}", base.deployment.with_changes(max_model_len=longest), {}


def _candidates(d: Deployment) -> Iterator[Candidate]:
    yield from _formats(d)
    yield from _engine(d)
    yield from _hardware(d)


def _formats(d: Deployment) -> Iterator[Candidate]:
    bits = min(find_format(p.k).bits for p in d.kv_format.per_layer(d.model.layers))
    names = ["fp8_e4m3"] + (["nvfp4"] if d.gpu.fp4_speedup > 1 else [])
    for name in (n for n in names if find_format(n).bits < bits):
        try:
            changed = d.with_changes(kv_format={"default": {"k": name, "v": name}})
            loss = quality_loss(d.model, changed.kv_format)
        except InputError:
            continue
        known = {"loss": loss} if loss is not None and loss != LOSSLESS else {"unknown_loss": loss is None}
        yield f"kv_format {name}", changed, known
    weights = find_weight_format(d.weights).bytes_per_weight
    for name in ("fp8", "int4"):
        if find_weight_format(name).bytes_per_weight < 0.9 * weights:
            yield f"weight_format {name}", d.with_changes(weight_format=name), {"lossy": True}


def _engine(d: Deployment) -> Iterator[Candidate]:
    engine = d.engine
    if d.pool_bytes is None and d.max_blocks is None and engine.gpu_memory_utilization < HIGHEST_SHARE:
        yield _with_engine(d, f"gpu_memory_utilization {HIGHEST_SHARE}", gpu_memory_utilization=HIGHEST_SHARE)
    smaller = {name: low for name, low in SMALL_STEP.items() if getattr(engine, name) > low}
    if smaller and d.pool_bytes is None:
        yield _with_engine(d, ", ".join(f"{name} {low}" for name, low in smaller.items()), **smaller)
    if d.model.sliding is not None and engine.sliding_window_cache == "unified":
        yield _with_engine(d, "sliding_window_cache ring", sliding_window_cache="ring")
    if d.model.recurrent is not None and engine.states_per_sequence > 1:
        yield _with_engine(d, "no prefix caching (one state a sequence)", states_per_sequence=1)
    if d.pool_bytes is not None:
        yield "pool as large as the engine's rule allows", d.with_changes(pool_bytes=None), {}
    if d.max_blocks is not None:
        yield "no limit on the blocks", d.with_changes(max_blocks=None), {}


def _with_engine(d: Deployment, change: str, **knobs: Any) -> Candidate:
    return change, d.with_changes(engine=d.engine.with_changes(**knobs)), {}


def _hardware(d: Deployment) -> Iterator[Candidate]:
    for degree in ("tp", "pp"):
        twice = 2 * getattr(d.parallel, degree)
        parallel = d.parallel.with_changes(**{degree: twice, "stage_layers": None})
        yield f"{degree} {twice} ({parallel.gpus} GPUs)", d.with_changes(parallel=parallel, pool_bytes=None), {}
    cards = sorted((gpu_preset(name) for name in list_presets("gpus")), key=lambda card: card.memory_bytes)
    larger = [card for card in cards if card.memory_bytes > 1.05 * d.gpu.memory_bytes]
    for card in larger:
        changed = d.with_changes(gpu=card, pool_bytes=None)
        if _holds_one(changed) or card is larger[-1]:
            yield f"gpu {card.preset}", changed, {}
            return


def _holds_one(d: Deployment) -> bool:
    sized = size(d)
    return sized.weights_fit and sized.sequences >= 1
