"""Where designs are evaluated, one way per file: a module with `start`, see `dse.seams.Executor`."""
