"""Which policies know the future."""

from __future__ import annotations

from pathlib import Path

from simcore.replay.engine import policy_module


def sees_the_future(policy: str | Path) -> bool:
    """Whether a policy is told when each object is next asked for, so that it can only be compared with, never built.

    Raises:
        InputError: as `simcore.replay.engine.policy_module`.
    """
    return "next_use" in policy_module(policy).NEEDS
