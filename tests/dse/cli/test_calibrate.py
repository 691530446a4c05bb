"""dse calibrate from the command line: text, JSON, the file, refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dse.cli import main
from tests.dse.cli.conftest import Dse

LINES = [
    f"LMCache INFO: Stored {n} out of total {n} tokens. size: {n * 131072 / 2**30:.4f} gb, "
    f"cost {1 + n * 131072 / 40e6:.4f} ms, throughput: 1.0 GB/s\n"
    for n in (1024, 4096, 16384)
]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "server.log"
    file.write_text("".join(LINES))
    return file


def test_a_link_is_fitted_and_written(log: Path, capsys: Any) -> None:
    target = log.with_name("mine.yaml")
    assert main(["calibrate", str(log), "--gpu", "h100-sxm", "-o", str(target)]) == 0
    text = capsys.readouterr().out
    assert "Host link: 40" in text and f"engine.family: {target}" in text
    assert "host_link_share: 0.625" in target.read_text() and "host_copy: 999.9 us" in target.read_text()


def test_json(log: Path, dse: Dse) -> None:
    found = dse("calibrate", str(log), "--gpu", "h100-sxm", "--json").data
    assert found["steps"] is None and found["link"]["used"] == 3
    assert found["link"]["bandwidth_bytes_per_s"] == pytest.approx(40e9, rel=0.01) and "host_link_share" in found["constants"]


def test_a_start_up_log_is_compared(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "v.log").write_text("Available KV cache memory: 18.78 GiB\nGPU KV cache size: 175,856 tokens\n")
    assert main(["calibrate", str(tmp_path / "v.log"), "--model", "qwen3-1.7b"]) == 0
    assert "175,856 tokens; our arithmetic gives 175,824 tokens (-0.02 %)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--gpu", "h100-sxm", "-o", "mine.txt"], "--output: must end in .yaml"),
        ([], "gpu: does not say the GPU"),
        (["--gpu", "h1000"], "h1000"),
    ],
)
def test_refusals(log: Path, capsys: Any, arguments: list[str], message: str) -> None:
    assert main(["calibrate", str(log), *arguments]) == 2
    assert message in capsys.readouterr().err
