"""`report.html` of a study: one self-contained page for a screen, a phone and paper. Needs no network, keeps no state."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from dse.analysis import report_html
from dse.analysis.report_data import Study, report_data
from dse.analysis.report_words import summary
from simcore.yamlio import dump_yaml

if TYPE_CHECKING:
    from dse.space import Space
    from dse.trial import Trial

FILE = "report.html"


def write_report(
    folder: Path,
    space: Space,
    trials: Sequence[Trial],
    *,
    statements: Sequence[str] = (),
    provenance: Mapping[str, str] | None = None,
    base: Trial | None = None,
) -> Path:
    """Write the report of a study; the same study gives the same bytes.

    Args:
        folder: of the study.
        space: what was searched.
        trials: every trial, in order.
        statements: what the simulator says about its own accuracy here.
        provenance: how the study came about (sampler, seed, versions ...), by name.
        base: the space's own scenario, evaluated as it stands, if that was done.

    Returns:
        The path of the page.
    """
    page = render(folder.resolve().name, Study(space, tuple(trials), base), statements, provenance or {})
    target = folder / FILE
    partial = target.with_suffix(".html.part")
    partial.write_text(page, encoding="utf-8")
    os.replace(partial, target)
    return target


def render(name: str, study: Study, statements: Sequence[str], provenance: Mapping[str, str]) -> str:
    """The page as text."""
    space = study.space
    thinned = len(study.complete) - len(study.drawn)
    shown = (
        f"The figures show {len(study.drawn)} of {len(study.complete)} designs: the front and an even choice of the rest. "
        if thinned
        else ""
    )
    origin = {"study": name, "space": space.name, "space sha256": space.sha256, **provenance}
    parts = {
        "title": escape(name),
        "description": f'<p class="lead">{escape(space.description)}</p>' if space.description else "",
        "summary": f"<p>{escape(summary(space))}</p>",
        "headline": report_html.headline(study),
        "scenario": report_html.scenario(study),
        "fronts": report_html.front_sections(study),
        "misses": f'<p class="note">{shown}</p>{report_html.misses(study)}' if shown else report_html.misses(study),
        "trust": report_html.trusted(study, statements),
        "origin": report_html.facts(list(origin.items())),
        "yaml": escape(dump_yaml(space.resolved())),
        "style": asset("report.css"),
        "plotly": plotly(),
        "script": asset("report.js") + asset("parallel.js"),
        "data": script_json(report_data(study)),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], asset("report.html"))


def script_json(data: object) -> str:
    """JSON that can stand inside a script element whatever its texts contain."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False, ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@lru_cache
def asset(name: str) -> str:
    """The text of a packaged asset."""
    return (files("dse.analysis") / "assets" / name).read_text(encoding="utf-8")


@lru_cache
def plotly() -> str:
    """plotly.js, fit to stand inside a script element."""
    return (files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8").replace("</script", "<\\/script")
