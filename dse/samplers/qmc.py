"""Scrambled Sobol points (Optuna's QMC sampler): covers the space more evenly than random draws.

Choices are coordinates like any other. Dimensions that are not always active are drawn at random.
"""

from __future__ import annotations

from optuna.samplers import BaseSampler, QMCSampler, RandomSampler

from dse.samplers._seam import Ask


def create(ask: Ask) -> BaseSampler:
    """One Sobol sequence per search, so its scrambling has the search's seed; the position in it is stored with each trial."""
    return QMCSampler(
        scramble=True,
        seed=ask.seed,
        independent_sampler=RandomSampler(seed=ask.fresh_seed),
        warn_independent_sampling=False,
    )
