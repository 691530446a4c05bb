"""What a sampler is given, and finding one by its name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import optuna
from optuna.samplers import BaseSampler
from optuna.search_space import IntersectionSearchSpace

from simcore import plugins
from simcore.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from dse.space import Space

FAMILY = "dse.samplers"
_ROMAN = {"nsgaii": "nsga2", "nsgaiii": "nsga3"}
_NOT_BY_NAME = ("BaseSampler", "BaseGASampler", "PartialFixedSampler")


@dataclass(frozen=True)
class Ask:
    """One ask of a search.

    Args:
        space: what is searched.
        seed: of the search.
        number: of the trial asked for.
        attempt: 0 for the first ask for this trial, then 1, 2, ... as long as a repeat came back.
        index: how many asks the search has made before, repeats included.
        common: the parameters all told trials have; kept between asks, because finding them anew takes longer the more
            trials there are.
    """

    space: Space
    seed: int
    number: int
    attempt: int
    index: int
    common: IntersectionSearchSpace

    @property
    def fresh_seed(self) -> int:
        """A seed of its own for this ask, 32 bits."""
        return int(np.random.SeedSequence([self.seed, self.number, self.attempt]).generate_state(1)[0])


@dataclass(frozen=True)
class Sampler:
    """A sampler found by name. `limit` is how many asks it can answer, None for any number."""

    name: str
    create: Callable[[Ask], BaseSampler]
    limit: int | None = None
    foreign: bool = False


def names() -> list[str]:
    """Every name `find` takes, ours first."""
    own = plugins.names(FAMILY)
    return own + sorted(set(_optuna_classes()) - set(own))


def find(name: str, space: Space) -> Sampler:
    """The sampler of that name: a module of `dse.samplers`, or a sampler class of Optuna ("cmaes", "gp").

    Raises:
        InputError: no such sampler, or it cannot search this space.
    """
    if name in plugins.names(FAMILY):
        module = plugins.find(FAMILY, name, ("create",))
        limit = getattr(module, "limit", None)
        return Sampler(name, module.create, limit(space) if limit else None)
    classes = _optuna_classes()
    if name not in classes:
        raise InputError("unknown sampler", value=name, hint=did_you_mean(name, names()))
    return Sampler(name, partial(_create_foreign, classes[name]), foreign=True)


def _optuna_classes() -> dict[str, type[BaseSampler]]:
    found = {}
    for class_name in optuna.samplers.__all__:
        if class_name.endswith("Sampler") and class_name not in _NOT_BY_NAME:
            short = class_name.removesuffix("Sampler").lower()
            found[_ROMAN.get(short, short)] = getattr(optuna.samplers, class_name)
    return found


def _create_foreign(kind: type[BaseSampler], ask: Ask) -> BaseSampler:
    wanted: dict[str, Any] = {"seed": ask.fresh_seed, "warn_independent_sampling": False}
    accepted = inspect.signature(kind).parameters
    return kind(**{key: value for key, value in wanted.items() if key in accepted})
