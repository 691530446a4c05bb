"""Where designs are evaluated, one way per file: a module with `start(evaluate, workers) -> dse.seams.Executor`."""
