"""Why a simulated scenario is as fast as it is, as a text: phases, misses, what can be reused and where, what limits it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.analysis.labels import word
from dse.analysis.table import Column, render
from dse.analysis.values import listing, percent, plain_number, scale_for, wrapped
from simcore.units import format_bytes

if TYPE_CHECKING:
    from simcore import Account, Round

PHASE_WORDS = {
    "queue": "queue",
    "queue_again": "queue, preempted",
    "load": "load from below",
    "prefill": "prefill",
    "prefill_again": "prefill again",
    "transfer": "to decode replica",
    "decode": "decode",
    "response": "outside engine",
}
REASON_WORDS = {
    "first_use": ("first use", "nobody asked for them before"),
    "alignment": ("block alignment", "behind the last whole block, or a block computed again for its logits"),
    "capacity": ("capacity", "computed before, evicted, and in no tier"),
    "write_backlog": ("write backlog", "evicted; the write to a lower tier was dropped, its links were backed up"),
    "write_refused": ("write refused", "evicted; the lower tier's policy kept what it had"),
    "not_written": ("not written", "evicted before they were used often enough to be written below"),
    "other_replica": ("other replica", "held by another replica only"),
    "not_loaded": ("not loaded", "held below HBM; the load rule computed them instead"),
    "in_flight": ("in flight", "asked for earlier, not computed yet"),
}
REMEDIES = {
    "capacity": "more capacity (sizes below)",
    "alignment": "smaller blocks, if not the last blocks of full matches",
    "write_backlog": "faster writes below, or a longer engine.write_backlog",
    "write_refused": "another policy there",
    "not_written": "a smaller write_after_uses, or write_through",
    "other_replica": "routing by prefix, or a shared tier",
    "not_loaded": "another load rule, or faster links",
    "in_flight": "requests of a kind further apart, or larger steps",
}
HOLDING = "holding the reuse"
ROUNDS = 12
LEAST_GAIN = 0.02
"""Doubling something that takes less than this off the mean E2E changes nothing worth naming."""


def explain_lines(account: Account, width: int) -> list[str]:
    """All parts, each under its heading."""
    parts = [
        ("Where the time goes", phase_lines(account)),
        ("Where prompt tokens came from", token_lines(account, width)),
        *([("By round", round_lines(account))] if account.rounds else []),
        ("What can be reused", reuse_lines(account, width)),
        ("What limits it", limit_lines(account, width)),
    ]
    return [line for head, lines in parts for line in ("", head, *lines)]


def phase_shares(account: Account) -> dict[str, float]:
    """Share of all time between arrival and last token, by phase; they add up to 1."""
    total = float(account.e2e_s.sum())
    return {name: float(s.sum()) / total if total else 0.0 for name, s in account.phases.items()}


def phase_lines(account: Account) -> list[str]:
    """Mean, p99 and share of each phase that takes any time, and of the whole."""
    if len(account.e2e_s) == 0:
        return [" No request was served."]
    shares = phase_shares(account)
    names = [name for name, s in account.phases.items() if s.any()]
    rows = [(PHASE_WORDS[name], account.phases[name], shares[name]) for name in names]
    rows.append(("whole (E2E)", account.e2e_s, 1.0))
    scale = scale_for("s", [float(s.mean()) for _, s, _ in rows])
    columns = [
        Column("of a request", "", tuple(label for label, _, _ in rows), "left"),
        Column("mean", scale.label, tuple(scale.number(float(s.mean())) for _, s, _ in rows)),
        Column("p99", scale.label, tuple(scale.number(float(np.percentile(s, 99))) for _, s, _ in rows)),
        Column("share", "%", tuple(f"{100 * share:.1f}" for _, _, share in rows)),
    ]
    return [*render(columns), " Means add up; a p99 is that of its own row."]


def token_lines(account: Account, width: int) -> list[str]:
    """Every prompt token: found in a tier, or computed for a reason."""
    rows = [(f"found in {word(name)}", tokens, "") for name, tokens in account.found.items()]
    rows += [(REASON_WORDS[name][0], account.missed[name], REASON_WORDS[name][1]) for name in REASON_WORDS]
    rows = [row for row in rows if row[1]]
    rows.append(("all", account.prompt_tokens, ""))
    columns = [
        Column("prompt tokens", "", tuple(label for label, _, _ in rows), "left"),
        Column("number", "", tuple(f"{tokens:,}" for _, tokens, _ in rows)),
        Column("share", "%", tuple(f"{100 * tokens / max(account.prompt_tokens, 1):.1f}" for _, tokens, _ in rows)),
        Column("computed because", "", tuple(text for _, _, text in rows), "left"),
    ]
    lines = render(columns)
    if max(map(len, lines)) > width:
        lines = render(columns[:3])
        for label, _, text in rows:
            lines += wrapped(f" {label}: {text}.", width, "   ") if text else []
    lines += wrapped(largest_loss(account), width, "   ")
    if account.preemptions:
        again = f" {account.preemptions:,} preemptions made {account.recomputed_tokens:,} tokens be computed again"
        lines += wrapped(f"{again}; they are in no prompt above, and none counts as reuse.", width, "   ")
    return lines


def round_lines(account: Account) -> list[str]:
    """Of each round (of many: the first and the last ones) what could be found, what was, and where."""
    rounds = account.rounds
    shown = rounds if len(rounds) <= 2 * ROUNDS else (*rounds[:ROUNDS], *rounds[-ROUNDS:])
    scale = scale_for("s", [r.ttft_mean_s for r in shown])

    def share(part: int, r: Round) -> str:
        return f"{100 * part / max(r.prompt_tokens, 1):.2f}"

    columns = [
        Column("round", "", tuple(str(r.number) for r in shown)),
        Column("ceiling", "%", tuple(share(r.ceiling_tokens, r) for r in shown)),
        Column("found", "%", tuple(share(sum(r.found.values()), r) for r in shown)),
        *(Column(word(name), "%", tuple(share(r.found[name], r) for r in shown)) for name in account.found),
        Column("TTFT mean", scale.label, tuple(scale.number(r.ttft_mean_s) for r in shown)),
    ]
    lost = next((r.number for r in rounds if sum(r.found.values()) < r.ceiling_tokens), None)
    lines = render(columns)
    return lines if lost is None else [*lines, f" Round {lost} is the first that does not find all it could."]


def largest_loss(account: Account) -> str:
    """The reason, other than first use, that costs most, and what would help against it; empty if none costs much."""
    name, tokens = max(((n, t) for n, t in account.missed.items() if n != "first_use"), key=lambda pair: pair[1])
    share = tokens / max(account.prompt_tokens, 1)
    return f" Largest avoidable loss: {REASON_WORDS[name][0]}; {REMEDIES[name]}." if share >= LEAST_GAIN else ""


def reuse_lines(account: Account, width: int) -> list[str]:
    """The ceiling first; where what is reused fits; what a tier would have to hold."""
    reuse = account.reuse
    sentences = [_ceiling(account)]
    if reuse.regime != "no reuse":
        found = [f"{_chain(reuse.levels, k)} ({_tokens(n)}) {percent(h)} %" for k, (_, n, h) in enumerate(reuse.levels)]
        sentences.append(f"One request at a time, LRU finds in {listing(found)}.")
        sentences.append(
            f"Half of the ceiling takes {_size(account, reuse.half_tokens)} per replica, 95 % of it "
            f"{_size(account, reuse.most_tokens)}. Requests being served hold {_tokens(reuse.running_tokens)} of HBM's "
            f"{_tokens(reuse.levels[0][1])} on average."
        )
    sentences.append(advice(account))
    return [line for sentence in sentences for line in wrapped(f" {sentence}", width, "   ")]


def _ceiling(account: Account) -> str:
    reuse = account.reuse
    text = f"At most {100 * reuse.ceiling:.1f} % of prompt tokens can be found by any cache"
    if reuse.ceiling_pooled > reuse.ceiling + LEAST_GAIN / 2:
        text += f" of a replica's own ({100 * reuse.ceiling_pooled:.1f} % if replicas shared one)"
    return f"{text}."


def advice(account: Account) -> str:
    """Which tier the reuse calls for. None above the ceiling, none that LRU would thrash."""
    reuse = account.reuse
    hbm = reuse.levels[0][1]
    need = _size(account, max(reuse.most_tokens - hbm, 0))
    ratio = f"{plain_number(round(max(reuse.most_tokens / hbm - 1, 0.0), 2))} times HBM"
    if reuse.regime == "no reuse":
        return "Regime: no reuse. No tier of any size can help; none is recommended."
    if reuse.regime == "fits":
        if reuse.holding == "hbm":
            return "Regime: what is reused fits HBM. A tier below can only help while running requests crowd it out."
        chain = _chain(reuse.levels, [name for name, _, _ in reuse.levels].index(str(reuse.holding)))
        return f"Regime: what is reused fits {chain}; below HBM it takes {need} per replica ({ratio})."
    if reuse.regime == "thrash":
        return (
            f"Regime: cyclic. What is reused comes around in a cycle longer than all tiers, so LRU finds next to nothing. "
            f"More of a tier brings nothing until it holds the cycle: {need} below HBM per replica ({ratio})."
        )
    return f"Regime: what is reused exceeds all tiers. 95 % of the ceiling takes {need} below HBM per replica ({ratio})."


def _chain(levels: Sequence[tuple[str, int, float]], k: int) -> str:
    return " + ".join(word(name) for name, _, _ in levels[: k + 1])


def _tokens(n: float) -> str:
    return f"{n:,.0f} tokens"


def _size(account: Account, tokens: float) -> str:
    return f"{_tokens(tokens)} ({format_bytes(tokens * account.reuse.token_bytes)})"


def limit_lines(account: Account, width: int) -> list[str]:
    """What doubling each thing alone would change, the largest gain first."""
    rows = account.what_if
    if not rows:
        return [" Unknown: nothing was served."]

    def column(head: str, sub: str, values: Sequence[float | None]) -> Column:
        return Column(head, sub, tuple("" if v is None else f"{100 * (v - 1):+.1f}" for v in values))

    columns = [
        Column("twice as much of", "", tuple(w.name for w in rows), "left"),
        column("mean E2E", "%", [w.e2e_mean for w in rows]),
        column("p99 TTFT", "%", [w.ttft_p99 for w in rows]),
        column("mean TPOT", "%", [w.tpot_mean for w in rows]),
        column("sustainable rate", "%", [w.sustainable_rate for w in rows]),
    ]
    return [
        *wrapped(f" {binding(account)}", width, "   "),
        *render(columns),
        " Each simulated, one at a time; prices and fit aside.",
    ]


def binding(account: Account) -> str:
    """The one thing whose doubling takes most off the mean E2E, and the one that lifts the sustainable rate most."""
    own = [w for w in account.what_if if w.name != "replicas" and not w.name.endswith(HOLDING)]
    best = min(own, key=lambda w: w.e2e_mean)
    if best.e2e_mean > 1 - LEAST_GAIN:
        text = f"Nothing alone: no doubling takes {percent(LEAST_GAIN)} % off the mean E2E."
    else:
        text = f"Binding on latency: {best.name}; twice of it takes {100 * (1 - best.e2e_mean):.0f} % off the mean E2E."
    rated = [w for w in own if w.sustainable_rate is not None]
    if rated:
        most = max(rated, key=lambda w: w.sustainable_rate or 0.0)
        gain = (most.sustainable_rate or 1.0) - 1
        if gain >= LEAST_GAIN:
            text += f" Binding on throughput: {most.name}; twice of it sustains {100 * gain:.0f} % more."
    return text


def explain_object(account: Account) -> dict[str, Any]:
    """The shape of `--json`: see docs/simulate.md."""
    reuse, shares = account.reuse, phase_shares(account)
    rows = {**account.phases, "e2e": account.e2e_s} if len(account.e2e_s) else {}
    return {
        "phases": {
            name: {"mean_s": float(s.mean()), "p99_s": float(np.percentile(s, 99)), "share": shares.get(name, 1.0)}
            for name, s in rows.items()
        },
        "prompt_tokens": account.prompt_tokens,
        "found_tokens": dict(account.found),
        "missed_tokens": dict(account.missed),
        "recomputed_tokens": account.recomputed_tokens,
        "preemptions": account.preemptions,
        "reuse": {
            "ceiling": reuse.ceiling,
            "ceiling_pooled": reuse.ceiling_pooled,
            "regime": reuse.regime,
            "holding": reuse.holding,
            "levels": [{"name": name, "tokens": tokens, "found": found} for name, tokens, found in reuse.levels],
            "half_tokens": reuse.half_tokens,
            "most_tokens": reuse.most_tokens,
            "running_tokens": reuse.running_tokens,
            "advice": advice(account),
        },
        "rounds": [
            {"round": r.number, "prompt_tokens": r.prompt_tokens, "ceiling_tokens": r.ceiling_tokens,
             "found_tokens": dict(r.found), "ttft_mean_s": r.ttft_mean_s}
            for r in account.rounds
        ],
        "binding": binding(account) if account.what_if else None,
        "what_if": [
            {"doubled": w.name, "e2e_mean": w.e2e_mean, "ttft_p99": w.ttft_p99, "tpot_mean": w.tpot_mean,
             "sustainable_rate": w.sustainable_rate}
            for w in account.what_if
        ],
    }  # fmt: skip
