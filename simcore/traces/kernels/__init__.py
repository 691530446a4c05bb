"""Loops over accesses: one compiled entry a module, run by `simcore.compiling.passes.run_pass`. Nothing else may lie here."""
