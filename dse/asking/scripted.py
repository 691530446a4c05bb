"""A trial that is told what to suggest: draws, changes and enumerates designs through a space's own `suggest`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from dse.samplers._values import candidates

if TYPE_CHECKING:
    import numpy as np
    import optuna

    from dse.space import Space


@dataclass(frozen=True)
class Proposal:
    """A design as Optuna encodes it (params, distributions) and as the space means it (point, key)."""

    params: Mapping[str, Any]
    distributions: Mapping[str, BaseDistribution]
    point: Mapping[str, Any]


class _Chooser:
    """What `Space.suggest` sees in place of an Optuna trial."""

    def __init__(self) -> None:
        self.params: dict[str, Any] = {}
        self.distributions: dict[str, BaseDistribution] = {}

    def suggest_categorical(self, name: str, choices: Any) -> Any:
        return self._suggest(name, CategoricalDistribution(choices))

    def suggest_int(self, name: str, low: int, high: int, *, step: int = 1, log: bool = False) -> int:
        return int(self._suggest(name, IntDistribution(low, high, log=log, step=step)))

    def suggest_float(self, name: str, low: float, high: float, *, step: float | None = None, log: bool = False) -> float:
        return float(self._suggest(name, FloatDistribution(low, high, log=log, step=step)))

    def _suggest(self, name: str, distribution: BaseDistribution) -> Any:
        if name not in self.params:
            self.params[name] = self.choose(name, distribution)
            self.distributions[name] = distribution
        return self.params[name]

    def choose(self, name: str, distribution: BaseDistribution) -> Any:
        raise NotImplementedError

    def propose(self, space: Space) -> Proposal:
        point = space.suggest(cast("optuna.Trial", self))
        return Proposal(self.params, self.distributions, point)


class _Drawn(_Chooser):
    """Given values where there are any, uniform draws elsewhere (uniform in the logarithm for a continuous log range).

    A value to avoid is not drawn again where there is another.
    """

    def __init__(self, rng: np.random.Generator, given: Mapping[str, Any], avoid: Mapping[str, Any]) -> None:
        super().__init__()
        self._rng, self._given, self._avoid = rng, given, avoid

    def choose(self, name: str, distribution: BaseDistribution) -> Any:
        if name in self._given:
            return self._given[name]
        values = candidates(distribution)
        if values is not None:
            avoided = values.index(self._avoid[name]) if name in self._avoid and len(values) > 1 else len(values)
            at = int(self._rng.integers(len(values) - (avoided < len(values))))
            return values[at + (at >= avoided)]
        assert isinstance(distribution, FloatDistribution)
        low, high, share = distribution.low, distribution.high, float(self._rng.random())
        if not distribution.log:
            return low + share * (high - low)
        return min(high, max(low, low * math.exp(share * math.log(high / low))))


class _Walker(_Chooser):
    """Follows one path of the tree of choices."""

    def __init__(self, path: list[int]) -> None:
        super().__init__()
        self.path, self.widths = path, list[int]()

    def choose(self, name: str, distribution: BaseDistribution) -> Any:
        values = candidates(distribution)
        if values is None:
            raise ContinuousError(name)
        if len(self.widths) == len(self.path):
            self.path.append(0)
        self.widths.append(len(values))
        return values[self.path[len(self.widths) - 1]]


class ContinuousError(Exception):
    """A dimension has no list of values; carries its name."""


def draw(space: Space, rng: np.random.Generator) -> Proposal:
    """A design drawn uniformly, dimension by dimension."""
    return _Drawn(rng, {}, {}).propose(space)


def mutate(space: Space, rng: np.random.Generator, base: Proposal, count: int) -> Proposal:
    """`base` with `count` of its dimensions changed; dimensions that become active by that are drawn."""
    names = list(base.params)
    for i in range(min(count, len(names))):
        j = i + int(rng.integers(len(names) - i))
        names[i], names[j] = names[j], names[i]
    changed = {name: base.params[name] for name in names[:count]}
    kept = {name: base.params[name] for name in names[count:]}
    return _Drawn(rng, kept, changed).propose(space)


def walk(space: Space) -> Iterator[Proposal]:
    """Every design of a finite space, in the order of its choices; inactive dimensions are not varied.

    Raises:
        ContinuousError: a dimension is continuous.
    """
    path: list[int] = []
    while True:
        walker = _Walker(path)
        yield walker.propose(space)
        path = walker.path[: len(walker.widths)]
        while path and path[-1] + 1 == walker.widths[len(path) - 1]:
            path.pop()
        if not path:
            return
        path[-1] += 1
