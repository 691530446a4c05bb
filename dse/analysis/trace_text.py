"""A described trace as a text: what was recognised, then a section for each kind of number, then what is left out and why."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dse.analysis.table import Column, render
from dse.analysis.values import duration, scale_for, wrapped
from simcore.units import format_bytes, format_seconds

STATISTICS = ("mean", "p50", "p90", "p99", "max")
LABEL = 12
CATEGORIES = 6
BAR, TRACE_OF_ONE = "#", "."
DAY_S = 86_400
FOUND_BY = {"content": "recognised by content", "suffix": "by its name's ending", "name": "as asked for"}
FITS = {
    "good": "a good fit",
    "fair": "a fair fit",
    "bad": "a bad fit: no Zipf law, replay the trace instead",
}

Section = Mapping[str, Any]


def trace_lines(trace: Section, width: int, flags: Sequence[str] = ()) -> list[str]:
    """The whole text, at most `width` characters a line (a command may be longer).

    Args:
        flags: what to give the next command so that it reads the trace in the same way.
    """
    lines = [Path(trace["trace"]).name, *_heading(trace, width)]
    parts = {
        "arrivals": _arrivals,
        "lengths": _lengths,
        "sessions": _sessions,
        "sizes": _sizes,
        "categories": _categories,
        "reuse": _reuse,
        "popularity": _popularity,
        "distances": _distances,
    }
    for name, show in parts.items():
        if trace[name] is not None:
            lines += ["", *show(trace, width)]
    if trace["left_out"]:
        lines += ["", "Left out", *_left_out(trace["left_out"], width)]
    if trace["distances"] is not None:
        lines += ["", "Next", f"  {shlex.join(['dse', 'mrc', trace['trace'], *flags])}"]
    return lines


def count(number: float) -> str:
    """A count with thousands set apart: "12,031"."""
    return f"{number:,.0f}"


def share(ratio: float) -> str:
    """A ratio in percent, one decimal: "36.6 %"."""
    return f"{100 * ratio:.1f} %"


def long_time(seconds: float) -> str:
    """A span of recorded time: "58 min 57 s", "1 day", "4.9 days", "5,095 days"."""
    if seconds < DAY_S:
        return duration(seconds)
    days = seconds / DAY_S
    text = count(days) if days >= 100 else f"{days:.1f}".removesuffix(".0")
    return f"{text} day" if text == "1" else f"{text} days"


def _labelled(label: str, text: str, width: int) -> list[str]:
    return wrapped(f"  {label:<{LABEL}}{text}", width, " " * (LABEL + 2))


def _noun(trace: Section) -> str:
    return str(trace["object"]).split(" of ")[0]


def _heading(trace: Section, width: int) -> list[str]:
    about = trace["format"]
    held = f"{count(trace['requests'])} requests"
    if trace["accesses"] is not None:
        same = trace["accesses"] == trace["requests"]
        held = f"{count(trace['accesses'])} accesses" if same else f"{held}, {count(trace['accesses'])} accesses"
        held += f" to {count(trace['distinct'])} distinct {trace['object']}"
    packed = f"{about['compression']}, " if about["compression"] else ""
    how = f"{about['reader']}, {FOUND_BY[about['found_by']]}; {packed}{format_bytes(about['file_bytes'])}"
    options = ", ".join(f"{name}={_option(value)}" for name, value in about["options"].items())
    return [
        *_labelled("holds", held, width),
        *_labelled("format", f"{how}. Another: --reader NAME", width),
        *(_labelled("options", f"{options}. Others: --option KEY=VALUE", width) if options else []),
        *_labelled("source", trace["source"], width),
    ]


def _option(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "none"}[value]
    return f"{value:g}" if isinstance(value, float) else str(value)


def _arrivals(trace: Section, width: int) -> list[str]:
    found = trace["arrivals"]
    rows = {"as read": found} if found["spread"] is None else {"as read": found, "spread evenly": found["spread"]}
    windows = [f"{window['window_s']:g} s" for window in found["idc"]]
    columns = [
        Column("", "", tuple(rows), "left"),
        Column("CV of", "gaps", tuple(f"{row['gap_cv']:.2f}" for row in rows.values())),
        *(
            Column("", window, tuple(_idc(row["idc"][k]) for row in rows.values()), group="IDC in windows of")
            for k, window in enumerate(windows)
        ),
    ]
    waits = "" if found["arrivals"] == trace["requests"] or trace["lengths"] is None else " that wait for no answer"
    title = (
        f"Arrivals   {count(found['arrivals'])}{waits} in {long_time(found['span_s'])}, {found['rate_per_s']:.3g}/s; "
        "Poisson would have 1 below"
    )
    return [*wrapped(title, width, " " * 11), *render(columns), *_clock(found, width)]


def _idc(window: Section) -> str:
    value = window["idc"]
    return "-" if value is None else f"{value:.2f}" if value < 1000 else f"{value:.0f}"


def _clock(found: Section, width: int) -> list[str]:
    zero, tick_s = found["zero_gap_share"], found["tick_s"]
    if tick_s is None:
        return wrapped(f"  {share(zero)} of the gaps are zero.", width, "  ") if zero >= 0.001 else []
    tick = long_time(tick_s) if tick_s >= 60 else format_seconds(tick_s)
    text = (
        f"  {share(zero)} of the gaps are zero: the recorder's clock ticks every {tick}. Gaps, and windows below a tick, "
        "are the clock's and not the requests'; the second row spreads arrivals evenly over their tick."
    )
    return wrapped(text, width, "  ")


def _rows(named: Mapping[str, Section | None], show: Any) -> list[str]:
    rows = {name: row for name, row in named.items() if row is not None}
    columns = [Column("", "", tuple(rows), "left")]
    columns += [Column(s, "", tuple(show(row[s]) for row in rows.values())) for s in STATISTICS]
    return render(columns)


def _lengths(trace: Section, width: int) -> list[str]:
    found = trace["lengths"]
    rows = {
        "input tokens": found["input_tokens"],
        "output tokens": found["output_tokens"],
        "prompt blocks": found["prompt_blocks"],
    }
    return ["Lengths of a request", *_rows(rows, count)]


def _sessions(trace: Section, width: int) -> list[str]:
    found = trace["sessions"]
    held = [f"{count(found[name])} {name}" for name in ("sessions", "tenants") if (found[name] or 0) > 1]
    chained = found["chained_requests"]
    if chained:
        held.append(f"{count(chained)} requests wait for the answer before and their think time")
    rows = {"requests": found["requests_per_session"], "think time s": found["think_s"]}
    table = _rows(rows, _figure) if any(rows.values()) else []
    return [*wrapped(f"Sessions   {'; '.join(held)}", width, " " * 11), *table]


def _figure(value: float) -> str:
    return count(value) if value >= 100 or value == int(value) else f"{value:.3g}"


def _sizes(trace: Section, width: int) -> list[str]:
    found = trace["sizes"]
    values = [found[f"{s}_bytes"] for s in STATISTICS]
    scale = scale_for("bytes", values)
    asked, distinct = format_bytes(found["asked_bytes"]), format_bytes(found["distinct_bytes"])
    lines = [
        "Sizes",
        *_rows({f"{scale.label} of an access": dict(zip(STATISTICS, values, strict=True))}, scale.number),
        *_labelled("in all", f"{asked} asked for; {distinct} hold every object once", width),
    ]
    if found["changing_objects"]:
        lines += _labelled("changing", f"{count(found['changing_objects'])} objects are asked for in several sizes", width)
    return lines


def _categories(trace: Section, width: int) -> list[str]:
    found = trace["categories"]
    rows = found["largest"][:CATEGORIES]
    what = "kinds of request" if trace["lengths"] is not None else "tables or kinds"
    columns = [
        Column("number", "", tuple(str(row["category"]) for row in rows)),
        Column("accesses", "", tuple(count(row["accesses"]) for row in rows)),
        Column("distinct", "", tuple(count(row["distinct"]) for row in rows)),
        Column("ceiling", "%", tuple(f"{100 * row['ceiling']:.1f}" for row in rows)),
    ]
    more = found["count"] - len(rows)
    return [f"{count(found['count'])} {what}", *render(columns), *([f" ... {count(more)} more"] if more else [])]


def _reuse(trace: Section, width: int) -> list[str]:
    found, noun = trace["reuse"], _noun(trace)
    ceiling = f"{share(found['ceiling'])} of accesses repeat an earlier one: no cache of any size hits more"
    if found["ceiling_bytes"] is not None:
        ceiling += f"; {share(found['ceiling_bytes'])} by bytes"
    lines = ["Reuse", *_labelled("ceiling", ceiling, width)]
    if "prefix_hit_blocks" in found:
        text = (
            f"{share(found['prefix_hit_blocks'])} of prompt blocks, {share(found['prefix_hit_tokens'])} of prompt tokens "
            "are found by an unbounded prefix cache"
        )
        lines += _labelled("prefixes", text, width)
    return [*lines, *_labelled("seen once", f"{share(found['seen_once'])} of the {noun}", width)]


def _popularity(trace: Section, width: int) -> list[str]:
    found, noun = trace["popularity"], _noun(trace)
    zipf = (
        f"exponent {found['zipf_exponent']:.2f}, maximum likelihood over all ranks; {FITS[found['fit']]}. "
        f"The share of the top k is off by up to {100 * found['ks_distance']:.1f} points, at k = {count(found['ks_rank'])}"
    )
    top = (
        f"1 % of the {noun} take {share(found['top_1_percent_share'])} of accesses, "
        f"10 % take {share(found['top_10_percent_share'])}"
    )
    lines = ["Popularity", *_labelled("Zipf", zipf, width)]
    if found["slope_exponent"] is not None:
        fitted = f"least squares over the {count(found['slope_ranks'])} {noun} accessed 5 times or more"
        slope = f"exponent {found['slope_exponent']:.2f}, {fitted}"
        lines += _labelled("log-log", slope, width)
    return [*lines, *_labelled("top", top, width)]


def _distances(trace: Section, width: int) -> list[str]:
    found, noun = trace["distances"], _noun(trace)
    bins = found["bins"]
    while len(bins) > 1 and not bins[0]["accesses"]:
        bins = bins[1:]
    first = found["first_accesses"] / trace["accesses"]
    shares = [*(b["share"] for b in bins), first]
    columns = [
        Column("up to", noun, (*(count(b["up_to"]) for b in bins), "first")),
        Column("accesses", "%", tuple(f"{100 * s:.1f}" for s in shares)),
        Column("LRU of that", "hits %", (*(f"{100 * b['hit_ratio']:.1f}" for b in bins), "")),
    ]
    plain = render(columns)
    room = max(10, min(width, 100) - max(map(len, plain)) - 2)
    bars = ["", "", *(_bar(s, max(shares), room) for s in shares)]
    title = f"Reuse distance   depth in an LRU stack: other {noun} used since, plus one"
    if "prefix_hit_blocks" in trace["reuse"]:
        title += "; of a prompt's blocks the largest so far, touched tail first"
    widest = max(map(len, plain))
    return [
        *wrapped(title, width, " " * 17),
        *(f"{line:<{widest}}  {bar}".rstrip() for line, bar in zip(plain, bars, strict=True)),
    ]


def _bar(part: float, largest: float, room: int) -> str:
    """What is less than half a character, but there, is a dot."""
    return BAR * round(room * part / largest) or (TRACE_OF_ONE if part else "")


def _left_out(reasons: Mapping[str, str], width: int) -> list[str]:
    sections: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        sections.setdefault(reason, []).append(name)
    return [line for reason, names in sections.items() for line in wrapped(f"  {', '.join(names)}: {reason}", width, "    ")]
