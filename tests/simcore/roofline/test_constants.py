"""Which constants a scenario takes, of what kind their errors are, and that what ships is sane."""

from __future__ import annotations

from pathlib import Path

import pytest

from simcore.errors import InputError
from simcore.presets import gpu, list_presets, load_preset, model
from simcore.roofline.constants import FAMILIES, family_name, find_constants, load_constants, match_constants

FITTED = [name for name in list_presets("constants") if name != "default"]


@pytest.mark.parametrize("name", FITTED)
def test_shipped_constants_are_sane(name: str) -> None:
    """No efficiency near its end, no start-up of half a second; errors of runs not seen within what counts as explained."""
    c = load_constants(name)
    assert c.source and c.date and c.preset == name and c.family in FAMILIES
    assert c.gpu in list_presets("gpus") and c.model in list_presets("models")
    assert 0.4 < c.weight_bandwidth_share < 0.95 and 0.35 < c.kv_bandwidth_share <= 0.95
    assert 0.2 < c.mfu <= 0.8 and 0.5e-3 <= c.step_s + 80 * c.layer_s < 15e-3 and c.request_s < 0.3
    assert c.ttft_error is not None and c.ttft_error <= 0.5
    assert c.tpot_error is not None and c.tpot_error <= 0.35
    assert c.measured_runs is not None and c.measured_runs >= 8
    assert None not in (c.model_ttft_error, c.model_tpot_error, c.gpu_ttft_error, c.gpu_tpot_error)


def test_errors_grow_from_kind_to_kind() -> None:
    """A set of its own is better than a mean of others, on the medians over all sets; a mean is better than typical values."""
    sets = [load_constants(name) for name in FITTED]
    for kind in ("ttft_error", "tpot_error"):
        own = sorted(getattr(c, kind) for c in sets)[len(sets) // 2]
        assert own < min(getattr(c, f"gpu_{kind}") for c in sets)
        assert own < getattr(load_constants("default"), kind)
    dense = [c for c in sets if not model(str(c.model)).experts]
    assert (dense[0].gpu_tpot_error or 1) < (load_constants("default").tpot_error or 0)


def test_a_scenario_takes_the_nearest_set() -> None:
    h100, h200, a100, mi300 = (gpu(name) for name in ("h100-sxm", "h200", "a100-80", "mi300x"))
    own = match_constants(h100, "vllm", model("llama-3.1-70b"))
    assert (own.kind, own.constants.model, own.tpot_error) == ("calibrated", "llama-3.1-70b", own.constants.tpot_error)
    assert match_constants(h100, "vllm", model("llama-3.3-70b")).kind == "calibrated"  # the same shape
    other = match_constants(h100, "vllm", model("llama-3.1-8b"))
    assert (other.kind, other.ttft_error) == ("another model", own.constants.model_ttft_error)
    near = match_constants(a100, "vllm", model("llama-3.1-70b"))
    assert (near.kind, near.tpot_error) == ("similar hardware", own.constants.gpu_tpot_error)
    assert "mean of" in near.constants.source and near.constants.preset is None
    assert match_constants(mi300, "vllm", model("llama-3.1-70b")).kind == "uncalibrated"  # another maker
    assert match_constants(gpu("v100-32"), "trtllm", model("llama-3.1-70b")).constants.preset == "default"
    assert find_constants(h200, "vllm", model("llama-3.1-70b")).gpu == "h200"


def test_means_are_of_one_kind_and_lean_to_the_engine() -> None:
    """A mixture does not take a dense model's constants; the same family weighs more than another."""
    sets = [load_constants(name) for name in FITTED]
    for name, dense in (("mixtral-8x7b", False), ("qwen3-8b", True)):
        kind = [c for c in sets if bool(model(str(c.model)).experts) != dense]
        mean = match_constants(gpu("b200"), "vllm", model(name)).constants
        assert min(c.layer_s for c in kind) < mean.layer_s < max(c.layer_s for c in kind)
        one = [c.with_changes(layer_s=1e-5 if c.family == "vllm" else 1e-4) for c in kind]
        by_family = {f: match_constants(gpu("b200"), f, model(name), among=one).constants.layer_s for f in ("vllm", "sglang")}
        assert by_family["vllm"] < by_family["sglang"]


def test_a_set_can_be_named() -> None:
    name = FITTED[0]
    c = load_constants(name)
    assert match_constants(gpu(str(c.gpu)), name, model(str(c.model))).kind == "calibrated"
    for name in (n for n in FITTED if load_constants(n).gpu == "h100-sxm"):
        spec = model(str(load_constants(name).model))
        assert match_constants(gpu("a100-80"), name, spec).kind == "similar hardware"
        assert match_constants(gpu("mi300x"), name, spec)[1:] == ("uncalibrated", None, None)  # another maker
        assert match_constants(gpu("t4"), name, spec).kind == "uncalibrated"  # two generations
    name = FITTED[0]
    assert family_name(name) == c.family and family_name("sglang") == "sglang"
    assert match_constants(gpu("h100-sxm"), "default", None).kind == "uncalibrated"
    with pytest.raises(InputError, match=r"engine\.family: unknown engine family; got vlm. Did you mean vllm"):
        find_constants(gpu("h100-sxm"), "vlm")


def test_a_file_that_is_wrong_says_where(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("mfu: 2\nsource: me\ndate: 2026-11\n")
    with pytest.raises(InputError, match="mfu"):
        find_constants(gpu("h100-sxm"), str(tmp_path / "mine.yaml"))
    with pytest.raises(InputError):
        find_constants(gpu("h100-sxm"), str(tmp_path / "none.yaml"))


def test_every_gpu_says_its_generation() -> None:
    assert all(load_preset("gpus", name).get("generation") for name in list_presets("gpus"))
