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
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np

import simcore.declared
import simcore.kernel
from simcore.compiling.generated import jitted_sources
from simcore.edited import edited
from simcore.traces import accesses
from simcore.traces.kernels import next_use

KEPT = 10_000  # files; those used longest ago go first


def root() -> Path:
    """The folder of all curves."""
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "simcore", "curves")


def key_of(about: dict[str, Any], modules: Iterable[ModuleType]) -> str | None:
    """Name of what depends on `about`, made of what JSON knows, on modules of jitted code, and on this package. None: a source
    was edited while this process ran, so that its file does not tell what the numbers come from."""
    digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    digest.update(_versions().encode())
    files, modules = dict.fromkeys(_of_package(), ""), tuple(modules)
    for module in modules:
        ours = {Path(str(module.__file__)), *_ours(module)}
        files |= {**dict.fromkeys(ours - files.keys(), ""), **jitted_sources(module)}
    with suppress(OSError):  # one that is gone counts as edited
        for path, frozen in sorted(files.items()):
            digest.update(path.read_bytes() + frozen.encode())
    return None if edited(files, modules) else digest.hexdigest()


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
def _versions() -> str:
    return repr((sys.version, numba.__version__, np.__version__, version("scikit-learn")))


def _of_package() -> list[Path]:
    """The engine's own sources."""
    beside = (simcore.kernel, simcore.declared, accesses, next_use)
    return [*Path(__file__).parent.rglob("*.py"), *(Path(str(module.__file__)) for module in beside)]


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
