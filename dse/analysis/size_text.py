"""A sizing as text: the answer, the working, memory by concurrency, tiers, levers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dse.analysis.size_tables import concurrency_table, lever_table, stage_table, survey_table, tier_table, trade_table
from dse.analysis.size_words import ENGINES, flag_of, request_words, trade_words, window_words
from dse.analysis.values import listing, margined, wrapped
from simcore.units import MIB, format_bytes

if TYPE_CHECKING:
    from simcore import FormatTrade, Lever, LogFit, Sizing, Term

PROSE = 80
NAME, VALUE = 21, 11


@dataclass
class Told:
    """How a launch command was read: engine, notes, flags without meaning here, flags the engine is not known to have."""

    engine: str = ""
    notes: list[str] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Extras:
    """What was asked for beside the sizing: numbers of requests, KV formats compared, a shared prefix, a fit to log lines."""

    wanted: Sequence[int] = ()
    trades: Sequence[FormatTrade] = ()
    prefix: int | None = None
    fit: LogFit | None = None


def size_lines(
    sized: Sizing, terms: Sequence[Term], levers: Sequence[Lever], extras: Extras, told: Told, width: int
) -> list[str]:
    """The whole answer for one deployment."""
    prose, wanted = min(width, PROSE), extras.wanted
    found = answers(sized, wanted)
    found += [("Prefix", prefix_words(sized, extras.prefix))] if extras.prefix else []
    lines = [*wrapped(headline(sized), prose, "  "), *margined(found, prose)]
    lines += fit_lines(extras.fit, prose) if extras.fit is not None else []
    lines += ["", "Working"]
    lines += working_lines(terms, prose)
    if sized.deployment.parallel.gpus > 1:
        lines += ["", "Each GPU, by stage", *stage_table(sized, prose)]
    if sized.weights_fit:
        spread = f" over {sized.pools} pools" if sized.pools > 1 else ""
        lines += ["", f"Requests of {sized.deployment.request_tokens:,} tokens at once{spread}, and what they need a GPU",
                  *concurrency_table(sized, wanted)]  # fmt: skip
    if extras.trades:
        lines += ["", f"KV formats, decoding with {sized.deployment.request_tokens:,} tokens of context, per replica"]
        lines += trade_table(extras.trades, prose)
        lines += [line for text in trade_words(extras.trades) for line in wrapped(f"  {text}", prose, "  ")]
    if sized.tiers:
        lines += ["", "Tiers, all copies", *tier_table(sized, prose)]
    if levers:
        better = holds(sized, wanted)
        lines += ["", "More room" if better else "What would make it fit", *lever_table(sized, levers, prose)]
        lines += [line for text in lever_notes(levers) for line in wrapped(f"  {text}", prose, "  ")]
    return [*lines, *_notes(told, prose)]


def fit_lines(fit: LogFit, width: int) -> list[str]:
    """The footprint that logged lines fit."""
    exact = "exactly" if fit.residual < 1e-6 else f"within {100 * fit.residual:.2g} %"
    terms = f"{fit.bytes_per_token:,.0f} B a token and {format_bytes(fit.bytes_per_sequence)} a sequence"
    text = f"{terms}, whatever its length, explain the logged lines {exact}."
    return margined([("Logged", text)], min(width, PROSE))


def prefix_words(sized: Sizing, tokens: int) -> str:
    """What of a shared prefix can be reused, for the block there is and for the smallest of its engine."""
    block, asked = sized.block_tokens, sized.deployment.engine.block_size
    whole = tokens // block * block
    text = f"of {tokens:,} shared tokens {whole:,} can be reused, in whole blocks of {block}"
    if block != asked:
        text += (
            f"; blocks of {asked} would reuse {tokens // asked * asked:,}, but the state of the recurrent layers forces {block}"
        )
    return f"{text}."


def survey_lines(found: Mapping[str, Sizing], told: Told, width: int) -> list[str]:
    """The same deployment on every GPU, one line each."""
    prose = min(width, PROSE)
    some = next(iter(found.values()))
    d = some.deployment
    lines = wrapped(f"{_model_words(some)}, on each kind of GPU ({d.parallel.gpus} a replica)", prose, "  ")
    lines += wrapped(f"  {d.request_tokens:,} tokens a request; {_per_token(some)}", prose, "  ")
    lines += ["", *survey_table(found), ""]
    lines += wrapped("  Name one for its working: dse size --gpu NAME ...", prose, "  ")
    return [*lines, *_notes(told, prose)]


def headline(sized: Sizing) -> str:
    """Model, formats, GPUs, engine."""
    d = sized.deployment
    degrees = [f"{name} {n}" for name, n in (("tp", d.parallel.tp), ("pp", d.parallel.pp), ("dp", d.parallel.dp)) if n > 1]
    degrees += ["ep"] if d.parallel.ep else []
    split = f" ({', '.join(degrees)})" if degrees else ""
    replicas = f"{d.replicas} replicas of " if d.replicas > 1 else ""
    engine = ENGINES.get(d.engine.family, d.engine.family)
    return f"{_model_words(sized)}, on {replicas}{d.parallel.gpus} x {d.gpu.name}{split}, {engine}"


def _model_words(sized: Sizing) -> str:
    d = sized.deployment
    pairs = {(p.k, p.v) for p in d.kv_format.per_layer(d.model.layers)}
    formats = listing(sorted({k if k == v else f"{k} keys and {v} values" for k, v in pairs}))
    return f"{d.model.name}, weights in {d.weights}, KV in {formats}"


def _per_token(sized: Sizing) -> str:
    footprint = sized.footprint
    text = f"{footprint.bytes_per_token:,.0f} B of KV a token"
    if footprint.fixed_bytes_per_sequence:
        text += f" and {format_bytes(footprint.fixed_bytes_per_sequence)} a sequence, whatever its length"
    return text


def answers(sized: Sizing, wanted: Sequence[int]) -> list[tuple[str, str]]:
    """The figures people ask for, each with its label."""
    d = sized.deployment
    if not sized.weights_fit:
        stage = min(sized.stages, key=lambda s: s.room_bytes)
        where = f" of stage {stage.stage.number}" if d.parallel.pp > 1 else ""
        fixed = format_bytes(stage.stage.fixed.total)
        text = f"a GPU{where} needs {fixed} before any cache, {format_bytes(-stage.room_bytes)} more than the engine may use."
        return [("KV", _per_token(sized) + "."), ("Too large", text)]
    pools = f", in each of {sized.pools} pools" if sized.pools > 1 else ""
    lines = [("KV", _per_token(sized) + ".")]
    unit = "token" if sized.block_tokens == 1 else "tokens"
    pool = f"{format_bytes(sized.binding.pool_bytes)} a GPU = {sized.blocks:,} blocks of {sized.block_tokens} {unit}"
    lines.append(("Pool", f"{pool} = {sized.pool_tokens:,} tokens{pools}."))
    if sized.excess_bytes:
        lines.append(("Too large", f"the pool exceeds what the engine may use by {format_bytes(sized.excess_bytes)} a GPU."))
    lines.append(("Fit", request_words(sized) + "."))
    if sized.window_bounds is not None:
        lines.append(("Windows", window_words(sized)))
    return [*lines, *_needs(sized, wanted), ("Limit", limit_words(sized) + ".")]


def _needs(sized: Sizing, wanted: Sequence[int]) -> list[tuple[str, str]]:
    d = sized.deployment
    count = sized.per_pool(max(wanted)) if wanted else d.engine.max_num_seqs
    need, pool = sized.pool_needed(count), sized.binding.pool_bytes
    where = " per pool" if sized.pools > 1 else ""
    what = f"{count:,} x {d.request_tokens:,} tokens{where} take {format_bytes(need)} a GPU"
    if need > pool:
        return [("Need", f"{what}, {format_bytes(need - pool)} more than the pool.")] if wanted else []
    return [("Need", f"{what}; {format_bytes(pool - need)} of the pool are never used. Enough: {flag_of(sized, count)}.")]


def limit_words(sized: Sizing) -> str:
    """What binds, and what follows for a smaller cache format and for lower tiers."""
    d = sized.deployment
    if sized.sequences < 1:
        text = f"the pool: one request may have {sized.longest:,} tokens, not {d.request_tokens:,}"
        below = "a tier below HBM does not change that: KV of a running request must be in HBM"
        return f"{text}; {below}"
    if sized.sequences >= d.engine.max_num_seqs:
        return (
            f"max_num_seqs ({d.engine.max_num_seqs}), not the pool: a smaller KV format would not let more requests run, only "
            "keep more to reuse"
        )
    where = f" of stage {sized.binding.stage.number}" if d.parallel.pp > 1 else ""
    return f"the pool{where}, before max_num_seqs ({d.engine.max_num_seqs}): a smaller KV format lets more requests run"


def holds(sized: Sizing, wanted: Sequence[int]) -> bool:
    """Whether it fits: weights, pool, and the largest number of requests (one, if none), spread over the pools."""
    return sized.weights_fit and not sized.excess_bytes and sized.running >= sized.per_pool(max(wanted, default=1))


def working_lines(terms: Sequence[Term], width: int) -> list[str]:
    """Terms with their values and factors; long sources are numbered and listed below."""
    numbered: list[str] = []
    lines: list[str] = []
    for term in terms:
        source = term.source
        if len(source) > 24:
            numbered += [] if source in numbered else [source]
            source = f"[{numbered.index(source) + 1}]"
        elif source:
            source = f"({source})"
        body = f"{term.how} {source}".strip()
        head = f"  {term.name:<{NAME}}{value_words(term):>{VALUE}}  "
        if len(term.name) > NAME - 1:
            lines.append(f"  {term.name}")
            head = f"  {'':<{NAME}}{value_words(term):>{VALUE}}  "
        first, *rest = wrapped(body, width - len(head)) or [""]
        lines += [f"{head}{first}".rstrip(), *(" " * len(head) + line for line in rest)]
    for number, source in enumerate(numbered, 1):
        lines.append(f"  [{number}] {source}")
    return lines


def value_words(term: Term) -> str:
    """A term's value with its unit."""
    if term.unit == "bytes":
        if 0 <= term.value < MIB:
            return f"{term.value:,.0f} B"
        return format_bytes(term.value) if term.value >= 0 else f"-{format_bytes(-term.value)}"
    if term.unit == "requests":
        return f"{term.value:,.2f}"
    return f"{term.value:,.0f}"


