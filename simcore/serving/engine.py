"""Loading the compiled engine of a set of eviction policies.

The kernels import their policy verbs from a module `order`, which is generated: one branch a policy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType

from simcore.compiling.generated import Run, generated_engine
from simcore.errors import InputError
from simcore.plugins import find
from simcore.plugins import names as all_names
from simcore.serving import state

FAMILY = "simcore.policies"
VERBS = ("init", "on_hit", "on_miss", "choose_victim", "on_insert", "on_evict")
PROVIDED: frozenset[str] = frozenset()  # what this engine can tell a policy beyond the verbs' arguments
_DEFAULTS = {"on_pin": "on_evict", "on_release": "on_insert"}
_ARGUMENTS = {"init": "", "choose_victim": "", "on_miss": ", obj: Int"}  # of others: the slot
_loaded: dict[tuple[str, ...], Run] = {}


def policy_module(name: str, *, pool: bool = False) -> ModuleType:
    """The module of an eviction policy.

    Args:
        pool: it is to run an HBM pool.

    Raises:
        InputError: there is none of that name, it needs to know what this engine does not, or it may refuse what a pool must
            take. The caller knows the path.
    """
    module = find(FAMILY, name, (*VERBS, "FIELDS", "NEEDS"))
    missing = sorted(module.NEEDS - PROVIDED)
    if missing:
        hint = f"one of: {', '.join(known_policies(pool=pool))}"
        raise InputError(f"needs {', '.join(missing)}, which the serving engine does not track", value=name, hint=hint)
    if pool and getattr(module, "MAY_REFUSE", False):
        hint = f"use it in a tier below; here, one of: {', '.join(known_policies(pool=True))}"
        raise InputError("may refuse a block that a running request needs, so it cannot run HBM", value=name, hint=hint)
    return module


def known_policies(*, pool: bool) -> list[str]:
    """The eviction policies that this engine can run in a tier, or in an HBM pool."""
    modules = {name: find(FAMILY, name) for name in all_names(FAMILY)}
    known = [name for name, module in modules.items() if module.NEEDS <= PROVIDED]
    return [name for name in known if not (pool and getattr(modules[name], "MAY_REFUSE", False))]


def covering(names: Iterable[str]) -> tuple[str, ...]:
    """The policies, sorted, of the smallest engine loaded so far that knows all of `names`; without one, `names` themselves."""
    wanted = set(names)
    loaded = [known for known in _loaded if wanted <= set(known)]
    return min(loaded, key=len, default=tuple(sorted(wanted)))


def engine(names: Sequence[str], example: state.State) -> Run:
    """The event loop for stores whose policies are among `names` (sorted, distinct; `store.policy` is the index), compiled for
    states of the types of `example`."""
    key = tuple(names)
    if key not in _loaded:
        _loaded[key] = _load(key, example)
    return _loaded[key]


def order_source(names: Sequence[str]) -> str:
    """The text of the `order` module for a set of policies: each verb, switched by the policy number of the store."""
    modules = {name: policy_module(name) for name in names}
    lines = [f'"""The verbs of each store\'s eviction policy: {", ".join(names)}."""', ""]
    lines += [f"import {module.__name__} as {name}" for name, module in modules.items()]
    lines += ["from simcore.kernel import Int, Slot, State, kernel", ""]
    for verb in (*VERBS, *_DEFAULTS, "on_insert_pinned"):
        typed = _ARGUMENTS.get(verb, ", i: Slot")
        passed = typed.partition(":")[0]
        chooses = verb == "choose_victim"
        lines += ["", "@kernel", f"def {verb}(st: State, s: Int{typed}) -> {'Slot' if chooses else 'None'}:"]
        for number, (name, module) in enumerate(modules.items()):
            calls = [f"{name}.{target}(st, s{passed})" for target in verb_functions(module, verb)]
            last = number == len(modules) - 1
            test = "    else:" if last else f"    {'el' if number else ''}if st.store[s].policy == {number}:"
            if len(modules) > 1:
                lines.append(test)
            indent = "        " if len(modules) > 1 else "    "
            lines += [f"{indent}{'return ' if chooses else ''}{call}" for call in calls or ["pass"]]
        lines.append("")
    return "\n".join(lines)


def verb_functions(module: ModuleType, verb: str) -> list[str]:
    """The functions of a policy that a verb comes to, in order, with the defaults of those it leaves out.

    An object that enters pinned is inserted and then pinned. Where pinned objects are in no order, that is nothing at all.
    """
    if verb == "on_insert_pinned":
        own = any(hasattr(module, v) for v in _DEFAULTS)
        return ["on_insert", *verb_functions(module, "on_pin")] if own else []
    return [verb if hasattr(module, verb) else _DEFAULTS[verb]]


def _load(names: tuple[str, ...], example: state.State) -> Run:
    policies = [policy_module(name) for name in names]
    return generated_engine(
        "serving",
        Path(__file__).parent / "kernels",
        example,
        title=f"Serving engine for the eviction policies {', '.join(names)}",
        modules={"order": order_source(names)},
        sources=(*policies, state),
    )
