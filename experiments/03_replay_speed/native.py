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
    return {name: _wrapped(getattr(built, name), getattr(built, f"{name}_sized")) for name in ("lru", "sieve")}


def _wrapped(plain: Callable[..., int], sized: Callable[..., int]) -> Misses:
    pointer, u64, u32 = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint32
    plain.argtypes, plain.restype = [pointer, u64, u32, u32], u64  # type: ignore[attr-defined]
    sized.argtypes, sized.restype = [pointer, pointer, u64, u32, ctypes.c_int64], u64  # type: ignore[attr-defined]

    def misses(accesses: Accesses, capacity: int) -> int:
        ids, n = accesses.ids.ctypes.data, len(accesses)
        if accesses.sizes is None:
            return plain(ids, n, accesses.n_objects, capacity)
        return sized(ids, accesses.sizes.ctypes.data, n, accesses.n_objects, capacity)

    return misses
