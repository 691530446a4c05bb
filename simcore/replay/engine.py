"""The compiled loop of a tier: one source, generated per policy, filter and variant, cached across processes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from json import dumps
from pathlib import Path
from types import ModuleType

import simcore.replay.state as state
from simcore.compiling.generated import Run, generated_engine
from simcore.errors import InputError
from simcore.plugins import find, from_file, outside
from simcore.replay import contract
from simcore.replay.state import COLUMNS, OF_OBJECT, State

POLICIES = "simcore.policies"
FILTERS = "simcore.admission"
VERBS = ("init", "on_hit", "on_miss", "choose_victim", "on_insert", "on_evict")
FILTER_VERBS = ("init", "on_access", "admit", "prefer")


@dataclass(frozen=True)
class Variant:
    """What is compiled into a loop.

    Attributes:
        policy, admission: their modules.
        sized: objects have sizes; capacity counts bytes.
        chain: the top tier takes requests that are prefix chains.
        below: not the top tier; it takes the events that the one above lets through.
        feeds: there is a tier below.
        sets: the store is divided into sets.
        steady: objects leave their slot only for another object.
        unfiltered: the filter is there and not asked.
        ahead: there are so many objects that it pays to fetch what is known of them before they are asked for.
        tracked: which accesses hit is recorded, not only how many.
        passed: columns that the tiers below need, in the order of `COLUMNS`.
    """

    policy: ModuleType
    admission: ModuleType
    sized: bool = False
    chain: bool = False
    below: bool = False
    feeds: bool = False
    sets: bool = False
    tracked: bool = False
    steady: bool = False
    unfiltered: bool = False
    ahead: bool = False
    passed: tuple[str, ...] = ()

    @property
    def counted(self) -> bool:
        """Whether what enters and leaves is counted. In the plain loop it follows from hits, refusals and what is resident,
        which a policy outside the package may have changed."""
        return self.chain or self.below or self.feeds or self.checked

    @property
    def checked(self) -> bool:
        """Whether victims are looked at before they are believed: those of a policy outside the package."""
        return outside(self.policy)

    @property
    def sheds(self) -> bool:
        """Whether the policy may make objects leave although there is room."""
        return self.sized and hasattr(self.policy, "surplus")

    @property
    def refuses(self) -> bool:
        """Whether an object that fits may have to stay out when there is no room."""
        filtered = not self.unfiltered and self.admission.__name__ != f"{FILTERS}.none"
        return filtered or self.sized or self.checked or getattr(self.policy, "MAY_REFUSE", False)

    @property
    def in_place(self) -> bool:
        """Whether the policy knows what to do when a newcomer takes the slot of its victim."""
        return hasattr(self.policy, "on_replace")

    @property
    def loop(self) -> str:
        """The kernel module with the loop."""
        return "below" if self.below else "chains" if self.chain else "plain"

    @cached_property
    def needed(self) -> tuple[str, ...]:
        """Columns that the policy and the filter ask for."""
        return columns_of(self.policy.NEEDS | self.admission.NEEDS)

    @cached_property
    def sent(self) -> tuple[str, ...]:
        """Columns of every event for the tier below."""
        return columns_of({*self.passed, *(("units",) if self.sized else ())}) if self.feeds else ()

    @cached_property
    def carried(self) -> tuple[str, ...]:
        """Columns that a resident object keeps."""
        kept = {*self.sent, *(("units",) if self.sized else ())}
        return tuple(name for name in columns_of(kept) if name in OF_OBJECT)

    @cached_property
    def observed(self) -> tuple[str, ...]:
        """Columns of the current access."""
        return columns_of({*self.needed, *self.sent, *self.carried})


def columns_of(names: Collection[str]) -> tuple[str, ...]:
    return tuple(name for name in COLUMNS if name in names)


def policy_module(name: str | Path) -> ModuleType:
    """The module of an eviction policy: by name, or the file of one outside the package.

    Raises:
        InputError: there is none of that name, or no such file, or it breaks the contract.
    """
    return _module(POLICIES, name, (*VERBS, "FIELDS", "NEEDS"))


def filter_module(name: str | Path) -> ModuleType:
    """The module of an admission filter, as `policy_module`."""
    return _module(FILTERS, name, (*FILTER_VERBS, "NEEDS"))


def _module(family: str, name: str | Path, required: tuple[str, ...]) -> ModuleType:
    module = from_file(family, name, required) if isinstance(name, Path) else _found(family, name, required)
    _keeps_contract(module, tuple(verb for verb in required if verb.islower()), family == FILTERS)
    return module


@lru_cache
def _keeps_contract(module: ModuleType, verbs: tuple[str, ...], is_filter: bool) -> None:
    contract.check(module, verbs, is_filter=is_filter)


_found = lru_cache(find)  # a folder is looked through once, not for every replay


_loaded: dict[Variant, Run] = {}


def engine(variant: Variant, example: State) -> Run:
    """The loop of a variant, compiled for states of the types of `example`, which follow from the variant."""
    modules = (variant.policy, variant.admission)
    if variant not in _loaded:
        texts = {"verbs": verbs_source(variant), "columns": columns_source(variant)}
        title = f"Replay engine for the eviction policy {variant.policy.__name__.rsplit('.', 1)[-1]}"
        kernels = Path(__file__).parent / "kernels"
        sources = (*modules, state)
        with _said_of(modules):
            _loaded[variant] = generated_engine(
                "replay", kernels, example, title=title, module=variant.loop, modules=texts, sources=sources
            )
    return _loaded[variant]


@contextmanager
def _said_of(modules: Iterable[ModuleType]) -> Iterator[None]:
    """What a file outside the package does wrong is said of that file; a mistake of the package stays one.

    Raises:
        InputError: the file cannot be compiled.
    """
    theirs = [module for module in modules if outside(module)]
    try:
        yield
    except Exception as error:
        if not theirs:
            raise
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = next((line for line in lines if not line.startswith("Failed in nopython mode")), type(error).__name__)
        hint = "-v shows all that Numba says"
        if isinstance(error, KeyError):
            reason = f"no record has the field {reason}"
            hint = "fields are declared in FIELDS, STORE_FIELDS and OBJECT_FIELDS"
        raise InputError(f"cannot be compiled: {reason}", file=str(theirs[0].__file__), hint=hint) from error


def verbs_source(variant: Variant) -> str:
    """The text of the `verbs` module."""
    flags = {"CHAIN": "chain", "FEEDS": "feeds", "SETS": "sets", "TRACKED": "tracked"}
    flags |= {"COUNTED": "counted", "CHECKED": "checked", "SIZED": "sized", "SHEDS": "sheds"}
    flags |= {"REFUSES": "refuses", "IN_PLACE": "in_place", "AHEAD": "ahead"}
    lines = [
        '"""The verbs of a policy and a filter, and what is compiled in."""',
        "",
        "from importlib import import_module",
        "",
    ]
    lines += ["from simcore.kernel import inlined", ""]
    lines += [
        f"policy = import_module({dumps(variant.policy.__name__)})",
        f"admission = import_module({dumps(variant.admission.__name__)})",
    ]
    lines += [f"{verb} = inlined(policy.{verb})" for verb in VERBS]
    lines += ['surplus = inlined(getattr(policy, "surplus", policy.choose_victim))']  # called only if SHEDS
    lines += [f"on_replace = inlined(policy.{'on_replace' if variant.in_place else 'on_insert'})"]
    asked = f"{FILTERS}.none" if variant.unfiltered else variant.admission.__name__
    lines += [f"asked = import_module({dumps(asked)})"]
    lines += [f"{verb} = inlined(asked.{verb})" for verb in ("admit", "on_access", "prefer")]
    lines += ["admission_init = admission.init"]
    lines += [f"{name} = {getattr(variant, attribute)}" for name, attribute in flags.items()]
    return "\n".join([*lines, ""])


def columns_source(variant: Variant) -> str:
    """The text of the `columns` module: moving what is known of an access between arrays, records and tiers."""
    sent, carried = variant.sent, variant.carried
    sends = ["o = st.run[0].out", "st.run[0].out = o + 1", "st.out_kind[o] = kind"]
    from_event = {name: f"st.out_{name}[o] = st.event[0].{name}" for name in sent}
    from_node = {name: f"st.out_{name}[o] = st.node[i].{name}" for name in sent if name in carried}
    bodies = {
        "observe(st: State, k: Int)": [f"st.event[0].{name} = st.{name}[k]" for name in variant.observed],
        "carry(st: State, i: Slot)": [f"st.node[i].{name} = st.event[0].{name}" for name in carried],
        "carry_again(st: State, i: Slot)": [f"st.node[i].{name} = st.event[0].{name}" for name in carried if name != "units"],
        "send(st: State, obj: Int, kind: int, place: Int)": [
            *(*sends, "st.out_ids[o] = obj", "st.out_place[o] = place"),
            *from_event.values(),
        ],
        "send_carried(st: State, i: Slot, kind: int)": [
            *(*sends, "st.out_ids[o] = st.node[i].obj", "st.out_place[o] = 0"),
            *(from_event | from_node).values(),
        ],
    }
    lines = ['"""Moving what is known of an access between arrays, records and tiers."""', ""]
    lines += ["from simcore.kernel import Int, Slot, State, inlined"]
    for signature, body in bodies.items():
        lines += ["", "", "@inlined", f"def {signature} -> None:", *(f"    {line}" for line in body or ["pass"])]
    return "\n".join([*lines, ""])
