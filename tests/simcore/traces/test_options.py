"""Options of a format from texts."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

from simcore.errors import InputError
from simcore.traces import adaptsize, mooncake, servegen, table
from simcore.traces.options import check_options, format_options, parse_options


def test_each_value_has_the_type_of_its_option() -> None:
    texts = ["granule_tokens=64", "spread_ticks=no", "time_unit = ms"]
    assert parse_options(mooncake, texts) == {"granule_tokens": 64, "spread_ticks": False, "time_unit": "ms"}
    assert parse_options(mooncake, ["granule_tokens=none"]) == {"granule_tokens": None}
    assert parse_options(table, ["key=1,2", "header=FALSE"]) == {"key": "1,2", "header": False}
    assert parse_options(servegen, ["seed=3", "start_s=1e3"]) == {"seed": 3, "start_s": 1000.0}


def test_defaults() -> None:
    assert format_options(mooncake) == {"granule_tokens": None, "spread_ticks": True, "time_unit": None}
    assert format_options(adaptsize) == {}


@pytest.mark.parametrize(
    ("module", "texts", "message"),
    [
        (mooncake, ["granule"], "option: must be key=value; got granule"),
        (mooncake, ["=3"], "option: must be key=value; got =3"),
        (mooncake, ["granule=3"], "granule: is not an option of the mooncake format. Did you mean granule_tokens?"),
        (adaptsize, ["x=3"], "x: is not an option of the adaptsize format. The format has no options"),
        (mooncake, ["granule_tokens=1.5"], "granule_tokens: must be a whole number below 2^63; got 1.5"),
        (mooncake, ["granule_tokens=1e30"], "granule_tokens: must be a whole number below 2^63; got 1e30"),
        (mooncake, ["granule_tokens=[1]"], "granule_tokens: must be a whole number below 2^63; got [1]"),
        (mooncake, [f"granule_tokens={2**63}"], f"granule_tokens: must be a whole number below 2^63; got {2**63}"),
        (servegen, ["start_s=nan"], "start_s: must be a number; got nan"),
        (table, ["path=5"], "path: is not an option of the table format. One of: category,"),
        (table, ["text_ids=5"], "text_ids: must be true or false; got 5"),
        (mooncake, ["spread_ticks=maybe"], "spread_ticks: must be true or false; got maybe"),
        (servegen, ["start_s=soon"], "start_s: must be a number; got soon"),
        (servegen, ["seed=1", "seed=2"], "seed: is given twice; got 2"),
    ],
)
def test_what_is_refused(module: object, texts: list[str], message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_options(module, texts)  # type: ignore[arg-type]
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("module", "values", "message"),
    [
        (mooncake, {"granule_tokens": "abc"}, "granule_tokens: must be a whole number below 2^63; got abc"),
        (mooncake, {"granule_tokens": 512.0}, "granule_tokens: must be a whole number below 2^63; got 512.0"),
        (mooncake, {"granule_tokens": True}, "granule_tokens: must be a whole number below 2^63; got true"),
        (mooncake, {"spread_ticks": None}, "spread_ticks: must be true or false; got nothing"),
        (mooncake, {"time_unit": 5}, "time_unit: must be a text; got 5"),
        (table, {"key": ["a", 1]}, "key: must be a text; got ['a', 1]"),
        (servegen, {"start_s": float("inf")}, "start_s: must be a number; got inf"),
    ],
)
def test_values_of_other_types_are_refused(module: ModuleType, values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        check_options(module, values)
    assert str(caught.value) == message


def test_values_of_the_right_types_pass() -> None:
    check_options(mooncake, {"granule_tokens": np.int64(512), "spread_ticks": np.bool_(True), "time_unit": None})
    check_options(table, {"key": ["a", "b"], "size": "c", "header": False})
    check_options(servegen, {"start_s": 1, "duration_s": np.float32(2.5), "seed": 3})


def test_a_delimiter_may_be_a_blank_and_names_may_have_dashes() -> None:
    assert parse_options(table, ["delimiter=\t", "text-ids=on"]) == {"delimiter": "\t", "text_ids": True}
