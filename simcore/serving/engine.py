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
PROVIDED = frozenset(state.COLUMNS)  # what this engine can tell a policy beyond the verbs' arguments
_DEFAULTS = {"on_pin": "on_evict", "on_release": "on_insert"}
_ARGUMENTS = {"init": "", "choose_victim": "", "on_miss": ", obj: Int"}  # of others: the slot
_loaded: dict[tuple[str, ...], Run] = {}
_with_quotas: dict[tuple[str, ...], Run] = {}


def policy_module(name: str, *, pool: bool = False) -> ModuleType:
    """The module of an eviction policy.

    Args:
        pool: it is to run an HBM pool.

    Raises:
        InputError: there is none of that name, it needs to know what this engine does not, or it may refuse what a pool must
            take. The caller knows the path.
    """
    module = find(FAMILY, name, (*VERBS, "FIELDS", "NEEDS"))
    reason = _refused(module)
    if reason is not None:
        raise InputError(reason, value=name, hint=f"one of: {', '.join(known_policies(pool=pool))}")
    if pool and getattr(module, "MAY_REFUSE", False):
        hint = f"use it in a tier below; here, one of: {', '.join(known_policies(pool=True))}"
        raise InputError("may refuse a block that a running request needs, so it cannot run HBM", value=name, hint=hint)
    return module


def known_policies(*, pool: bool) -> list[str]:
    """The eviction policies that this engine can run in a tier, or in an HBM pool."""
    modules = {name: find(FAMILY, name) for name in all_names(FAMILY)}
    known = [name for name, module in modules.items() if _refused(module) is None]
    return [name for name in known if not (pool and getattr(modules[name], "MAY_REFUSE", False))]


def _refused(module: ModuleType) -> str | None:
    """Why this engine cannot run a policy."""
    if "next_use" in module.NEEDS:
        return "needs next_use, which no run knows before its times are known"
    if module.NEEDS - PROVIDED:
        return f"needs {', '.join(sorted(module.NEEDS - PROVIDED))}, which the serving engine does not track"
    if hasattr(module, "learn"):
        return "trains on what a replay has seen, between its chunks, which the serving engine has not got"
    return None


def covering(names: Iterable[str]) -> tuple[str, ...]:
    """The policies, sorted, of the smallest engine loaded so far that knows all of `names`; without one, `names` themselves."""
    wanted = set(names)
    loaded = [known for known in _loaded if wanted <= set(known)]
    return min(loaded, key=len, default=tuple(sorted(wanted)))


def engine(names: Sequence[str], example: state.State) -> Run:
    """The event loop for stores whose policies are among `names` (sorted, distinct; `store.policy` is the index), compiled for
    states of the types of `example`."""
    key, quotas = tuple(names), bool(example.par.quotas)
    loaded = _with_quotas if quotas else _loaded
    if key not in loaded:
        loaded[key] = _load(key, example, quotas)
    return loaded[key]


def order_source(names: Sequence[str], quotas: bool = False) -> str:
    """The text of the `order` module for a set of policies: each verb, switched by the policy number of the store; and whether
    tenants have quotas, which costs too much to ask at every turn where they have none."""
    modules = {name: policy_module(name) for name in names}
    lines = [f'"""The verbs of each store\'s eviction policy: {", ".join(names)}."""', ""]
    lines += [f"import {module.__name__} as {name}" for name, module in modules.items()]
    lines += ["from simcore.kernel import Int, Slot, State, inlined, kernel", "", *_telling(modules.values())]
    for verb in (*VERBS, *_DEFAULTS, "on_insert_pinned"):
        typed = _ARGUMENTS.get(verb, ", i: Slot")
        passed = typed.partition(":")[0]
        chooses = verb == "choose_victim"
        lines += ["", "@kernel", f"def {verb}(st: State, s: Int{typed}) -> {'Slot' if chooses else 'None'}:"]
        for number, (name, module) in enumerate(modules.items()):
            calls = [f"{name}.{target}(st, s{passed})" for target in verb_functions(module, verb)]
            if module.NEEDS and calls and verb in _TOLD:
                calls.insert(0, _TOLD[verb])
            calls = calls or ["pass"]
            last = number == len(modules) - 1
            test = "    else:" if last else f"    {'el' if number else ''}if st.store[s].policy == {number}:"
            if len(modules) > 1:
                lines.append(test)
            indent = "        " if len(modules) > 1 else "    "
            returned = "return " if chooses else ""
            lines += [f"{indent}{returned if call is calls[-1] else ''}{call}" for call in calls]
        lines.append("")
    lines += ["", f"QUOTAS = {quotas}", ""]
    return "\n".join(lines)


_TOLD = {
    "on_miss": "tell(st, obj)",
    "on_hit": "tell(st, np.int64(st.node[i].obj))",
    "on_insert": "tell(st, np.int64(st.node[i].obj))",
    "on_insert_pinned": "tell(st, np.int64(st.node[i].obj))",
    "on_release": "tell(st, np.int64(st.node[i].obj))",
    "choose_victim": "tell_moment(st)",
}


def _telling(modules: Iterable[ModuleType]) -> list[str]:
    """The verbs by which the engine and the stores say what of an access the policies need to know."""
    needs: frozenset[str] = frozenset().union(*(module.NEEDS for module in modules))
    use, tell, moment = [], [], []
    for name in ("depth", "category"):
        if name in needs:
            use.append(f"st.known[obj].{name} = {'place' if name == 'depth' else 'st.category[q]'}")
            tell.append(f"st.event[0].{name} = st.known[obj].{name}")
    if "clock" in needs:
        use.append("st.stat.clock += 1")
        moment.append("st.event[0].clock = st.stat.clock")
    if "request" in needs:
        moment.append("st.event[0].request = st.stat.acting")
    if "time_s" in needs:
        moment.append(f"st.event[0].time_s = st.stat.now / {state.PICOSECONDS}")
    if "request" in needs:
        use.append("st.known[obj].user = q")
    act = ["st.stat.acting = np.int64(st.known[obj].user)"] if "request" in needs else []
    verbs = {"use(st: State, q: Int, obj: Int, place: Int)": use, "act_for_user(st: State, obj: Int)": act}
    if needs:
        verbs |= {"tell_moment(st: State)": moment, "tell(st: State, obj: Int)": [*tell, "tell_moment(st)"]}
    lines = ["import numpy as np", ""] if needs else []
    for head, body in verbs.items():
        lines += ["", "@inlined", f"def {head} -> None:", *(f"    {line}" for line in body or ["pass"]), ""]
    return lines


def verb_functions(module: ModuleType, verb: str) -> list[str]:
    """The functions of a policy that a verb comes to, in order, with the defaults of those it leaves out.

    An object that enters pinned is inserted and then pinned. Where pinned objects are in no order, that is nothing at all.
    """
    if verb == "on_insert_pinned":
        own = any(hasattr(module, v) for v in _DEFAULTS)
        return ["on_insert", *verb_functions(module, "on_pin")] if own else []
    return [verb if hasattr(module, verb) else _DEFAULTS[verb]]


def _load(names: tuple[str, ...], example: state.State, quotas: bool) -> Run:
    policies = [policy_module(name) for name in names]
    return generated_engine(
        "serving",
        Path(__file__).parent / "kernels",
        example,
        title=f"Serving engine for the eviction policies {', '.join(names)}{', with quotas' if quotas else ''}",
        modules={"order": order_source(names, quotas)},
        sources=(*policies, state),
    )
