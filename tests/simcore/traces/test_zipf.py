"""Zipf streams: their law, their determinism, their limits."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcore.errors import InputError
from simcore.traces.zipf import _tables, zipf_stream


@settings(max_examples=60)
@given(n=st.integers(1, 300), exponent=st.sampled_from([0.0, 0.5, 0.9, 1.0, 2.5, 40.0]))
def test_the_tables_hold_the_law(n: int, exponent: float) -> None:
    share, alias = _tables(n, exponent)
    found = share + np.bincount(alias, weights=1 - share, minlength=n)
    expected = np.arange(1, n + 1) ** -exponent
    assert found / n == pytest.approx(expected / expected.sum(), abs=1e-12)
    assert ((share >= 0) & (share <= 1)).all()


def test_frequencies_follow_the_law() -> None:
    n, m = 1_000, 2_000_000
    counts = np.bincount(np.concatenate(list(zipf_stream(m, n, 0.9, seed=3))), minlength=n)
    expected = np.arange(1, n + 1) ** -0.9
    expected *= m / expected.sum()
    chi_squared = ((counts - expected) ** 2 / expected).sum()
    assert abs(chi_squared - (n - 1)) < 4 * np.sqrt(2 * (n - 1))


@given(m=st.integers(1, 300), chunk=st.integers(1, 400), seed=st.integers(0, 2**70))
def test_chunks_change_nothing(m: int, chunk: int, seed: int) -> None:
    parts = list(zipf_stream(m, 50, 0.8, seed, chunk))
    assert np.concatenate(parts).tolist() == np.concatenate(list(zipf_stream(m, 50, 0.8, seed))).tolist()
    assert all(len(part) == chunk for part in parts[:-1]) and parts[0].dtype == np.uint32


def test_a_seed_gives_the_same_in_every_process() -> None:
    text = "from simcore.traces.zipf import zipf_stream; print(next(zipf_stream(9, 99, 0.9, 5)).tolist())"
    there = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout.strip()
    assert there == str(next(zipf_stream(9, 99, 0.9, 5)).tolist())
    assert there != str(next(zipf_stream(9, 99, 0.9, 6)).tolist())


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ((0, 5, 1.0), "n_requests"),
        ((5, 0, 1.0), "n_objects"),
        ((5, 1 << 32, 1.0), "n_objects"),
        ((5, 5, -0.1), "exponent"),
        ((5, 5, float("nan")), "exponent"),
        ((5, 5, 1.0, 0, 0), "chunk"),
    ],
)
def test_arguments_are_checked_at_once(arguments: tuple[int, int, float], path: str) -> None:
    with pytest.raises(InputError) as caught:
        zipf_stream(*arguments)
    assert caught.value.path == path
