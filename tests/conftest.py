"""Fixtures shared by every test."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(threads, "1")
settings.register_profile("project", deadline=None, derandomize=True)
settings.load_profile("project")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with real traces and measurements that lies beside a development checkout; skips without it."""
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip("needs the folder of real traces beside the checkout")
    return folder


@pytest.fixture
def frozen() -> object:
    """Marks an array read-only and hands it back, so that a function that writes to its input fails."""

    def freeze(array: np.ndarray) -> np.ndarray:
        array.flags.writeable = False
        return array

    return freeze
