"""How designs are chosen, one sampler per file.

A sampler is a module with `create(ask) -> optuna.samplers.BaseSampler`, called before every single ask with an `Ask`;
what it returns may use nothing but that, and the trials it is shown. So a search continues after a kill exactly as it
would have gone on. A sampler that can propose only so many designs says how many by `limit(space) -> int`."""
