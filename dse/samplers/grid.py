"""Every combination of values once, in an order that looks random and depends on the seed only.

The grid is never built: cell i of a pseudo-random permutation of 0 .. n-1 is computed, so a search over 10^12
combinations starts at once and any first part of it is an even sample. Combinations that are the same design
(dimensions that are inactive together) or break a constraint on paths are passed over."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import optuna
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.trial import FrozenTrial

from dse.samplers._seam import Ask
from dse.samplers._values import candidates
from simcore.errors import InputError

if TYPE_CHECKING:
    from dse.space import Space

ROUNDS = 4


def limit(space: Space) -> int:
    """Cells of the grid.

    Raises:
        InputError: a range without step.
    """
    return math.prod(len(values) for values in _axes(space).values())


def create(ask: Ask) -> BaseSampler:
    """The sampler for one cell."""
    axes = _axes(ask.space)
    cell = permuted(ask.index, math.prod(len(values) for values in axes.values()), ask.seed)
    chosen = {}
    for name, values in axes.items():
        cell, digit = divmod(cell, len(values))
        chosen[name] = values[digit]
    return _Cell(chosen)


def _axes(space: Space) -> dict[str, Sequence[Any]]:
    for dimension in space.dimensions:
        if dimension.size() is None:
            raise InputError("the grid sampler needs a step for every range", path=f"search.{dimension.path}", hint="add step:")
    return {name: candidates(distribution) or () for name, distribution in space.distributions().items()}


def permuted(index: int, size: int, seed: int) -> int:
    """Where a seeded pseudo-random permutation of 0 .. size-1 sends `index`.

    A four-round Feistel network on the next even number of bits, walked until it lands inside (Black and Rogaway 2002).

    Raises:
        ValueError: the index is outside.
    """
    if not 0 <= index < size:
        raise ValueError(f"index must be in 0 .. {size - 1}; got {index}")
    half = max(1, ((size - 1).bit_length() + 1) // 2)
    mask, value = (1 << half) - 1, index
    while True:
        left, right = value >> half, value & mask
        for turn in range(ROUNDS):
            text = f"{seed}:{turn}:{right}".encode()
            left, right = right, left ^ (int.from_bytes(hashlib.blake2b(text, digest_size=32).digest()) & mask)
        value = left << half | right
        if value < size:
            return value


class _Cell(BaseSampler):  # type: ignore[misc]
    """Gives every dimension the value of one cell."""

    def __init__(self, chosen: Mapping[str, Any]) -> None:
        self._chosen = chosen

    def infer_relative_search_space(self, study: optuna.Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        return {}

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        return {}

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        return self._chosen[param_name]
