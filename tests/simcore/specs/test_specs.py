"""Leaf specs: what they refuse, what they derive."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcore.errors import InputError
from simcore.presets import model
from simcore.specs.base import validate, yaml_dict
from simcore.specs.engine import EngineSpec
from simcore.specs.kv_format import KvFormatSpec, KvPair
from simcore.specs.model import ModelSpec
from simcore.specs.tier import TierSpec
from simcore.units import GIB

TINY: dict[str, Any] = {
    "name": "tiny", "params": 1000, "layers": 4, "hidden_size": 8, "query_heads": 4, "kv_heads": 2, "head_dim": 2,
    "vocab_size": 10, "max_model_len": 64,
}  # fmt: skip


def test_a_dense_model_is_all_active() -> None:
    spec = validate(ModelSpec, TINY)
    assert spec.active_params == 1000 and spec.expert_params == 0 and spec.ffn_width == 32
    assert validate(ModelSpec, yaml_dict(spec)) == spec


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kv_heads": 3}, r"model\.kv_heads: must divide query_heads \(4\); got 3"),
        ({"active_params": 2000}, r"model\.active_params: must not exceed params \(1000\); got 2000"),
        ({"experts": 8}, r"model\.experts_per_token: is required"),
        ({"experts_per_token": 2}, r"model\.experts: is required"),
        ({"experts": 2, "experts_per_token": 4}, r"model\.experts_per_token: must not exceed experts \(2\)"),
        ({"sliding": {"window_tokens": 8, "layers": 5}}, r"model\.sliding\.layers: must not exceed the attention layers \(4\)"),
        ({"layers": 0}, r"model\.layers: must be greater than 0; got 0"),
        ({"layer": 4}, r"model\.layer: unknown key. Did you mean layers\?"),
        ({"mla": "deep"}, r"model\.mla: must be a mapping"),
    ],
)
def test_inconsistent_models(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        validate(ModelSpec, {**TINY, **changes}, prefix="model")


@given(st.integers(1, 100), st.data())
def test_windowed_layers_are_counted_and_spread(layers: int, data: st.DataObject) -> None:
    windowed = data.draw(st.integers(1, layers))
    spec = validate(ModelSpec, {**TINY, "layers": layers, "sliding": {"window_tokens": 8, "layers": windowed}})
    flags = [kind == "window" for kind in spec.layer_kinds()]
    assert sum(flags) == windowed
    runs = [sum(flags[i : i + layers // windowed]) for i in range(0, layers - layers // windowed + 1)]
    assert max(runs) <= 2


def test_a_mixture_passes_through_its_chosen_experts() -> None:
    assert model("qwen3-30b-a3b").ffn_width == 8 * 768


def fmt(raw: Any) -> KvFormatSpec:
    return validate(KvFormatSpec, raw, prefix="kv_format")


def test_kv_format_shorthands() -> None:
    long = {"default": {"k": "q8_0", "v": "q8_0"}}
    assert fmt("q8_0") == fmt(long) == fmt({"k": "q8_0", "v": "q8_0"}) == fmt({"default": "q8_0"})
    assert fmt({"k": "q8_0"}).default == KvPair(k="q8_0", v="bf16")
    assert KvFormatSpec.expand("q8_0") == long
    assert KvFormatSpec.expand({"default": "bf16", "groups": 2})["groups"] == {"0": {}, "1": {}}
    assert fmt({}) == KvFormatSpec()


def test_kv_format_groups_inherit_and_share_the_free_layers() -> None:
    spec = fmt({"default": "fp8_e4m3", "groups": {"ends": {"layers": "0, 7", "k": "bf16"}, "low": {"v": "q4_0"}, "rest": {}}})
    layers = spec.per_layer(8)
    assert layers[0] == layers[7] == KvPair(k="bf16", v="fp8_e4m3")
    assert layers[1:4] == (KvPair(k="fp8_e4m3", v="q4_0"),) * 3
    assert layers[4:7] == (spec.default,) * 3
    assert validate(KvFormatSpec, yaml_dict(spec)) == spec


@given(st.integers(1, 8), st.integers(8, 130))
def test_numbered_groups_are_consecutive_and_even(groups: int, layers: int) -> None:
    names = [f"f{i}" for i in range(groups)]
    spec = fmt({"default": "bf16", "groups": {n: {"k": n} for n in names}})
    found = [pair.k for pair in spec.per_layer(layers)]
    assert found == sorted(found) and set(found) == set(names)
    counts = [found.count(n) for n in names]
    assert max(counts) - min(counts) <= 1


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({"a": {"layers": "2-1"}}, r"groups\.a\.layers: must be within 0-3, low to high; got 2-1"),
        ({"a": {"layers": 4}}, r"groups\.a\.layers: must be within 0-3"),
        ({"a": {"layers": "x"}}, r"groups\.a\.layers: must be layer numbers like"),
        ({"a": {"layers": "0-2"}, "b": {"layers": 2}}, r"groups\.b\.layers: layer 2 is already in group a"),
        (5, r"groups: must not be more than the 4 free layers; got 5"),
    ],
)
def test_wrong_groups(groups: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        fmt({"default": "bf16", "groups": groups}).per_layer(4)


def test_tier_money_and_limits() -> None:
    spec = TierSpec(capacity_bytes=10 * GIB, usd_per_gib=6, device_price_usd=300)
    assert spec.cost_usd() == 360
    assert spec.with_changes(capacity_bytes=0).cost_usd() == 0
    assert spec.with_changes(usd_per_gib=None).cost_usd() is None
    with pytest.raises(InputError, match=r"cxl\.capacity: must not exceed the device's 1 GiB; got 2 GiB\..*max_capacity"):
        validate(TierSpec, {"capacity": "2 GiB", "max_capacity": "1 GiB"}, prefix="cxl")
    with pytest.raises(InputError, match=r"placement: must be 'exclusive' or 'inclusive'"):
        validate(TierSpec, {"capacity": 0, "placement": "above"})
    with pytest.raises(InputError, match=r"capacity: must be greater than or equal to 0"):
        validate(TierSpec, {"capacity": "-1 GiB"})


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({"block_size": 0}, "block_size: must be greater than or equal to 1"),
        ({"load": "sometimes"}, "load: must be 'always', 'never', 'cheaper' or 'threshold'"),
        ({"gpu_memory_utilization": 1.2}, "gpu_memory_utilization: must be less than or equal to 1"),
        ({"max_num_seq": 4}, "max_num_seq: unknown key. Did you mean max_num_seqs"),
        ({"write_backlog": 1}, "write_backlog: needs a unit"),
        ("vllm", "engine: must be a mapping; got vllm"),
    ],
)
def test_wrong_engines(raw: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        validate(EngineSpec, raw, prefix="engine")
