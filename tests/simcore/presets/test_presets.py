"""Presets: every one loads, says where it is from, and can be overridden under either spelling."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest

from simcore.errors import InputError
from simcore.presets import KINDS, Gpu, Model, Tier, gpu, list_presets, load_preset, model, tier, with_preset
from simcore.specs.base import Spec, validate, yaml_dict
from simcore.specs.gpu import GpuSpec
from simcore.specs.model import ModelSpec
from simcore.specs.tier import TierSpec
from simcore.units import GIB, TIB
from simcore.yamlio import dump_yaml, loads_yaml
from tests.simcore.presets.configs import LLAMA_8B


class Machine(Spec):
    """A spec with preset fields, as a family's scenario has them."""

    shorthand: ClassVar[str | None] = None
    model: Model
    gpu: Gpu
    tiers: dict[str, Tier]


def machine(text: str, **context: Any) -> Machine:
    document = loads_yaml(text, "space.yaml")
    return validate(Machine, document.data, file=document.file, lines=document.lines, context=context)


TEXT = """
model: llama-3.1-8b
gpu: {preset: h100-sxm, count: 2, price: 20000 USD}
tiers:
  hbm: {capacity: 40 GiB}
  dram: {preset: ddr5-host, capacity: 128 GiB, usd_per_gib: 9 USD/GiB}
"""


@pytest.mark.parametrize("name", list_presets("models"))
def test_models_are_complete(name: str) -> None:
    spec = model(name)
    assert spec.preset == name and spec.source and spec.date
    assert spec.intermediate_size and spec.hidden_size and spec.dtype


@pytest.mark.parametrize("name", list_presets("gpus"))
def test_gpus_are_complete(name: str) -> None:
    spec = gpu(name)
    assert spec.count == 1 and spec.source and spec.date and spec.planning_value and spec.hbm_usd_per_gib
    nominal = float(spec.name.split()[-2])
    assert 0.9 * nominal <= spec.memory_bytes / GIB <= 1.03 * nominal


@pytest.mark.parametrize("name", list_presets("tiers"))
def test_tiers_are_complete(name: str) -> None:
    spec = tier(name, capacity_bytes=GIB)
    assert min(spec.bandwidths()) > 0 and spec.source and spec.date and spec.planning_value
    assert spec.cost_usd() == pytest.approx((spec.usd_per_gib or 0) + spec.devices * spec.device_price_usd)
    assert spec.max_capacity_bytes and spec.max_capacity_bytes >= TIB


def test_tiers_are_ordered_by_speed_and_price() -> None:
    below = [tier(n, capacity_bytes=GIB) for n in ("ddr5-host", "cxl2-x16", "cxl2-x8", "nvme-gen5", "nvme-gen4")]
    speed = [t.bandwidths()[0] for t in below]
    assert speed == sorted(speed, reverse=True)
    latency = [tier(n, capacity_bytes=GIB).read_latency_s for n in ("ddr5-host", "cxl2-x8", "cxl-switched", "nvme-gen5")]
    assert latency == sorted(latency)


def test_a_scenario_fills_its_presets_in() -> None:
    found = machine(TEXT)
    assert found.model == model("llama-3.1-8b")
    assert found.gpu == gpu("h100-sxm", count=2, price_usd=20_000.0)
    assert found.tiers["hbm"] == TierSpec(capacity_bytes=40 * GIB)
    assert found.tiers["dram"] == tier("ddr5-host", capacity_bytes=128 * GIB, usd_per_gib=9.0)


def test_what_is_written_loads_back_equal() -> None:
    found = machine(TEXT)
    assert machine(dump_yaml(yaml_dict(found))) == found


@pytest.mark.parametrize("key", ["read_bandwidth", "read_bandwidth_bytes_per_s"])
def test_overrides_win_under_either_spelling(key: str) -> None:
    data = with_preset("tiers", {"preset": "cxl2-x8", "capacity": "1 GiB", key: "5 GB/s"})
    assert validate(TierSpec, data).read_bandwidth_bytes_per_s == 5e9
    assert TierSpec.model_validate({**data, key: 5e9}).read_bandwidth_bytes_per_s == 5e9


