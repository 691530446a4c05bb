"""The example scenarios of docs/user-cases.md, with dotted paths set, as `dse simulate --set` would run them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

import simcore
from dse.commands.simulate import Job, read_job
from dse.commands.sweep import measured

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "user_cases"
Values = dict[str, float]
Case = Callable[..., Values]


def job(name: str, **changes: Any) -> Job:
    """`name` with paths set; `__` stands for a dot."""
    return read_job(EXAMPLES / f"{name}.yaml", tuple(f"{path.replace('__', '.')}={value}" for path, value in changes.items()))


@lru_cache(maxsize=256)
def _values(name: str, changes: tuple[tuple[str, Any], ...]) -> Values:
    return dict(measured(job(name, **dict(changes))))  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def case() -> Case:
    """Metrics of an example with changes."""
    return lambda name, **changes: _values(name, tuple(changes.items()))


@pytest.fixture(scope="session")
def why() -> Callable[..., simcore.Account]:
    """The account of an example with changes."""
    return lambda name, **changes: simcore.account(next(iter(job(name, **changes).scenarios.values())))
