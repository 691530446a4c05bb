"""NSGA-III (Deb and Jain 2014), Optuna's implementation: for three objectives and more, niches instead of crowding."""

from __future__ import annotations

from optuna.samplers import BaseSampler, NSGAIIISampler

from dse.samplers._seam import Ask

POPULATION = 20


def create(ask: Ask) -> BaseSampler:
    """NSGA-III with the population of `nsga2`, for the same reason."""
    sampler = NSGAIIISampler(seed=ask.fresh_seed, population_size=POPULATION)
    sampler._search_space = ask.common
    return sampler
