"""An engine is generated: its kernels import the verbs of the policies in use from a module that is written for them.

The kernels are loaded afresh for each set of policies, under a package name that contains a hash of every source that goes in,
so an edit anywhere makes another name and no stale machine code is ever run. Only the entry is cached on disk
(`compiling.cache`), and not even that where a source was edited under the running process: the hash is of the file, the machine
code of what was loaded before.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from enum import EnumType
from pathlib import Path
from threading import Lock
from types import CellType, FunctionType, ModuleType
from typing import Any

import llvmlite.binding as llvm  # type: ignore[import-untyped]
import numba
import numpy as np

import simcore.kernel
import simcore.linking
from simcore.compiling.cache import cached_entry, uncached_entry
from simcore.edited import edited

_ENTRY = '''"""{title}."""

from simcore.kernel import by_reference
from {package}.{module} import loop


def run(st):
    return loop(by_reference(st))
'''

Run = Callable[[Any], int]
_FROZEN = (bool, int, float, complex, str, bytes, type, np.generic, np.dtype)
_OUTSIDE = sys.stdlib_module_names | {"numpy", "numba", "llvmlite", "pydantic"}  # in the hash by version, or never compiled
_SIMCORE = Path(str(simcore.kernel.__file__)).parent
_COMPILING = Lock()  # loading and compiling go through `sys.modules` and Numba's settings, which are all threads'


def generated_engine(
    name: str,
    kernels: Path,
    example: Any,
    *,
    title: str,
    module: str = "loop",
    modules: Mapping[str, str] | None = None,
    sources: Iterable[ModuleType] = (),
) -> Run:
    """The compiled function `loop` of a module among the kernels in a folder. Threads that ask at once wait for each other.

    Args:
        name: of the engine; the package is called `simcore_<name>_<hash>`.
        kernels: folder of the kernel modules.
        example: a NamedTuple of arrays of the types the engine is to take.
        title: what it is, for the first line of the generated entry.
        module: of the entry.
        modules: text of the modules that the kernels import beside those of the folder.
        sources: modules whose jitted functions the generated text, or the kernels, call.
    """
    texts, sources = dict(modules or {}), tuple(sources)
    with _COMPILING:
        package = f"simcore_{name}_{_digest(kernels, module, texts, sources, example)}"
        loop = _loaded(package, kernels, module, texts)
        if numba.config.DISABLE_JIT:
            return loop
        text = _ENTRY.format(title=title, package=package, module=module)
        signature = numba.typeof(example)
        cached = None if edited(_files(kernels, sources), sources) else cached_entry(package, text, signature)
        return cached or uncached_entry(package, text, signature)


def _loaded(package: str, kernels: Path, entry: str, modules: Mapping[str, str]) -> Run:
    """Load the kernels as package `package`, beside the given modules; returns their entry, not compiled yet."""
    parent = ModuleType(package)
    parent.__path__ = [str(kernels)]
    sys.modules[parent.__name__] = parent
    for name, text in modules.items():
        module = ModuleType(f"{package}.{name}")
        sys.modules[module.__name__] = module
        exec(compile(text, f"<{module.__name__}>", "exec"), module.__dict__)
    loop: Run = importlib.import_module(f"{package}.{entry}").loop
    return loop


def _digest(
    kernels: Path, entry: str, modules: Mapping[str, str], sources: Iterable[ModuleType], example: Iterable[Any]
) -> str:
    """Hash of everything the machine code depends on: sources, types, versions, processor, Numba's settings."""
    files = _files(kernels, sources)
    settings = sorted((k, v) for k, v in os.environ.items() if k.startswith("NUMBA_") and k != "NUMBA_CACHE_DIR")
    processor = (llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
    types = [(str(array.dtype.descr), array.ndim, array.flags.writeable) for array in example]
    options = simcore.kernel.OPTIONS
    versions = (sys.version, numba.__version__, np.__version__)
    about = (versions, processor, settings, options, entry, sorted(modules.items()), types)
    digest = hashlib.sha256(repr(about).encode())
    for path in sorted(files):
        digest.update(path.read_bytes() + files[path].encode())
    return digest.hexdigest()[:20]


def _files(kernels: Path, sources: Iterable[ModuleType]) -> dict[Path, str]:
    """The source files that go into the machine code, as `jitted_sources`."""
    floor = [Path(str(module.__file__)) for module in (simcore.kernel, simcore.linking)]
    files = dict.fromkeys([*floor, *kernels.glob("*.py")], "")
    for module in sources:
        files |= jitted_sources(module)
    return files


def jitted_sources(module: ModuleType) -> dict[Path, str]:
    """Files of a module and of all that it reaches by name or through a module, and the constants in them, wherever they were
    imported from: whatever a compiler may have frozen into machine code. Of installed packages only what is named directly."""
    found: dict[Path, str] = {}
    todo = [vars(module)]
    while todo:
        names = todo.pop()
        path = Path(str(names.get("__file__")))
        if path in found or not path.is_file():
            continue
        reached = {k: [v, *_enclosed(v)] for k, v in sorted(names.items()) if k[:2] != "__"}
        found[path] = repr([(k, frozen) for k, values in reached.items() if any(frozen := [_frozen(v) for v in values])])
        jitted = any(hasattr(value, "py_func") for value in names.values())
        if jitted or names is vars(module) or not _installed(path):
            todo += [place for values in reached.values() for v in values if (place := _namespace(v)) is not None]
    return found


def _enclosed(value: object) -> list[Any]:
    """The variables of the function around a function."""
    function = getattr(value, "py_func", value)
    cells = (function.__closure__ or ()) if isinstance(function, FunctionType) else ()
    return [cell.cell_contents for cell in cells if cell != CellType()]


def _frozen(value: object) -> str:
    """What a global variable of this value adds to machine code, in words; empty if nothing."""
    if isinstance(value, tuple):
        return repr([_frozen(member) for member in value])
    if isinstance(value, np.ndarray):
        return f"{value.dtype.descr} {value.shape} {value.tobytes().hex()}"
    if isinstance(value, EnumType):
        return repr([(member.name, _frozen(member.value)) for member in value])  # type: ignore[var-annotated]
    return repr(value) if isinstance(value, _FROZEN) else ""


def _namespace(value: object) -> dict[str, Any] | None:
    """Where the code of a function, or what a module holds, is found; not of packages outside the hash or there by version."""
    function = getattr(value, "py_func", value)
    names = function.__globals__ if isinstance(function, FunctionType) else vars(value) if isinstance(value, ModuleType) else {}
    return None if str(names.get("__name__", "sys")).split(".")[0] in _OUTSIDE else names


def _installed(path: Path) -> bool:
    return not path.is_relative_to(_SIMCORE) and any(part in ("site-packages", "dist-packages") for part in path.parts)
