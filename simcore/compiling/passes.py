"""Calling the compiled `loop` of a kernel module that needs no generated parts."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

from simcore.compiling.generated import Run, generated_engine

_loaded: dict[tuple[object, ...], Run] = {}


def run_pass(module: ModuleType, st: Any) -> int:
    """Run `module.loop(st)`, compiled for the types of `st`, a NamedTuple of arrays, and cached on disk.

    The module lies in a folder of nothing but kernels. Arrays that are only read are best given read-only, whatever they come
    from: another kind of array is another type, which compiles again.
    """
    key = (module.__name__, *((array.dtype, array.ndim, array.flags.writeable) for array in st))
    if key not in _loaded:
        name = module.__name__.rsplit(".", 1)[-1]
        _loaded[key] = generated_engine(
            name, Path(str(module.__file__)).parent, st, title=(module.__doc__ or name).split("\n")[0].rstrip("."), module=name
        )
    return _loaded[key](st)


def sealed(array: Any) -> Any:
    """A read-only view."""
    view = array.view()
    view.flags.writeable = False
    return view
