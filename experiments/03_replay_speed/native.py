"""`loops.cpp`, built where there is a compiler, and called through ctypes."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from simcore.traces.accesses import Accesses

Misses = Callable[[Accesses, int], int]


def loops(folder: Path) -> dict[str, Misses] | None:
    """By policy, what counts the misses of (accesses, capacity); None without g++."""
    compiler = shutil.which("g++")
    if compiler is None:
        return None
    library = folder / "loops.so"
    source = Path(__file__).with_name("loops.cpp")
    subprocess.run([compiler, "-O3", "-march=native", "-shared", "-fPIC", "-o", library, source], check=True)
    built = ctypes.CDLL(str(library))
    return {name: _wrapped(getattr(built, name)) for name in ("lru", "sieve")}


def _wrapped(function: Callable[..., int]) -> Misses:
    function.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint32]  # type: ignore[attr-defined]
    function.restype = ctypes.c_uint64  # type: ignore[attr-defined]
    return lambda accesses, capacity: function(accesses.ids.ctypes.data, len(accesses), accesses.n_objects, capacity)
