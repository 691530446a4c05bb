"""Sentences about curves: the definition, what was found, and what a figure cannot say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dse.analysis.mrc_data import Curves, Line
from dse.analysis.values import listing, plain_number, scale_for
from simcore.units import format_bytes

if TYPE_CHECKING:
    from simcore import Accesses

ENOUGH = 90
"""Share of the ceiling, in %, that counts as nearly all of it."""


def definition(accesses: Accesses, order: str | None, warmup: int, offline: Sequence[str]) -> str:
    """What counts as a hit.

    Args:
        order: of touching, as typed; None: the default, which differs between policies that know the future and others.
    """
    if accesses.chain:
        how = "from its first block" if order == "chain" else "tail first"
        other = f" ({' and '.join(sorted(offline))}: from its first block)" if order is None and offline else ""
        said = (
            "A hit is a block of the longest run of leading blocks resident when the request arrives; "
            f"then all its blocks are touched, {how}{other}, and absent ones enter."
        )
    else:
        sizes = ", each as large as its access says" if accesses.sizes is not None else ""
        said = f"A hit is an access to a resident object{sizes}; an absent one enters."
    first = f"The first {warmup} of {accesses.n_requests} requests fill the cache and are not counted"
    before = first if warmup else "No warm-up"
    return f"{said} {before}; first accesses are misses."


def trace_line(curves: Curves) -> str:
    """What was read."""
    unit = "objects" if curves.unit == "bytes" else curves.unit
    tokens = f" of {curves.block_tokens} tokens" if curves.block_tokens else ""
    size = f" of {format_bytes(curves.footprint)} in all" if curves.footprint else ""
    requests = f"{curves.requests} requests, " if curves.requests != curves.accesses else ""
    return f"{requests}{curves.accesses} accesses to {curves.distinct} {unit}{tokens}{size}"


def measure(curves: Curves) -> str:
    """What a hit ratio is of."""
    return {"blocks": "blocks", "tokens": "prompt tokens", "accesses": "accesses"}[curves.count]


def capacity_text(curves: Curves, capacity: int) -> str:
    """A capacity in a sentence."""
    if curves.unit == "bytes":
        return format_bytes(capacity)
    amount = curves.bytes_of([capacity])
    return f"{capacity} {curves.unit}" + (f" ({format_bytes(amount[0])})" if amount else "")


def percent(share: float) -> str:
    """A hit ratio with two places."""
    return f"{100 * share:.2f}"


def findings(curves: Curves) -> list[tuple[str, str]]:
    """What the curves say, each with a label."""
    ceiling = f"{percent(curves.top)} % of {measure(curves)}"
    if curves.ceiling.byte_hit_ratio is not None:
        ceiling += f", {percent(curves.ceiling.byte_hit_ratio)} % of bytes"
    said = [("Ceiling", f"{ceiling}: a cache that never evicts.")]
    gap = curves.gap
    if gap is not None:
        widest = max(range(len(gap)), key=gap.__getitem__)
        where = capacity_text(curves, curves.capacity[widest])
        said.append(("Gap", f"belady hits up to {100 * gap[widest]:.1f} points more than lru, at {where}."))
    online = [line for line in curves.lines if not line.offline]
    if len(online) > 1:
        said.append(("Best", f"{_winners(curves, online)}."))
    said += [("Enough", sentence) for sentence in [_enough(curves, online)] if sentence]
    if curves.rate is not None:
        said.append(("Sampled", _error(curves)))
    return said


def _winners(curves: Curves, online: Sequence[Line]) -> str:
    """Which policy that can be built hits most, by ranges of capacities."""
    runs: list[tuple[str, list[int]]] = []
    for k, capacity in enumerate(curves.capacity):
        best = max(curves.ratio(line)[k] for line in online)
        tied = [line.policy for line in online if curves.ratio(line)[k] >= best - 5e-5]
        still = runs[-1][0] if runs and runs[-1][0] in tied else tied[0]
        name = "all alike" if len(tied) == len(online) else still
        if runs and runs[-1][0] == name:
            runs[-1][1].append(capacity)
        else:
            runs.append((name, [capacity]))
    if len(runs) == 1:
        return f"{runs[0][0]} at every capacity"
    texts = []
    for position, (name, capacities) in enumerate(runs):
        last = position == len(runs) - 1
        where = "from" if last and len(capacities) > 1 else "up to" if not position else "at" if len(capacities) == 1 else "to"
        at = capacities[0] if where in ("from", "at") else capacities[-1]
        texts.append(f"{name} {where} {short_capacity(curves, at)}")
    return listing(texts)


def short_capacity(curves: Curves, capacity: int) -> str:
    """A capacity in a list."""
    return format_bytes(capacity) if curves.unit == "bytes" else plain_number(capacity)


def _enough(curves: Curves, online: Sequence[Line]) -> str:
    """The least capacity listed that gets each policy near the ceiling, policies with the same one together."""
    least: dict[int | None, list[str]] = {}
    for line in online:
        ratio = curves.ratio(line)
        at = next((c for c, r in zip(curves.capacity, ratio, strict=True) if r >= ENOUGH / 100 * curves.top), None)
        least.setdefault(at, []).append(line.policy)
    short = least.pop(None, [])
    if not least or curves.top <= 0:
        return ""
    found = [f"{listing(least[at])} at {capacity_text(curves, at)}" for at in sorted(c for c in least if c is not None)]
    rest = f"; nowhere: {listing(short)}" if short else ""
    return f"{ENOUGH} % of the ceiling, of the capacities listed: {', '.join(found)}{rest}."


def _error(curves: Curves) -> str:
    """How large the sample is, and how far its intervals reach."""

    def widths(errors: Sequence[tuple[str, Sequence[float] | None]]) -> str:
        return ", ".join(f"{policy} {100 * max(error):.2f}" for policy, error in errors if error)

    reach = f"{widths([(line.policy, curves.error(line)) for line in curves.lines])} points"
    if of_bytes := widths([(line.policy, line.byte_error) for line in curves.lines]):
        reach += f", of bytes {of_bytes}"
    return (
        f"{100 * (curves.rate or 0):.3g} % of the {curves.unit if curves.unit != 'bytes' else 'objects'} "
        f"(seed {curves.seed}); 95 % intervals reach +- {reach}."
    )


def notes(curves: Curves) -> list[str]:
    """What marks in the table mean."""
    said = []
    if any(line.offline for line in curves.lines):
        said.append(f"* {bound(curves)}")
    if curves.gap is not None:
        said.append("gap: belady less lru, in points")
    if curves.model is not None and curves.block_bytes is not None:
        size = scale_for("bytes", [curves.block_bytes]).text(curves.block_bytes)
        said.append(f"a block is {size} of KV cache of {curves.model} in {curves.kv_format}, over all layers")
    if curves.filtered:
        said.append(f"behind the admission filter {curves.filtered}")
    if curves.ways:
        said.append(f"in sets of {curves.ways}")
    return said


def bound(curves: Curves) -> str:
    """What a policy that knows the future is good for on this trace."""
    reasons = {
        "with sizes": curves.unit == "bytes",
        "on prefix chains": curves.unit == "blocks",
        "behind a filter, which may refuse what it would keep,": curves.filtered is not None,
    }
    weak = [reason for reason, holds in reasons.items() if holds]
    if weak:
        more = "a little more" if weak == ["on prefix chains"] else "more"
        said = f"knows the future; {' and '.join(weak)} a heuristic, so that {more} may be possible"
    else:
        said = "knows the future; no policy hits more (belady: none that lets every newcomer enter)"
    return said + ("; from a sample, an estimate of that" if curves.rate is not None else "")