def test_inputs_are_left_alone() -> None:
    raw = {"preset": "cxl2-x8", "capacity": "1 GiB"}
    with_preset("tiers", raw)["capacity"] = 0
    load_preset("tiers", "cxl2-x8").clear()
    assert raw == {"preset": "cxl2-x8", "capacity": "1 GiB"} and load_preset("tiers", "cxl2-x8")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("llama-3.1-8b", "llama-3.1-9b", "space.yaml:2: model.preset: unknown model preset; got llama-3.1-9b. Did you mean"),
        ("h100-sxm", "h100", "space.yaml:3: gpu.preset: unknown GPU preset; got h100. One of: h100-pcie, h100-sxm"),
        ("price: 20000 USD", "price: 20000", "gpu.price: needs a unit; got 20000"),
        ("usd_per_gib: 9 USD/GiB", "colour: red", "space.yaml:6: tiers.dram.colour: unknown key"),
        ("128 GiB", "4 TiB", "space.yaml:6: tiers.dram.capacity: must not exceed the device's 2 TiB; got 4 TiB"),
        ("count: 2", "count: 0", "gpu.count: must be greater than or equal to 1; got 0"),
        ("preset: ddr5-host", "preset: 7", "tiers.dram.preset: must be the name of a preset or a path; got 7"),
    ],
)
def test_mistakes_name_path_and_line(old: str, new: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        machine(TEXT.replace(old, new))
    assert message in str(caught.value)


def test_a_config_path_is_taken_where_a_preset_is(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text(json.dumps(LLAMA_8B))
    found = machine(TEXT.replace("model: llama-3.1-8b", "model: ./mine.json"), base_dir=tmp_path)
    assert found.model.preset is None and found.model.params == 8_030_261_248
    assert machine(dump_yaml(yaml_dict(found))) == found  # nothing refers to the file any more
    halved = machine(TEXT.replace("model: llama-3.1-8b", "model: {preset: mine.json, layers: 16}"), base_dir=tmp_path)
    assert halved.model.layers == 16


def test_errors_in_that_file_name_it(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text("{}")
    with pytest.raises(InputError) as caught:
        machine(TEXT.replace("model: llama-3.1-8b", "model: mine.json"), base_dir=tmp_path)
    assert str(caught.value).startswith(f"space.yaml:2: model: {tmp_path / 'mine.json'}: num_hidden_layers: is required")


def test_a_yaml_path_is_a_preset_too(tmp_path: Path) -> None:
    (tmp_path / "card.yaml").write_text(dump_yaml({**yaml_dict(gpu("a10")), "name": "My card"}))
    assert validate(GpuSpec, with_preset("gpus", "card.yaml", base_dir=tmp_path)).name == "My card"
    (tmp_path / "list.yaml").write_text("- 1\n")
    with pytest.raises(InputError, match="must be a mapping that describes a GPU"):
        load_preset("gpus", "list.yaml", base_dir=tmp_path)


def test_names() -> None:
    assert set(KINDS) == {"models", "gpus", "tiers", "workloads", "constants"}
    assert len(list_presets("models")) >= 40 and len(list_presets("gpus")) >= 19
    assert {"ddr5-host", "cxl2-x8", "cxl2-x16", "cxl-switched", "nvme-gen4", "nvme-gen5"} < set(list_presets("tiers"))
    with pytest.raises(InputError, match=r"unknown kind of preset; got model\. Did you mean models\?"):
        list_presets("model")


def test_python_overrides_are_validated() -> None:
    assert isinstance(model("llama-3.1-8b", layers=4), ModelSpec)
    with pytest.raises(ValueError, match="max_capacity"):
        tier("cxl2-x8", capacity_bytes=2 * TIB)
