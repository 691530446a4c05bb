"""Whether a policy or filter keeps the contract of its family; one outside the package that breaks it is named."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from keyword import iskeyword
from types import ModuleType
from typing import Any

import numba
import numpy as np

from simcore.declared import KINDS, object_fields, params_model, store_fields
from simcore.errors import InputError, shown
from simcore.plugins import broken, outside
from simcore.replay.state import COLUMNS, OF_OBJECT, node_dtype, store_dtype
from simcore.specs.base import Spec

_OPTIONAL_VERBS = ("on_pin", "on_release", "on_replace", "surplus")
_NOT_OF_FILTERS = ("SPARE_NODES", "REALS", "learn")


def check(module: ModuleType, verbs: Sequence[str], *, is_filter: bool = False) -> None:
    """What can be seen of a policy or filter before it runs.

    Raises:
        InputError: a module outside the package breaks the contract; the message names its file.
        SimcoreError: one of the package does.
    """
    _check_needs(module)
    _check_verbs(module, verbs)
    _check_params(module)
    own = {"FIELDS": node_dtype([], OF_OBJECT).names, "STORE_FIELDS": store_dtype([]).names, "OBJECT_FIELDS": ()}
    for name, taken in own.items():
        _check_fields(module, name, taken or ())
    _refuse_twice(module, [module])
    for name in ("SPARE_NODES", "WORDS", "REALS", "learn"):
        if hasattr(module, name) and not callable(getattr(module, name)):
            raise broken(module, f"{name} must be a function")
    _check_learn_every(module)
    if is_filter:
        _check_filter(module)


def check_together(policy: ModuleType, admission: ModuleType) -> None:
    """That a policy and a filter do not use one name for two things. Raises as `check`."""
    _refuse_twice(admission if outside(admission) else policy, (policy, admission))


@contextmanager
def blamed(modules: Iterable[ModuleType], what: str) -> Iterator[None]:
    """What goes wrong inside is the mistake of the first of the modules that is outside the package, if there is one.

    Raises:
        InputError: it went wrong.
    """
    try:
        yield
    except Exception as error:
        theirs = next(filter(outside, modules), None)
        if theirs is None or isinstance(error, InputError):
            raise
        raise broken(theirs, f"{what}: {type(error).__name__}: {shown(str(error))}") from error


def _check_needs(module: ModuleType) -> None:
    needs = module.NEEDS
    if not isinstance(needs, (set, frozenset)) or not all(isinstance(name, str) for name in needs):
        raise broken(module, "NEEDS must be a set of names", value=needs, hint='for example frozenset({"next_use"})')
    unknown = sorted(needs - set(COLUMNS))
    if unknown:
        raise broken(module, f"needs {', '.join(unknown)}, which no replay can tell it", hint=f"known: {', '.join(COLUMNS)}")


def _check_verbs(module: ModuleType, verbs: Sequence[str]) -> None:
    for name in (*verbs, *(verb for verb in _OPTIONAL_VERBS if hasattr(module, verb))):
        verb = getattr(module, name)
        if not (callable(verb) if numba.config.DISABLE_JIT else hasattr(verb, "py_func")):
            raise broken(module, f"{name} must be a jitted function", hint="decorate it with simcore.kernel.kernel")


def _check_params(module: ModuleType) -> None:
    model: Any = params_model(module)
    if not (isinstance(model, type) and issubclass(model, Spec)):
        raise broken(module, "Params must be a subclass of simcore.specs.base.Spec", value=model)
    for name, field in model.model_fields.items():
        if not isinstance(field.annotation, type) or field.annotation not in KINDS:
            raise broken(module, f"parameter {name} must be a float, int or bool", value=field.annotation)
        if not field.is_required() and not _fits(field.default, KINDS[field.annotation]):
            raise broken(module, f"the default of parameter {name} must be a number of 64 bits", value=field.default)


def _fits(value: Any, kind: type[np.generic]) -> bool:
    try:
        np.zeros(1, kind)[0] = value
    except (OverflowError, TypeError, ValueError):
        return False
    return True


def _check_fields(module: ModuleType, name: str, taken: Sequence[str]) -> None:
    declared = getattr(module, name, ())
    if not isinstance(declared, (tuple, list)):
        raise broken(module, f"{name} must be a tuple of (name, type)", value=declared)
    for field in declared:
        if not (isinstance(field, (tuple, list)) and len(field) == 2 and _is_name(field[0]) and _is_number(field[1])):
            rule = f"{name} must hold pairs of a name and a NumPy type of one number"
            raise broken(module, rule, value=field, hint='for example ("visited", np.uint8)')
    names = [field for field, _ in declared] + (list(params_model(module).model_fields) if name == "STORE_FIELDS" else [])
    clash = [field for field in names if field in taken]
    if clash:
        raise broken(module, f"the field or parameter {clash[0]} is the engine's own", hint="choose another name")


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and name.isidentifier() and not iskeyword(name)


def _is_number(kind: Any) -> bool:
    try:
        return kind is not None and np.dtype(kind).kind in "biuf"
    except (TypeError, ValueError):
        return False


def _refuse_twice(blame: ModuleType, modules: Sequence[ModuleType]) -> None:
    slots = [field for module in modules for field in getattr(module, "FIELDS", ())]
    for fields in (slots, store_fields(modules), object_fields(modules)):
        names = [name for name, _ in fields]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            between = " by the policy and the filter" if len(modules) > 1 else ""
            raise broken(blame, f"the field or parameter {twice[0]} is declared twice{between}", hint="choose another name")


def _check_learn_every(module: ModuleType) -> None:
    every = getattr(module, "LEARN_EVERY", 1)
    try:
        right = not isinstance(every, (bool, np.bool_)) and operator.index(every) > 0
    except TypeError:
        right = False
    if not right:
        raise broken(module, "LEARN_EVERY must be a whole number above 0", value=every)


def _check_filter(module: ModuleType) -> None:
    for name in _NOT_OF_FILTERS:
        if hasattr(module, name):
            raise broken(module, f"an admission filter has no {name}", hint="it may keep numbers in WORDS")
    if hasattr(module, "WORDS") and np.uint64 not in [np.dtype(k) for n, k in store_fields([module]) if n == "filter_words"]:
        rule = "an admission filter with WORDS must declare where they begin"
        raise broken(module, rule, hint='add ("filter_words", np.uint64) to STORE_FIELDS')
