"""A small space, and ways to change it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dse.space import Space, load_space
from simcore.yamlio import dump_yaml, loads_yaml

SMALL = """\
# A question in one line.
name: small
scenario:
  family: kv
  model: llama-3.1-8b
  gpu: h100-sxm
  kv_format: bf16
  tiers:
    hbm:  {capacity: 16 GiB}
    dram: {preset: ddr5-host, capacity: 64 GiB}
    cxl:  {preset: cxl2-x8, capacity: 128 GiB}
  workload: {preset: chat-multi-tenant, request_rate: 4}
search:
  tiers.hbm.capacity: {range: [4 GiB, 24 GiB], step: 4 GiB}
  tiers.cxl.capacity: [0, 64 GiB]
  tiers.cxl.policy: [lru, fifo]
objectives: [ttft_p99, hbm_cost_usd]
constraints:
  - tpot_p99 <= 80 ms
budget: {trials: 10, seed: 3}
"""

Load = Callable[..., Space]
Write = Callable[[str | dict[str, Any]], Path]


def changed(**changes: Any) -> dict[str, Any]:
    """The small space as data, top-level keys replaced (None: removed); `scenario` and `search` are updated."""
    data: dict[str, Any] = loads_yaml(SMALL).data
    for key, value in changes.items():
        if value is None:
            data.pop(key, None)
        elif key == "scenario":
            data[key] = {**data[key], **value}
        else:
            data[key] = value
    return data


@pytest.fixture
def small_text() -> str:
    return SMALL


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes text or data as a space file."""

    def write(content: str | dict[str, Any], name: str = "small.yaml") -> Path:
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else dump_yaml(content))
        return path

    return write


@pytest.fixture
def load(write: Write) -> Load:
    """Loads the small space, top-level keys replaced; `pins` are `--set` texts."""

    def load(*pins: str, check: bool = True, **changes: Any) -> Space:
        return load_space(write(changed(**changes)), pins, check=check)

    return load
