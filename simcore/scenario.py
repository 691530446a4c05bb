"""The top of the simulator: load a scenario of any family, simulate it, and ask for its closed forms.

A family is a module of `simcore.families`, found by the scenario's `family` key. It owns its `Scenario` spec and the functions
listed in `CONTRACT`; nothing here knows what a family simulates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from simcore.accounting import Account, Errors
from simcore.errors import InputError
from simcore.metrics import mean_values, metric_values
from simcore.outcome import Outcome
from simcore.plugins import find, names
from simcore.specs.base import Spec, validate
from simcore.yamlio import load_yaml

FAMILIES = "simcore.families"
CONTRACT = (
    *("Scenario", "check_workload", "prepare", "simulate", "account", "static_metrics"),
    *("canonical", "describe", "expected_errors", "explain", "trust"),
)
SPACE_KEYS = frozenset({"scenario", "search", "objectives"})


def _family(data: Any, file: str | None) -> Any:
    if not isinstance(data, Mapping):
        raise InputError("must be a mapping", file=file, value=data)
    if "family" not in data:
        hint = f"one of: {', '.join(names(FAMILIES))}"
        raise InputError("is required", file=file, path="family", hint=hint)
    try:
        return find(FAMILIES, str(data["family"]), CONTRACT)
    except InputError as error:
        raise error.within(file=file, prefix="family") from None


def expand_scenario(data: Mapping[str, Any], *, file: str | None = None) -> dict[str, Any]:
    """Scenario data with every shorthand turned into its mapping, so that dotted paths can be set in it."""
    expanded: dict[str, Any] = _family(data, file).Scenario.expand(data)
    return expanded


def build_scenario(
    data: Mapping[str, Any],
    *,
    base_dir: str | Path = ".",
    file: str | None = None,
    prefix: str = "",
    lines: Mapping[str, int] | None = None,
) -> Spec:
    """Validate scenario data.

    Args:
        data: the scenario's mapping, shorthands allowed.
        base_dir: folder that file paths in it are relative to.
        file, prefix, lines: named in messages.

    Raises:
        InputError: the first mistake.
    """
    spec: type[Spec] = _family(data, file).Scenario
    return validate(spec, data, file=file, prefix=prefix, lines=lines, context={"base_dir": Path(base_dir)})


def load_scenario(path: str | Path) -> Spec:
    """Read a scenario file.

    Raises:
        InputError: as `build_scenario`; a space file is refused with the command that takes it.
    """
    document = load_yaml(path)
    if isinstance(document.data, Mapping) and SPACE_KEYS & set(document.data):
        raise InputError("this is a space file, not a scenario", file=document.file, hint=f"run: dse search {path}")
    return build_scenario(document.data, base_dir=Path(path).parent, file=document.file, lines=document.lines)


def _module(scenario: Spec) -> Any:
    return find(FAMILIES, scenario.family, CONTRACT)  # type: ignore[attr-defined]


def simulate(scenario: Spec, *, seed: int | None = None) -> Outcome:
    """Simulate a scenario once. `seed` replaces the workload's own seed."""
    outcome: Outcome = _module(scenario).simulate(scenario, seed=seed)
    return outcome


def account(scenario: Spec, *, seed: int | None = None) -> Account:
    """Where the time of a simulation goes, why prompt tokens were not found, and what limits it; simulates many times."""
    found: Account = _module(scenario).account(scenario, seed=seed)
    return found


def check_workload(scenario: Spec) -> None:
    """Read or generate the workload, simulate nothing.

    Raises:
        InputError: a trace that cannot be read, or one that does not have what the scenario asks of it.
    """
    _module(scenario).check_workload(scenario)


def prepare(scenarios: Iterable[Spec]) -> None:
    """Get ready to simulate any of these scenarios: what has to be compiled is compiled now, once for all of them."""
    by_family: dict[str, list[Spec]] = {}
    for scenario in scenarios:
        by_family.setdefault(scenario.family, []).append(scenario)  # type: ignore[attr-defined]
    for members in by_family.values():
        _module(members[0]).prepare(members)


def measure(scenario: Spec, *, seed: int | None = None, replications: int = 1) -> dict[str, float | None]:
    """Metrics by exported key, averaged over replications with seeds seed, seed + 1, ..."""
    if replications == 1:
        return metric_values(simulate(scenario, seed=seed))
    first = scenario.workload.seed if seed is None else seed  # type: ignore[attr-defined]
    return mean_values([metric_values(simulate(scenario, seed=first + i)) for i in range(replications)])


def static_metrics(scenario: Spec) -> dict[str, float | None]:
    """Closed forms of the design by exported key: bytes, costs, fit; nothing is simulated."""
    values: dict[str, float | None] = _module(scenario).static_metrics(scenario)
    return values


def canonical(scenario: Spec) -> dict[str, Any]:
    """Plain data that is equal for scenarios which simulate equally: whole blocks, no inactive fields, no provenance."""
    data: dict[str, Any] = _module(scenario).canonical(scenario)
    return data


def describe(scenario: Spec) -> list[str]:
    """The scenario in words, one sentence an item."""
    return list(_module(scenario).describe(scenario))


def explain(scenario: Spec) -> list[str]:
    """The arithmetic behind capacity, HBM bytes and step time, one line an item."""
    return list(_module(scenario).explain(scenario))


def expected_errors(scenario: Spec) -> Errors:
    """How far the latencies of this scenario are expected to be off."""
    found: Errors = _module(scenario).expected_errors(scenario)
    return found


def trust(scenario: Spec) -> list[str]:
    """What is known about the errors of this scenario's numbers, one sentence an item."""
    return list(_module(scenario).trust(scenario))
