"""The tables of a sizing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dse.analysis.size_words import SHARES, in_flags
from dse.analysis.table import Column, render, table_width
from dse.analysis.values import scale_for
from simcore.units import GIB

if TYPE_CHECKING:
    from simcore import FormatTrade, Lever, Sizing

ROWS = 8
SHOWN_LEVERS = 9


def _gib(values: Sequence[float]) -> tuple[str, ...]:
    return tuple(f"{value / GIB:.2f}" for value in values)


def concurrency_table(sized: Sizing, wanted: Sequence[int]) -> list[str]:
    """Requests at once, the pool they need, the memory in use, and the setting that gives it."""
    counts = _counts(sized, wanted)
    d = sized.deployment
    needs = [sized.pool_needed(sized.per_pool(n)) for n in counts]
    fixed = max(s.stage.fixed.total for s in sized.stages)
    shares = [sized.share_needed(sized.per_pool(n)) for n in counts]
    columns = [
        Column("requests", "", tuple(f"{n:,}" for n in counts)),
        Column("KV pool", "GiB", _gib(needs)),
        Column("memory", "GiB", _gib([fixed + need for need in needs])),
        Column(SHARES.get(d.engine.family, "share"), "", tuple(_share(share) for share in shares)),
        Column("", "", tuple(_verdict(sized, n, share) for n, share in zip(counts, shares, strict=True)), "left"),
    ]
    return render(columns)


def _share(share: float) -> str:
    return f"{-(-share * 1000 // 1) / 1000:.3f}" if share <= 1 else "-"


def _verdict(sized: Sizing, count: int, share: float) -> str:
    if share > 1:
        return "exceeds the GPU"
    if sized.per_pool(count) > sized.deployment.engine.max_num_seqs:
        return "above max_num_seqs"
    return "" if sized.sequences >= sized.per_pool(count) else "exceeds the pool"


def _counts(sized: Sizing, wanted: Sequence[int]) -> list[int]:
    """The numbers asked for; otherwise 1, 2, 5, 10, ... up to what runs, and the next."""
    if wanted:
        return list(wanted)
    most = min(sized.sequences, sized.deployment.engine.max_num_seqs) * sized.pools
    runs = sized.running * sized.pools
    series = [base * 10**power for power in range(7) for base in (1, 2, 5)]
    counts = [n for n in series if n < most]
    counts = [*counts[-(ROWS - 2) :], *([runs] if runs else []), series[len(counts)]]
    return sorted(set(counts))


def stage_table(sized: Sizing, width: int) -> list[str]:
    """What a GPU of each stage holds; which stage binds."""
    parallel, rows = sized.deployment.parallel, sized.stages
    uses = [sized.use(s) for s in rows]
    wide = parallel.tp
    columns = [
        Column("stage", "", tuple(str(s.stage.number) for s in rows)),
        Column("ranks", "", tuple(_span(wide * s.stage.number, wide * (s.stage.number + 1) - 1) for s in rows)),
        Column("layers", "", tuple(_span(s.stage.layers.start, s.stage.layers.stop - 1) for s in rows)),
        Column("weights", "GiB", _gib([u.weights for u in uses])),
        Column("activ.", "GiB", _gib([u.activations for u in uses])),
        Column("runtime", "GiB", _gib([u.runtime for u in uses])),
        Column("KV pool", "GiB", _gib([s.pool_bytes for s in rows])),
        Column("tokens", "", tuple(f"{s.pages // s.paging.pages_per_block * s.paging.block_tokens:,}" for s in rows)),
        Column("", "", tuple("binds" if s is sized.binding and len(rows) > 1 else "" for s in rows), "left"),
    ]
    return [
        *render(_within(columns, ("runtime", "activ."), width)),
        *([f" the same on each of {parallel.dp} data-parallel ranks"] if parallel.dp > 1 else []),
    ]


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def tier_table(sized: Sizing, width: int) -> list[str]:
    """HBM and the tiers below it: bytes, tokens, requests of the longest length."""
    d = sized.deployment
    tiers = sized.tiers
    hbm = sized.binding.pool_bytes * d.parallel.gpus * d.replicas
    sizes = [hbm, *(t.capacity_bytes * t.copies for t in tiers)]
    scale = scale_for("bytes", sizes)
    tokens = [sized.pool_tokens * sized.pools, *(t.tokens for t in tiers)]
    columns = [
        Column("tier", "", ("hbm", *(t.name for t in tiers)), "left"),
        Column("capacity", scale.label, tuple(scale.number(size) for size in sizes)),
        Column("tokens", "", tuple(f"{n:,}" for n in tokens)),
        Column("requests", "", tuple(f"{n / d.request_tokens:,.1f}" for n in tokens)),
        Column("holds KV of", "", ("running and finished requests", *("finished requests, to reuse" for _ in tiers)), "left"),
    ]
    return render(_within(columns, ("holds KV of",), width))


def lever_table(sized: Sizing, levers: Sequence[Lever], width: int) -> list[str]:
    """Changes, best first, with what they give; columns that do not fit are left out, the most dispensable first."""
    family = sized.deployment.engine.family
    shown = levers[:SHOWN_LEVERS]
    before = sized.sequences
    columns = [
        Column("change", "", tuple(in_flags(lever.change, family) for lever in shown), "left"),
        Column("pool", "tokens", tuple(f"{lever.sizing.pool_tokens:,}" for lever in shown)),
        Column("longest", "tokens", tuple(f"{lever.sizing.longest:,}" for lever in shown)),
        Column("requests", "at once", tuple(f"{lever.sizing.sequences:,.2f}" for lever in shown)),
        Column("gain", "", tuple(f"x{lever.sizing.sequences / before:.2f}" if before else "-" for lever in shown)),
        Column("", "", tuple(_quality(lever) for lever in shown), "left"),
    ]
    return render(_within(columns, ("longest", "pool"), width))


def _within(columns: list[Column], dispensable: Sequence[str], width: int) -> list[Column]:
    """`columns` without as many of the dispensable ones as it takes to stay within `width`."""
    for head in dispensable:
        if table_width(columns) <= width:
            break
        columns = [column for column in columns if column.head != head]
    return columns


def _loss(value: float) -> str:
    return f"-{100 * value:.2g} %" if value else "0 %"


def _quality(lever: Lever) -> str:
    if lever.loss is not None:
        return _loss(lever.loss.value)
    return "?" if lever.unknown_loss else "w" if lever.lossy else ""


def survey_table(found: Mapping[str, Sizing]) -> list[str]:
    """One row for each kind of GPU, smallest first."""
    rows = sorted(found.items(), key=lambda item: (item[1].deployment.gpu.memory_bytes, item[0]))
    sizes = [s for _, s in rows]
    columns = [
        Column("gpu", "", tuple(name for name, _ in rows), "left"),
        Column("memory", "GiB", _gib([s.deployment.gpu.memory_bytes for s in sizes])),
        Column("KV pool", "GiB", tuple(f"{s.binding.pool_bytes / GIB:.2f}" if s.weights_fit else "-" for s in sizes)),
        Column("tokens", "", tuple(f"{s.pool_tokens:,}" if s.weights_fit else "-" for s in sizes)),
        Column("requests", "at once", tuple(f"{s.sequences:,.2f}" if s.weights_fit else "-" for s in sizes)),
        Column("", "", tuple(_fit_words(s) for s in sizes), "left"),
    ]
    return render(columns)


def _fit_words(sized: Sizing) -> str:
    if not sized.weights_fit:
        return "weights do not fit"
    return "" if sized.sequences >= 1 else f"longest: {sized.longest:,}"


def trade_table(trades: Sequence[FormatTrade], width: int) -> list[str]:
    """KV formats: size, requests, decode rate at as many requests as the first and at its own most, quality."""
    first = trades[0]
    columns = [
        Column("format", "", tuple(t.name for t in trades), "left"),
        Column("bits", "", tuple(f"{t.bits_per_value:g}" for t in trades)),
        Column("pool", "tokens", tuple(f"{t.sizing.pool_tokens:,}" for t in trades)),
        Column("run", "", tuple(f"{t.running:,}" for t in trades)),
        Column(f"at {max(1, first.running):,}", "tok/s", tuple(f"{t.equal_tokens_per_s:,.0f}" for t in trades)),
        Column("at most", "tok/s", tuple(f"{t.full_tokens_per_s:,.0f}" for t in trades)),
        Column("pays", "from", tuple(_pays(t) for t in trades)),
        Column("quality", "", tuple("?" if t.loss is None else _loss(t.loss.value) for t in trades)),
    ]
    return render(_within(columns, ("pool", "bits"), width))


def _pays(trade: FormatTrade) -> str:
    return "never" if trade.break_even is None else f"{trade.break_even:,}"
