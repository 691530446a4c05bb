"""Runs the command line in this process and an empty folder; closed forms stand in for the simulator of a search."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from dse.cli import main
from dse.study import run_search
from tests.dse.toy_study import SPACE, toy_evaluate


class Done(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """The one JSON object on standard output."""
        assert self.out.count("\n") == 1 and self.out.endswith("\n")
        return json.loads(self.out)


Dse = Callable[..., Done]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setattr("dse.commands.search.run_search", partial(run_search, evaluate=toy_evaluate))
    return tmp_path


@pytest.fixture
def dse(capfd: pytest.CaptureFixture[str]) -> Iterator[Dse]:
    def run(*arguments: str) -> Done:
        capfd.readouterr()
        status = main(list(arguments))
        out, err = capfd.readouterr()
        return Done(status, out, err)

    yield run


@pytest.fixture
def space(folder: Path) -> Callable[..., str]:
    """Writes the toy space and gives its name."""

    def write(limit: str = "80 ms", combine: str = "worst", objectives: str = "ttft_p99, hbm_cost_usd") -> str:
        text = SPACE.replace("LIMIT", limit).replace("COMBINE", combine).replace("OBJECTIVES", objectives)
        (folder / "toy.yaml").write_text(text)
        return "toy.yaml"

    return write


@pytest.fixture
def searched(dse: Dse, space: Callable[..., str]) -> Callable[..., Done]:
    """Searches the toy space without a record in MLflow."""

    def search(*arguments: str, **options: str) -> Done:
        return dse("search", space(**options), "--trials", "40", "--tracking-uri", "none", *arguments)

    return search
