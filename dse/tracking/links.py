"""Deep links into the MLflow user interface that open on the right page; its front page is of no use to a search.

Checked against MLflow 3.17. Every path here is part of its single-page application, after `#`.
"""

from __future__ import annotations

import json
from urllib.parse import quote

from dse.tracking.mlflow_state import RunState

_KIND = "workflowType=machine_learning"
_VIEW = "viewStateShareKey"
REPORT = "report.html"
STUDY_TAG = "dse.study"
"""Tag of parent runs only."""


def study_links(base_url: str, state: RunState, sort_key: str = "") -> dict[str, str]:
    """The pages of one study, by what they show.

    Args:
        base_url: of the server, without a path ("http://127.0.0.1:5000").
        state: where the study is recorded; a state without a run has no links.
        sort_key: exported key of the metric the front's list is sorted by; sorting by one is what makes MLflow show it flat.
    """
    if not state.run_id:
        return {}
    base = base_url.rstrip("/")
    runs = f"{base}/#/experiments/{state.experiment_id}/runs"
    run = f"{runs}/{state.run_id}"
    links = {
        "run": f"{run}?{_KIND}",
        "hypervolume": f"{run}/model-metrics?{_KIND}",
        "report": f"{run}/artifacts/{REPORT}?{_KIND}",
    }
    if state.children:
        ids = f"runs={_json(state.children)}&experiments={_json([state.experiment_id])}"
        order = f"metrics.`{sort_key}`" if sort_key else "attributes.start_time"
        links["front"] = f"{runs}?{_KIND}&compareRunsMode=TABLE&{_search(front_filter(state.run_id), order)}"
        links["compare"] = f"{base}/#/compare-runs?{ids}&{_KIND}"
    if state.children and state.view:
        # A link that also names a filter or an order makes MLflow ignore the saved view, which holds both.
        links["front"] = f"{runs}?{_KIND}&compareRunsMode=TABLE&{_VIEW}={state.view}"
        links["scatter"] = f"{runs}?{_KIND}&compareRunsMode=CHART&{_VIEW}={state.view}"
    # MLflow remembers the last filter of an experiment, so a link that means "no filter" has to name one.
    searches = _search(f"tags.`{STUDY_TAG}` LIKE '%'", "attributes.start_time")
    links["searches"] = f"{runs}?{_KIND}&compareRunsMode=CHART&{searches}"
    return links


def _search(expression: str, order: str) -> str:
    return f"searchFilter={quote(expression, safe='')}&orderByKey={quote(order, safe='')}&orderByAsc=true"


def front_filter(run_id: str) -> str:
    """The search expression that selects the front's designs of one search."""
    return f"tags.mlflow.parentRunId = '{run_id}'"


def _json(ids: object) -> str:
    return quote(json.dumps(ids, separators=(",", ":")), safe="")
