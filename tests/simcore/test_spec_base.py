"""Specs: shorthands, units, unknown keys, and the way back to YAML."""

from __future__ import annotations

import pickle
from typing import Annotated, Literal

import pytest
from pydantic import Field

from simcore.errors import InputError, did_you_mean, nearest
from simcore.specs.base import Bytes, BytesPerSecond, Seconds, Spec, UsdPerGib, validate, yaml_dict
from simcore.yamlio import dump_yaml, loads_yaml


class Leaf(Spec):
    preset: str | None = None
    capacity_bytes: Bytes = 0
    read_bandwidth_bytes_per_s: BytesPerSecond = 1e9
    latency_s: Seconds = 1e-6
    usd_per_gib: UsdPerGib = 5.0
    load: Literal["a", "b"] = "a"
    share: Annotated[float, Field(gt=0, le=1)] = 0.9


class Root(Spec):
    shorthand = None
    tiers: dict[str, Leaf] = {}  # noqa: RUF012  (pydantic copies defaults)
    gpu: Leaf | None = None
    many: tuple[Leaf, ...] = ()


def build(text: str) -> Root:
    document = loads_yaml(text, "s.yaml")
    return validate(Root, document.data, file="s.yaml", lines=document.lines)


def test_yaml_and_python_names_build_the_same_spec() -> None:
    by_alias = build("tiers: {hbm: {capacity: 64 GiB, latency: 80 us}}")
    by_name = Root(tiers={"hbm": Leaf(capacity_bytes=64 * 2**30, latency_s=80e-6)})
    assert by_alias == by_name


def test_shorthands_expand_everywhere() -> None:
    raw = {"tiers": {"dram": "ddr5"}, "gpu": "h100", "many": ["x", {"capacity": 0}]}
    expanded = Root.expand(raw)
    assert expanded == {
        "tiers": {"dram": {"preset": "ddr5"}},
        "gpu": {"preset": "h100"},
        "many": [{"preset": "x"}, {"capacity": 0}],
    }
    assert raw["gpu"] == "h100"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tiers: {hbm: {capacity: 64}}", 's.yaml:1: tiers.hbm.capacity: needs a unit; got 64. Write it like "64 GiB"'),
        ("tiers:\n  hbm:\n    capasity: 1 GiB", "s.yaml:3: tiers.hbm.capasity: unknown key. Did you mean capacity?"),
        ("tiers: {hbm: {capacity: -1 GiB}}", "s.yaml:1: tiers.hbm.capacity: must be greater than or equal to 0; got -1 GiB"),
        ("tiers: {hbm: {load: c}}", "s.yaml:1: tiers.hbm.load: must be 'a' or 'b'; got c"),
        ("tiers: {hbm: {share: 2}}", "s.yaml:1: tiers.hbm.share: must be less than or equal to 1; got 2"),
        ("tiers: 3", "s.yaml:1: tiers: must be a mapping; got 3"),
        ("gpu: 7", "s.yaml:1: gpu: must be a mapping; got 7"),
        ("many: [{load: z}]", "s.yaml:1: many[0].load: must be 'a' or 'b'; got z"),
        ("wrong: 1", "s.yaml:1: wrong: unknown key. One of: gpu, many, tiers"),
        ("7", "s.yaml: must be a mapping; got 7"),
    ],
)
def test_one_message_with_path_rule_value_and_remedy(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        build(text)
    assert str(caught.value).startswith(message)


def test_a_spec_loads_back_from_its_yaml() -> None:
    spec = Root(tiers={"a": Leaf(capacity_bytes=12345, latency_s=1 / 3, read_bandwidth_bytes_per_s=1e11 / 3), "b": Leaf()})
    assert validate(Root, loads_yaml(dump_yaml(yaml_dict(spec))).data) == spec


def test_specs_cannot_be_changed() -> None:
    with pytest.raises(Exception, match="frozen"):
        Leaf().load = "b"  # type: ignore[misc]
    assert Leaf().with_changes(load="b").load == "b"


def test_errors_survive_a_process_border_and_gain_context_once() -> None:
    error = InputError("must be small", path="b", value=3, hint="try 2").within(file="f", prefix="a", line=4)
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == str(error) == "f:4: a.b: must be small; got 3. Try 2"
    assert copy.within(file="other").file == "f"
    told = {"file": "f", "line": 4, "path": "a.b", "rule": "must be small", "value": 3, "hint": "try 2"}
    assert copy.as_dict() == {"error": told}
    assert "line" not in InputError("must be small").as_dict()["error"]


def test_nearest_names() -> None:
    assert nearest("capasity", ["capacity", "policy"]) == "capacity"
    assert nearest("zzz", ["capacity"]) is None
    assert did_you_mean("zzz", ["b", "a"]) == "one of: a, b"
