"""Versions of this program and of what decides its numbers."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

DISTRIBUTION = "cache-dse"
DECISIVE = ("numpy", "numba", "optuna", "moocore")


def own_version() -> str:
    """The program's version; "0+source" when it runs from a folder that was never installed."""
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "0+source"


def versions() -> dict[str, str]:
    """Everything whose version may change a figure, by name."""
    return {
        DISTRIBUTION: own_version(),
        "python": platform.python_version(),
        **{name: version(name) for name in DECISIVE},
    }
