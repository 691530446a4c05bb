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
    """The folder of real traces (`$DSE_TEST_DATA`, or `shared` beside the checkout); skips without it.

    `traces/kv/mooncake_conversation.jsonl.zst` in it is FAST25-release/traces/conversation_trace.jsonl of kvcache-ai/Mooncake
    (Apache-2.0), commit 3b5a5941, compressed by zstd.
    """
    folder = Path(os.environ.get("DSE_TEST_DATA") or Path(__file__).resolve().parents[2] / "shared")
    if not folder.is_dir():
        pytest.skip("set DSE_TEST_DATA to a folder of real traces (see tests/conftest.py)")
    return folder


@pytest.fixture
def frozen() -> object:
    """Marks an array read-only and hands it back, so that a function that writes to its input fails."""

    def freeze(array: np.ndarray) -> np.ndarray:
        array.flags.writeable = False
        return array

    return freeze