def lever_notes(levers: Sequence[Lever]) -> list[str]:
    """What the quality column means, where it has something in it."""
    texts = []
    losses = {lever.loss.source: lever.loss for lever in levers if lever.loss is not None}
    texts += [f"Quality: {100 * loss.value:.2g} % on {loss.benchmark}: {loss.source}" for loss in losses.values()]
    if any(lever.unknown_loss for lever in levers):
        texts.append("? Nobody published the cost of this KV format on this model.")
    if any(lever.lossy for lever in levers):
        texts.append("w Weights in fewer bits: take the checkpoint's own figures.")
    return texts


def _notes(told: Told, width: int) -> list[str]:
    texts = list(told.notes)
    if told.ignored:
        texts.append(f"Without meaning for size: {listing(sorted(set(told.ignored)))}.")
    return ["", "Notes", *(line for text in texts for line in wrapped(f"  {text}", width, "  "))] if texts else []


def as_object(sized: Sizing, terms: Sequence[Term], levers: Sequence[Lever], extras: Extras, told: Told) -> dict[str, Any]:
    """The shape of `--json` (docs/size.md)."""
    d, binding, wanted = sized.deployment, sized.binding, extras.wanted
    return {
        "kv_bytes_per_token": sized.footprint.bytes_per_token,
        "fixed_bytes_per_sequence": sized.footprint.fixed_bytes_per_sequence,
        "pool_bytes": binding.pool_bytes,
        "pool_tokens": sized.pool_tokens,
        "pools": sized.pools,
        "blocks": sized.blocks,
        "block_tokens": sized.block_tokens,
        "request_tokens": d.request_tokens,
        "request_bytes": sized.request_bytes(),
        "max_sequences": sized.sequences,
        "running": sized.running,
        "longest_tokens": sized.longest,
        "window_bounds": sized.window_bounds,
        "fits": holds(sized, wanted),
        "excess_bytes": sized.excess_bytes,
        "limit": limit_words(sized) if sized.weights_fit else "weights",
        "stages": [
            {"stage": s.stage.number, "layers": [s.stage.layers.start, s.stage.layers.stop - 1], **sized.use(s)._asdict(),
             "room_bytes": s.room_bytes, "binding": s is binding} for s in sized.stages
        ],
        "concurrency": [
            {"requests": n, "pool_bytes": sized.pool_needed(sized.per_pool(n)),
             "gpu_memory_utilization": sized.share_needed(sized.per_pool(n))} for n in wanted
        ],
        "tiers": [t._asdict() for t in sized.tiers],
        "levers": [
            {"change": lever.change, "pool_tokens": lever.sizing.pool_tokens, "longest_tokens": lever.sizing.longest,
             "max_sequences": lever.sizing.sequences, "quality_loss": lever.loss.value if lever.loss else None}
            for lever in levers
        ],
        "formats": [
            {"name": t.name, "bits_per_value": t.bits_per_value, "read_cost": t.read_cost, "pool_tokens": t.sizing.pool_tokens,
             "running": t.running, "equal_tokens_per_s": t.equal_tokens_per_s, "full_tokens_per_s": t.full_tokens_per_s,
             "break_even": t.break_even, "quality_loss": t.loss.value if t.loss else None} for t in extras.trades
        ],
        "prefix": None if extras.prefix is None else
            {"tokens": extras.prefix, "reusable_tokens": extras.prefix // sized.block_tokens * sized.block_tokens},
        "fit": extras.fit._asdict() if extras.fit is not None else None,
        "working": [t._asdict() for t in terms],
        "notes": told.notes,
        "ignored": told.ignored,
        "unknown": told.unknown,
    }  # fmt: skip
