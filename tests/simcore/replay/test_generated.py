"""The generated modules that stand in the tree, for readers and type checkers, are those of plain LRU."""

from __future__ import annotations

from pathlib import Path

import simcore.replay
from simcore.replay.engine import Variant, columns_source, filter_module, policy_module, verbs_source


def test_the_modules_in_the_tree_are_the_generated_ones() -> None:
    kernels = Path(str(simcore.replay.__file__)).parent / "kernels"
    plain = Variant(policy=policy_module("lru"), admission=filter_module("none"))
    assert (kernels / "verbs.py").read_text(encoding="utf-8") == verbs_source(plain)
    assert (kernels / "columns.py").read_text(encoding="utf-8") == columns_source(plain)
