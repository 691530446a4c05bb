"""Designs drawn uniformly and independently: the baseline every other sampler has to beat."""

from __future__ import annotations

from optuna.samplers import BaseSampler, RandomSampler

from dse.samplers._seam import Ask


def create(ask: Ask) -> BaseSampler:
    """Optuna's random sampler on a seed of its own."""
    return RandomSampler(seed=ask.fresh_seed)
