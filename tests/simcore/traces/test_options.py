"""Options of a format from texts."""

from __future__ import annotations

import pytest

from simcore.errors import InputError
from simcore.traces import adaptsize, mooncake, servegen, table
from simcore.traces.options import format_options, parse_options


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
        (mooncake, ["granule_tokens=1.5"], "granule_tokens: must be a whole number; got 1.5"),
        (mooncake, ["spread_ticks=maybe"], "spread_ticks: must be true or false; got maybe"),
        (servegen, ["start_s=soon"], "start_s: must be a number; got soon"),
        (servegen, ["seed=1", "seed=2"], "seed: is given twice; got 2"),
    ],
)
def test_what_is_refused(module: object, texts: list[str], message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_options(module, texts)  # type: ignore[arg-type]
    assert str(caught.value) == message
