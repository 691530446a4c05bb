"""What a study remembers about its MLflow run: `mlflow.json` in its folder."""

from __future__ import annotations

import json
import os
import uuid
from dataclasses import asdict, dataclass, replace
from pathlib import Path

STATE_FILE = "mlflow.json"
LOCAL = "local"
"""Stands for the store beside the study folders, so that a folder tree that was moved or copied still finds its own."""


@dataclass(frozen=True)
class RunState:
    """Where a study is recorded.

    Args:
        store: LOCAL, or the tracking URI without its password.
        key: made up by us before the run exists; finds a run again whose id could not be stored any more.
        experiment_id, run_id: given by MLflow; empty before.
        view: key of the saved view of the front; empty when there is none.
        children: run ids of the front's designs, in the front's order.
    """

    store: str
    key: str
    experiment_id: str = ""
    run_id: str = ""
    view: str = ""
    children: tuple[str, ...] = ()


def new_state(store: str) -> RunState:
    """A state with a key of its own and no run yet."""
    return RunState(store, uuid.uuid4().hex)


def read_state(folder: Path) -> RunState | None:
    """The state of a study folder; None when it has none or a damaged one."""
    try:
        raw = json.loads((folder / STATE_FILE).read_text(encoding="utf-8"))
        state = RunState(**{**raw, "children": tuple(raw["children"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return state


def write_state(folder: Path, state: RunState) -> None:
    """Replace the state file in one step."""
    target = folder / STATE_FILE
    partial = target.with_suffix(".json.part")
    partial.write_text(json.dumps(asdict(state), indent=1) + "\n", encoding="utf-8")
    os.replace(partial, target)


def forget_progress(state: RunState) -> RunState:
    """The state of a run that has to be made anew under a new key, because MLflow has lost or deleted it."""
    return replace(new_state(state.store), experiment_id=state.experiment_id)
