"""Tree-structured Parzen estimator (Bergstra et al. 2011; several objectives: Ozaki et al. 2020), Optuna's
implementation.

`multivariate=False` is chosen, not inherited. On a tiered-cache problem with a known front, median share of the true
hypervolume after 200 evaluations: 0.92 (independent) against 0.77 (multivariate) with two objectives and a constraint,
0.93 against 0.81 with noise, 0.84 against 0.88 with three objectives. The independent form also needs no grouping for
conditional dimensions. Its price is time: about 10 ms per design after 100 trials, 40 ms after 1000, 0.4 to 1 s after
10,000."""

from __future__ import annotations

from optuna.samplers import BaseSampler, TPESampler

from dse.samplers._seam import Ask


def create(ask: Ask) -> BaseSampler:
    """Independent TPE; designs of the batch under way count as bad ones nearby (`constant_liar`), so a batch spreads."""
    return TPESampler(seed=ask.fresh_seed, multivariate=False, constant_liar=True)
