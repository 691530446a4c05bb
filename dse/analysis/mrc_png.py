"""Curves as a picture."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dse.analysis.mrc_data import Curves
from dse.analysis.mrc_words import measure, trace_line
from dse.analysis.values import scale_for

LOOKS = (
    ("#0072b2", "o"), ("#d55e00", "s"), ("#00795a", "D"), ("#a3376f", "^"),
    ("#8a6d00", "X"), ("#3d3d3d", "P"), ("#56b4e9", "v"), ("#7a4fb5", "*"),
)  # fmt: skip
"""Okabe-Ito, told apart by marks as well as by colour."""
INK, SOFT, LINE = "#1b2127", "#56606b", "#e3e7eb"


def png(curves: Curves) -> bytes:
    """The picture: a panel for each thing hits are counted in (accesses and bytes of traces with sizes)."""
    import matplotlib

    with matplotlib.rc_context({"font.size": 10, "text.color": INK, "axes.labelcolor": INK, "text.parse_math": False}):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        lines = curves.lines
        panels = [_Panel(measure(curves), curves.top, [(curves.ratio(line), curves.error(line)) for line in lines])]
        if curves.ceiling.byte_hit_ratio is not None:
            of_bytes = [(line.byte_hit_ratio or (), line.byte_error) for line in lines]
            panels.append(_Panel("bytes", curves.ceiling.byte_hit_ratio, of_bytes))
        figure = Figure(figsize=(8.0 if len(panels) == 1 else 12.0, 5.4), dpi=150, layout="constrained")
        canvas = FigureCanvasAgg(figure)
        for number, panel in enumerate(panels, 1):
            _draw(figure.add_subplot(1, len(panels), number), curves, panel)
        figure.suptitle(f"{curves.trace}\n{trace_line(curves)}", x=0.01, ha="left", fontsize=10)
        width = 120 if len(panels) == 1 else 180
        figure.supxlabel("\n".join(textwrap.wrap(curves.definition, width)), x=0.01, ha="left", fontsize=7.5, color=SOFT)
        made = io.BytesIO()
        canvas.print_png(made, metadata={"Software": None})
    return made.getvalue()


@dataclass(frozen=True)
class _Panel:
    """Hits counted in one thing: its name, the ceiling, and each policy's ratios with half the width of their intervals."""

    label: str
    ceiling: float
    ratios: Sequence[tuple[Sequence[float], Sequence[float] | None]]


def _draw(axes: Any, curves: Curves, panel: _Panel) -> None:
    x, unit = [float(c) for c in curves.capacity], curves.unit
    if curves.capacity_bytes is not None:
        scale = scale_for("bytes", curves.capacity_bytes)
        x, unit = [c / scale.divisor for c in curves.capacity_bytes], scale.label
    for number, (line, (ratio, error)) in enumerate(zip(curves.lines, panel.ratios, strict=True)):
        colour, mark = LOOKS[number % len(LOOKS)]
        y = [100 * r for r in ratio]
        name = f"{line.policy} (knows the future)" if line.offline else line.policy
        axes.plot(x, y, "--" if line.offline else "-", color=colour, marker=mark, markersize=5, linewidth=1.8, label=name)
        if error:
            low, high = ([r + sign * 100 * e for r, e in zip(y, error, strict=True)] for sign in (-1, 1))
            axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.axhline(100 * panel.ceiling, color=SOFT, linewidth=1, linestyle=":")
    axes.annotate(
        f"never evicting: {100 * panel.ceiling:.2f} %", (0.01, 100 * panel.ceiling), xycoords=("axes fraction", "data"),
        xytext=(0, 3), textcoords="offset points", color=SOFT, fontsize=8.5,
    )  # fmt: skip
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}" if 1e-3 <= value < 1e6 else f"{value:.0e}")
    axes.set_ylim(0, min(101.0, 112 * panel.ceiling + 1))
    axes.set_xlabel(f"capacity ({unit})" + (f" of KV cache, {curves.model}, {curves.kv_format}" if curves.model else ""))
    axes.set_ylabel(f"hit ratio (% of {panel.label})")
    axes.grid(True, which="major", color=LINE)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(frameon=False, loc="lower right", fontsize=9)
