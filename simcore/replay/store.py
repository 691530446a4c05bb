"""Curves on disk: a small JSON file each, named by a hash of all that the numbers depend on.

A file is written aside and renamed into place. A damaged one is as good as none; where nothing can be written nothing is kept;
none of this is ever an error.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
import zlib
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np

import simcore.declared
import simcore.kernel
from simcore.compiling.generated import jitted_sources
from simcore.traces import accesses
from simcore.traces.kernels import next_use

KEPT = 10_000  # files; those used longest ago go first


def root() -> Path:
    """The folder of all curves."""
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "simcore", "curves")


def key_of(about: dict[str, Any], modules: Iterable[ModuleType]) -> str:
    """Name of what depends on `about`, made of what JSON knows, on modules of jitted code, and on this package."""
    digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    digest.update(_package_digest())
    for path in sorted({path for module in modules for path in {*jitted_sources(module), *_ours(module)}}):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _ours(module: ModuleType) -> set[Path]:
    """Files of the modules of this project whose functions and classes a module uses, directly or through others."""
    found: set[Path] = set()
    names = [module]
    while names:
        for value in vars(names.pop()).values():
            owner = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
            used = sys.modules.get(owner) if isinstance(owner, str) and owner.startswith("simcore.") else None
            path = Path(str(used.__file__)) if used is not None and getattr(used, "__file__", None) else None
            if used is not None and path is not None and path.is_file() and path not in found:
                found.add(path)
                names.append(used)
    return found


@lru_cache(maxsize=1)
def _package_digest() -> bytes:
    """Of the engine's own sources, which are those that are loaded, and of the versions below it."""
    beside = (simcore.kernel, simcore.declared, accesses, next_use)
    files = {*Path(__file__).parent.rglob("*.py"), *(Path(str(module.__file__)) for module in beside)}
    digest = hashlib.sha256(repr((sys.version, numba.__version__, np.__version__)).encode())
    for path in sorted(files):
        digest.update(path.read_bytes())
    return digest.digest()


def stored(key: str) -> dict[str, Any] | None:
    """What was kept under a key; None: nothing, or it is damaged."""
    path = root() / f"{key}.json"
    try:
        whole = json.loads(path.read_text(encoding="utf-8"))
        content: dict[str, Any] = whole["content"]
        if whole["crc"] != _crc(content):
            return None
    except (OSError, ValueError, LookupError, TypeError):
        return None
    with suppress(OSError):
        os.utime(path)
    return content


def keep(key: str, content: dict[str, Any]) -> None:
    """Keep `content`, made of what JSON knows, under a key."""
    with suppress(OSError):
        root().mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, aside = tempfile.mkstemp(prefix=".writing.", dir=root())
        try:
            with open(handle, "w", encoding="utf-8") as stream:
                json.dump({"crc": _crc(content), "content": content}, stream)
            os.replace(aside, root() / f"{key}.json")
        finally:
            with suppress(OSError):
                os.unlink(aside)
        _make_room()


def _crc(content: Any) -> int:
    return zlib.crc32(json.dumps(content, sort_keys=True).encode())


def _make_room() -> None:
    files = list(root().glob("*.json"))
    if len(files) > KEPT:
        ages: list[tuple[float, Path]] = []
        for path in files:
            with suppress(OSError):
                ages.append((path.stat().st_mtime, path))
        for _, path in sorted(ages)[: len(files) - KEPT]:
            path.unlink(missing_ok=True)
