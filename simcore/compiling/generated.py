"""An engine is generated: its kernels import the verbs of the policies in use from a module that is written for them.

The kernels are loaded afresh for each set of policies, under a package name that contains a hash of every source that goes in,
so an edit anywhere makes another name and no stale machine code is ever run. Only the entry is cached on disk
(`compiling.cache`).
"""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import llvmlite.binding as llvm  # type: ignore[import-untyped]
import numba
import numpy as np

import simcore.kernel
from simcore.compiling.cache import cached_entry, uncached_entry

_ENTRY = '''"""{title}."""

from simcore.kernel import by_reference
from {package}.{module} import loop


def run(st):
    return loop(by_reference(st))
'''

Run = Callable[[Any], int]
_FROZEN = (bool, int, float, str, tuple, np.generic, np.dtype)


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
    """The compiled function `loop` of a module among the kernels in a folder.

    Args:
        name: of the engine; the package is called `simcore_<name>_<hash>`.
        kernels: folder of the kernel modules.
        example: a NamedTuple of arrays of the types the engine is to take.
        title: what it is, for the first line of the generated entry.
        module: of the entry.
        modules: text of the modules that the kernels import beside those of the folder.
        sources: modules whose jitted functions the generated text, or the kernels, call.
    """
    texts = dict(modules or {})
    package = f"simcore_{name}_{_digest(kernels, module, texts, sources, example)}"
    loop = _loaded(package, kernels, module, texts)
    if numba.config.DISABLE_JIT:
        return loop
    text = _ENTRY.format(title=title, package=package, module=module)
    signature = numba.typeof(example)
    return cached_entry(package, text, signature) or uncached_entry(package, text, signature)


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
    files = dict.fromkeys([Path(str(simcore.kernel.__file__)), *kernels.glob("*.py")], "")
    for module in sources:
        files |= jitted_sources(module)
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


def jitted_sources(module: ModuleType) -> dict[Path, str]:
    """Files of a module and of all jitted functions that it reaches, by name or through a module, and the numbers and texts
    that these may have frozen into their code, wherever they were imported from."""
    found: dict[Path, str] = {}
    todo = [vars(module)]
    while todo:
        names = todo.pop()
        path = Path(str(names.get("__file__")))
        if path in found or not path.is_file():
            continue
        found[path] = repr(sorted((k, repr(v)) for k, v in names.items() if isinstance(v, _FROZEN) and k[:2] != "__"))
        for value in names.values():
            if hasattr(value, "py_func"):
                todo.append(value.py_func.__globals__)
            elif isinstance(value, ModuleType) and any(hasattr(member, "py_func") for member in vars(value).values()):
                todo.append(vars(value))
    return found
