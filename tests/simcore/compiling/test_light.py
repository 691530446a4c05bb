"""Loading machine code does not load scipy.linalg, and code that uses a BLAS still finds it."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
import numpy as np, numba
from simcore.compiling.cache import _load_numba
_load_numba()
print("scipy.linalg" in sys.modules)
dot = numba.njit(lambda a, b: np.dot(a, b))
print(dot(np.eye(3), np.arange(3.0)).tolist(), "scipy.linalg" in sys.modules)
"""


def test_scipy_is_imported_by_who_uses_it() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["False", "[0.0, 1.0, 2.0] True"]
