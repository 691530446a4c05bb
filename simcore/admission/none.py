"""No filter: everything enters."""

from __future__ import annotations

from simcore.kernel import Bool, Int, Slot, State, kernel

NEEDS: frozenset[str] = frozenset()


@kernel
def init(st: State, s: Int) -> None:
    pass


@kernel
def on_access(st: State, s: Int, obj: Int) -> None:
    pass


@kernel
def admit(st: State, s: Int, obj: Int) -> Bool:
    return True


@kernel
def prefer(st: State, s: Int, obj: Int, i: Slot) -> Bool:
    return True
