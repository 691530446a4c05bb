"""Every packaged space, searched as a newcomer would, ends with a front; also on a recorded trace in place of its workload."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dse.cli import main
from dse.space import load_space, packaged_spaces
from dse.space.locate import packaged_folder

KV = [name for name in sorted(packaged_spaces()) if name.startswith("kv_")]
ON_TRACES = ["kv_agents", "kv_hardware", "kv_longcontext_cxl", "kv_multitenant", "kv_offload_policy", "kv_quant"]


def searched(capfd: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    capfd.readouterr()
    status = main(["search", *arguments, "--trials", "40", "--tracking-uri", "none", "-q", "--json"])
    out = capfd.readouterr().out
    assert status == 0, out
    found: dict[str, object] = json.loads(out)
    return found


@pytest.mark.parametrize("name", ON_TRACES)
def test_the_header_says_what_the_front_shows(name: str) -> None:
    text = (packaged_folder() / f"{name}.yaml").read_text()
    header = text[: text.index("name: ")]
    assert all(line.startswith("#") for line in header.splitlines())
    assert " front " in header and len(header) > 400
    assert load_space(name).description == header.splitlines()[0].lstrip("# ")


@pytest.mark.slow
@pytest.mark.parametrize("name", KV)
def test_forty_trials_end_with_a_front(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    found = searched(capfd, name)
    assert len(found["front"]) >= 3  # type: ignore[arg-type]
    assert found["counts"]["failed"] == 0  # type: ignore[index, call-overload]


@pytest.mark.slow
@pytest.mark.parametrize("name", ON_TRACES)
def test_forty_trials_on_a_recorded_trace(
    name: str, shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    trace = shared / "traces/kv/mooncake_conversation.jsonl.zst"
    found = searched(capfd, name, "--set", f"workload.trace={trace}")
    assert len(found["front"]) >= 2  # type: ignore[arg-type]
    assert found["counts"]["failed"] == 0  # type: ignore[index, call-overload]
