"""Kernels become machine code once: in the entry that calls them.

Numba optimises every jitted function together with all that it calls and makes machine code of it at once, in case Python calls
it; what lies ten calls deep is optimised ten times. Only kernels call kernels, so each is kept as it was lowered, and an entry
gets the lot in one piece, which is optimised there as any compiler treats a file.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

# What is private to Numba here. Without one of these names kernels compile more slowly and are otherwise the same.
_PRIVATE = (
    *("finalize", "_ensure_finalized", "_optimize_functions", "_finalized", "_final_module"),
    *("_linking_libraries", "_shared_module", "_codegen"),
)


class _NoEnvironments:
    """Numba's code generator, except that it gives functions no Python objects: a part has no address to write them to."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, name: str, environment: object) -> None:
        pass


class _Part(JITCodeLibrary):  # type: ignore[misc]
    """The code of one kernel as it was lowered. What it calls is known, not linked."""

    _shared_module: Any

    @property
    def codegen(self) -> Any:
        return _NoEnvironments(self._codegen)

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        """The part and all that it reaches: what a library of another kind, an entry's, asks for."""
        if self._shared_module is None:
            whole = self._alone().clone()
            for library in self._reached():
                module = library._alone() if isinstance(library, _Part) else library._get_module_for_linking()
                whole.link_in(module, preserve=True)
            self._shared_module = whole
        return self._shared_module

    def _alone(self) -> Any:
        module = self._final_module.clone()
        for function in module.functions:
            if not function.is_declaration and function.linkage.name == "external":
                function.linkage = "linkonce_odr"  # may meet itself in another entry; goes where nobody needs it
        return module

    def _reached(self) -> list[Any]:
        found: dict[Any, None] = {}
        todo = list(self._linking_libraries)
        while todo:
            library = todo.pop()
            if library not in found and library is not self:
                found[library] = None
                todo += library._linking_libraries if isinstance(library, _Part) else ()
        return list(found)


class PartCompiler(Compiler):  # type: ignore[misc]
    """Pipeline of `numba.njit` for a function that only other jitted functions call."""

    def define_pipelines(self) -> Any:
        if self.state.library is None:
            part = _Part(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
            if all(hasattr(part, name) for name in _PRIVATE):
                self.state.library = part
        return super().define_pipelines()
