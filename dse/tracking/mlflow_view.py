"""A saved view of MLflow's run page: the front as a scatter plot, opened by a link.

The format is no documented interface: it is what MLflow 3.17 itself stores when a user shares a view, as an experiment
tag. Nothing may depend on it.
"""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import dataclass
from typing import Any

from dse.tracking.links import front_filter

_SECTION = "front"


@dataclass(frozen=True)
class View:
    """The front of one search, `x` against `y`, both metric keys of the child runs.

    Args:
        name: shown in MLflow's menu of views.
        x, y: metric keys.
        columns: of the table, as "metrics.`key`" or "params.`key`".
        time_ms: when it was made.
    """

    name: str
    x: str
    y: str
    columns: tuple[str, ...]
    time_ms: int

    def key(self, run_id: str) -> str:
        """The view's key in links; one per search."""
        return f"front{run_id}"

    def tag(self, run_id: str) -> tuple[str, str]:
        """Name and value of the experiment tag that holds the view."""
        packed = base64.b64encode(zlib.compress(json.dumps(self._state(run_id)).encode())).decode()
        value = {"name": self.name, "createdAt": self.time_ms, "updatedAt": self.time_ms, "state": f"deflate;{packed}"}
        return f"mlflow.sharedViewState.{self.key(run_id)}", json.dumps(value)

    def _state(self, run_id: str) -> dict[str, Any]:
        chart = {
            "uuid": f"scatter{run_id[:8]}",
            "type": "SCATTER",
            "runsCountToCompare": 100,
            "metricSectionId": _SECTION,
            "deleted": False,
            "isGenerated": False,
            "xaxis": {"key": self.x, "type": "METRIC"},
            "yaxis": {"key": self.y, "type": "METRIC"},
        }
        return {
            "searchFilter": front_filter(run_id),
            "orderByKey": f"metrics.`{self.x}`",
            "orderByAsc": True,
            "startTime": "ALL",
            "lifecycleFilter": "Active",
            "datasetsFilter": [],
            "modelVersionFilter": "All Runs",
            "selectedColumns": list(self.columns),
            "columnOrder": [],
            "columnWidths": {},
            "runsExpanded": {},
            "runsPinned": [],
            "runsHidden": [],
            "runsVisibilityMap": {},
            "runsHiddenMode": "SHOW_ALL",
            "viewMaximized": False,
            "runListHidden": False,
            "isAccordionReordered": True,
            "useGroupedValuesInCharts": True,
            "hideEmptyCharts": True,
            "groupBy": None,
            "groupsExpanded": {},
            "autoRefreshEnabled": False,
            "globalLineChartConfig": {"xAxisKey": "step", "lineSmoothness": 0, "selectedXAxisMetricKey": ""},
            "compareRunCharts": [chart],
            "compareRunSections": [
                {"uuid": _SECTION, "name": "Front", "display": True, "isReordered": False, "columns": 1, "cardHeight": 480}
            ],
        }
