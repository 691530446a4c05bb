"""Workload generators: one module per kind, with `Params` (a `WorkloadSpec`) and `generate(params, seed) -> Trace`."""

NOT_MEMBERS = ("amounts", "arrivals", "client_pattern", "resolve", "spec", "streams")
