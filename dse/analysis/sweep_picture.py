"""A sweep as a picture: PNG, or a page of HTML with the picture and its table."""

from __future__ import annotations

import io
import re
from html import escape
from typing import Any

from dse.analysis.labels import metric_label
from dse.analysis.mrc_png import INK, LINE, LOOKS
from dse.analysis.sweep import Line, Sweep
from dse.analysis.sweep_text import sweep_lines
from dse.analysis.values import Scale, scale_for
from simcore import find_metric

LOG_FROM = 20.0
"""A metric that spans more than this factor is drawn on a log scale."""


def png(sweep: Sweep, title: str) -> bytes:
    """The picture as PNG."""
    return _drawn(sweep, title, "png")


def page(sweep: Sweep, title: str) -> str:
    """A self-contained page: the picture (SVG) and the text of the sweep."""
    svg = re.sub(r"<metadata>.*?</metadata>", "", _drawn(sweep, title, "svg").decode(), flags=re.DOTALL)
    text = escape("\n".join(sweep_lines(sweep, 160, 120)))
    style = f"body{{font:15px/1.5 system-ui,sans-serif;color:{INK};margin:2rem auto;max-width:72rem;padding:0 1rem}}"
    style += "svg{width:100%;height:auto}pre{overflow-x:auto;font-size:13px;line-height:1.4}"
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{style}</style>'
    return f'<!doctype html><html lang="en">{head}<h1>{escape(title)}</h1>{svg[svg.index("<svg") :]}<pre>{text}</pre></html>\n'


def _drawn(sweep: Sweep, title: str, form: str) -> bytes:
    import matplotlib

    with matplotlib.rc_context(
        {"font.size": 10, "text.color": INK, "axes.labelcolor": INK, "text.parse_math": False, "svg.hashsalt": "sweep"}
    ):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        panels = [sweep.metric, *(key for key in ("throughput_tokens_per_s", "hit_ratio") if key != sweep.metric)]
        figure = Figure(figsize=(5.2 * len(panels), 4.6), dpi=130, layout="constrained")
        FigureCanvasAgg(figure)
        for number, key in enumerate(panels, 1):
            _panel(figure.add_subplot(1, len(panels), number), sweep, key)
        figure.suptitle(f"{title}   (hollow: saturated)", x=0.01, ha="left", fontsize=10)
        made = io.BytesIO()
        figure.savefig(made, format=form, metadata={"Software": None} if form == "png" else {"Date": None, "Creator": None})
    return made.getvalue()


def _panel(axes: Any, sweep: Sweep, key: str) -> None:
    metric = find_metric(key)
    known = [v for line in sweep.lines for v in sweep.series(line, key) if v is not None]
    scale = scale_for(metric.unit, known)
    axis = sweep.axes[0]
    x = list(axis.numbers) if axis.numbers is not None else [float(i) for i in range(len(axis.texts))]
    for number, line in enumerate(sweep.lines):
        _curve(axes, sweep, line, key, scale, x, LOOKS[number % len(LOOKS)])
    positive = [v for v in known if v > 0]
    if metric.unit == "s" and positive and max(positive) > LOG_FROM * min(positive):
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    else:
        axes.set_ylim(bottom=0)
    if axis.numbers is not None and axis.log and min(x) > 0:
        axes.set_xscale("log")
    axes.set_xticks(x, axis.texts, rotation=45 if len(x) > 6 or max(map(len, axis.texts)) > 6 else 0)
    axes.minorticks_off()
    axes.set_xlabel(axis.path)
    axes.set_ylabel(f"{metric_label(metric)} ({scale.label})" if scale.label else metric_label(metric))
    axes.grid(True, which="major", color=LINE)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if len(sweep.lines) > 1:
        axes.legend(frameon=False, fontsize=8.5, title=sweep.axes[1].path, title_fontsize=8.5)


def _curve(axes: Any, sweep: Sweep, line: Line, key: str, scale: Scale, x: list[float], look: tuple[str, str]) -> None:
    colour, mark = look
    values = sweep.series(line, key)
    y = [float("nan") if v is None else v / scale.divisor for v in values]
    axes.plot(x, y, color=colour, marker=mark, markersize=5, linewidth=1.8, label=line.name)
    full = [i for i, s in enumerate(sweep.series(line, "saturated")) if s]
    axes.plot([x[i] for i in full], [y[i] for i in full], linestyle="", marker=mark, markersize=5, color="white", mec=colour)
    at = sweep.knee(line) if key == sweep.metric else None
    if at is not None:
        axes.annotate("knee", (x[at], y[at]), xytext=(4, 4), textcoords="offset points", color=colour, fontsize=8.5)
        axes.axvline(x[at], color=colour, linewidth=0.8, linestyle=":")
