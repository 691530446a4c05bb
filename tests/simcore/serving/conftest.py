"""Two engines for all serving tests, without and with quotas."""

from __future__ import annotations

import pytest

from simcore.serving.serve import prepare


@pytest.fixture(scope="session", autouse=True)
def one_engine() -> None:
    prepare(("fifo", "lru", "sieve"))
    prepare(("fifo", "lru", "sieve"), quotas=True)
