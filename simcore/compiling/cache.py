"""Machine code of an engine's entry, kept on disk between processes.

An entry lives in a folder of its own, named like its package: its source, Numba's files, and a manifest of their checksums. A
folder is built aside and renamed into place, so nobody ever reads half of one and any number of processes may start cold at
once. A damaged folder is replaced. Where nothing can be written there is no cached entry; none of this is ever an error.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numba

from simcore.kernel import entry

_SOURCE = "run.py"
_MANIFEST = "manifest.json"
_KEPT = 400  # folders, of engines in use and of those that edits of a source left behind

Entry = Callable[[Any], int]


def cached_entry(package: str, text: str, signature: Any) -> Entry | None:
    """The function `run` of the module `text`, compiled for one argument of Numba type `signature`; read from disk, or compiled
    and written there. None: nothing can be written."""
    for root in _roots():
        folder = root / package
        if _trusted(root) and _intact(folder, text):
            with suppress(Exception):  # not ours: whatever Numba may raise on reading, compiling again is right
                return _compiled(package, text, folder, signature)
    for root in _roots():
        with suppress(OSError):
            root.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not _trusted(root):
                continue
            with tempfile.TemporaryDirectory(prefix=f"{package}.", dir=root, ignore_cleanup_errors=True) as aside:
                building = Path(aside, package)
                building.mkdir()
                (building / _SOURCE).write_text(text, encoding="utf-8")
                run = _compiled(package, text, building, signature)
                with suppress(OSError):
                    _publish(building, root / package, text)
                return run
    return None


def uncached_entry(package: str, text: str, signature: Any) -> Entry:
    """The same, compiled for this process only."""
    return _for_signature(entry(_function(package, text, f"<{package}.run>"), cache=False), signature)


def _roots() -> list[Path]:
    """Where cached entries may be, best first."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    given = os.environ.get("NUMBA_CACHE_DIR")
    owner = os.getuid() if hasattr(os, "getuid") else "cache"
    return [*([Path(given)] if given else []), Path(home, "simcore"), Path(tempfile.gettempdir(), f"simcore-{owner}")]


def _trusted(root: Path) -> bool:
    """Whether files there may be run. The temporary folder is everybody's: a folder in it must be the user's alone."""
    if root.parent != Path(tempfile.gettempdir()) or not hasattr(os, "getuid"):
        return True
    try:
        about = root.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(about.st_mode) and about.st_uid == os.getuid() and not about.st_mode & 0o022


def _compiled(package: str, text: str, folder: Path, signature: Any) -> Entry:
    with _numba_files_beside_source():
        run = entry(_function(package, text, str(folder / _SOURCE)), cache=True)
    return _for_signature(run, signature)


def _function(package: str, text: str, filename: str) -> Entry:
    """The function `run` that `text` defines. Executed here, not imported: Python's own cache files are not ours to trust."""
    module = ModuleType(f"{package}.run")
    sys.modules[module.__name__] = module
    exec(compile(text, filename, "exec"), module.__dict__)
    run: Entry = module.run
    return run


def _for_signature(run: Any, signature: Any) -> Entry:
    _load_numba()
    run.compile((signature,))
    run.disable_compile()  # an argument of another type would be a mistake of ours, not a reason to compile again
    compiled: Entry = run
    return compiled


def _load_numba() -> None:
    """Load Numba's own functions without scipy.linalg, which it imports only to see that there is a BLAS: 0.15 s of every
    process. Code that uses the BLAS, none of ours, imports it when it is compiled."""
    blas = "scipy.linalg.cython_blas"
    if "numba.np.arraymath" in sys.modules or "scipy.linalg" in sys.modules:
        return
    sys.modules[blas] = None  # type: ignore[assignment]
    try:
        arraymath: Any = import_module("numba.np.arraymath")
    finally:
        del sys.modules[blas]
    if hasattr(arraymath, "_HAVE_BLAS"):
        arraymath._HAVE_BLAS = find_spec("scipy") is not None


@contextmanager
def _numba_files_beside_source() -> Iterator[None]:
    """Numba would rather use a folder of its own, which could not be renamed together with the source."""
    kept = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = ""
    try:
        yield
    finally:
        numba.config.CACHE_DIR = kept


def _checksums(folder: Path) -> dict[str, str]:
    files = [folder / _SOURCE, *sorted((folder / "__pycache__").glob("*.nb?"))]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _intact(folder: Path, text: str) -> bool:
    try:
        manifest = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
        return bool(manifest == _checksums(folder)) and (folder / _SOURCE).read_text(encoding="utf-8") == text
    except (OSError, ValueError):
        return False


def _publish(building: Path, folder: Path, text: str) -> None:
    if _intact(folder, text):
        return  # another process was faster
    (building / _MANIFEST).write_text(json.dumps(_checksums(building)), encoding="utf-8")
    if folder.exists():
        os.rename(folder, building.parent / "replaced")
    os.rename(building, folder)
    siblings = [path for path in folder.parent.iterdir() if path.name.startswith("simcore_") and (path / _MANIFEST).exists()]
    for old in sorted(siblings, key=lambda path: path.stat().st_mtime)[:-_KEPT]:
        shutil.rmtree(old, ignore_errors=True)
