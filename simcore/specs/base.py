"""The ground every spec stands on: frozen, unknown keys refused, quantities with units, one message for a mistake.

A field that carries a unit in its name (`capacity_bytes`) is written without it in YAML (`capacity: 64 GiB`); both names are
accepted. From YAML a quantity must carry its unit (a bare 0 excepted); from Python plain numbers in base units are fine.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Self, TypeVar, get_args, get_origin

from pydantic import (
    AliasChoices,
    AliasGenerator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
    ValidationInfo,
)

from simcore.errors import MISSING, InputError, did_you_mean
from simcore.units import exact_bytes, parse_as, parse_quantity

_SUFFIXES = ("_bytes_per_s", "_bytes", "_s", "_usd", "_w", "_flops")
_FROM_YAML = "yaml"


def yaml_name(field: str) -> str:
    """The YAML spelling of a field: its name without the unit suffix (prices per GiB keep theirs)."""
    for suffix in _SUFFIXES:
        if field.endswith(suffix) and len(field) > len(suffix):
            return field[: -len(suffix)]
    return field


def _reader(dimension: str) -> Callable[[Any, ValidationInfo], Any]:
    def read(value: Any, info: ValidationInfo) -> Any:
        from_yaml = bool(info.context and info.context.get(_FROM_YAML))
        if isinstance(value, (int, float)) and not isinstance(value, bool) and not from_yaml:
            return value
        return parse_as(value, dimension)

    return read


def _writer(unit: str) -> PlainSerializer:
    """Exact text in base units: the shortest of "%g" and repr that loads back equal."""

    def write(value: float) -> Any:
        short = f"{value:g}"
        return 0 if value == 0 else f"{short if float(short) == value else repr(value)} {unit}"

    return PlainSerializer(write, when_used="unless-none")


_BYTES_WRITER = PlainSerializer(lambda v: exact_bytes(v) if v else 0, when_used="unless-none")

Bytes = Annotated[int, BeforeValidator(_reader("bytes")), Field(ge=0), _BYTES_WRITER]
Seconds = Annotated[float, BeforeValidator(_reader("seconds")), Field(ge=0, allow_inf_nan=False), _writer("s")]
BytesPerSecond = Annotated[
    float, BeforeValidator(_reader("bytes_per_second")), Field(gt=0, allow_inf_nan=False), _writer("B/s")
]
Flops = Annotated[float, BeforeValidator(_reader("flops")), Field(gt=0, allow_inf_nan=False), _writer("FLOPS")]
Watts = Annotated[float, BeforeValidator(_reader("watts")), Field(ge=0, allow_inf_nan=False), _writer("W")]
Usd = Annotated[float, BeforeValidator(_reader("usd")), Field(ge=0, allow_inf_nan=False), _writer("USD")]
UsdPerGib = Annotated[float, BeforeValidator(_reader("usd_per_gib")), Field(ge=0, allow_inf_nan=False), _writer("USD/GiB")]


def share(value: Any) -> Any:
    """A share of a whole: 0.1 or "10 %"."""
    if not isinstance(value, str):
        return value
    number, dimension = parse_quantity(value)
    if dimension not in ("fraction", "number"):
        raise InputError("must be a share", value=value, hint='for example 0.1 or "10 %"')
    return number


def _rate(value: Any, info: ValidationInfo) -> Any:
    """Requests per second: a bare number is the unit of the field's own definition, "4 /s" says it."""
    return value if isinstance(value, (int, float)) else parse_as(value, "per_second")


PerSecond = Annotated[float, BeforeValidator(_rate), Field(gt=0, allow_inf_nan=False)]


class Spec(BaseModel):
    """Base of every spec. Immutable, hashable by value where its fields are, strict about keys."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        populate_by_name=True,
        validate_default=False,
        alias_generator=AliasGenerator(
            validation_alias=lambda name: AliasChoices(yaml_name(name), name), serialization_alias=yaml_name
        ),
        protected_namespaces=(),
    )

    shorthand: ClassVar[str | None] = "preset"
    """A bare string where this spec is expected means `{shorthand: string}`; None: a bare string is an error."""

    @classmethod
    def expand(cls, raw: Any) -> Any:
        """`raw` with the shorthand string of this spec, and of every spec inside it, turned into its mapping."""
        if isinstance(raw, str) and cls.shorthand is not None:
            raw = {cls.shorthand: raw}
        if not isinstance(raw, Mapping):
            return raw
        result = dict(raw)
        for name, info in cls.model_fields.items():
            for key in (yaml_name(name), name):
                if key in result:
                    result[key] = _expand_as(info.annotation, result[key])
        return result

    def with_changes(self, **changes: Any) -> Self:
        """A validated copy with some fields replaced."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self).model_validate({**fields, **changes})


def _expand_as(annotation: Any, raw: Any) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, Spec):
        return annotation.expand(raw)
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _expand_as(args[0], raw)
    if origin in (typing.Union, types.UnionType):
        for option in args:
            if isinstance(option, type) and issubclass(option, Spec) and raw is not None:
                return option.expand(raw)
        return raw
    if origin in (dict, Mapping) and isinstance(raw, Mapping):
        return {key: _expand_as(args[1], value) for key, value in raw.items()}
    if origin in (list, tuple) and isinstance(raw, (list, tuple)) and args:
        return [_expand_as(args[0], value) for value in raw]
    return raw


S = TypeVar("S", bound=Spec)


def validate(
    cls: type[S],
    data: Any,
    *,
    file: str | None = None,
    prefix: str = "",
    lines: Mapping[str, int] | None = None,
    context: Mapping[str, Any] | None = None,
) -> S:
    """Build a spec from YAML data; shorthands are expanded first.

    Args:
        data: what the loader gave for this spec.
        file: the file named in messages.
        prefix: dotted path of this spec in that file.
        lines: dotted path -> line, for messages.
        context: extra validation context handed to the spec's validators (for example `base_dir`); `{"yaml": False}` lets
            quantities be plain numbers.

    Raises:
        InputError: the first mistake, with dotted path, rule, value and the nearest right key.
    """
    expanded = cls.expand(data)
    if not isinstance(expanded, Mapping):
        hint = f"write {prefix.rpartition('.')[2] or 'it'}: {{...}}"
        raise InputError("must be a mapping", file=file, path=prefix or None, value=data, hint=hint)
    try:
        return cls.model_validate(expanded, context={_FROM_YAML: True, **(context or {})})
    except ValidationError as error:
        raise _first_mistake(error, cls, file, prefix, lines or {}) from None
    except InputError as error:
        path = ".".join(p for p in (prefix, error.path) if p)
        raise error.within(file=file, prefix=prefix or None, line=_line_of(path, lines or {})) from None


_RULES = {
    "missing": "is required",
    "extra_forbidden": "unknown key",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_parsing": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "string_type": "must be text",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "finite_number": "must be finite",
}


def _first_mistake(
    error: ValidationError, cls: type[Spec], file: str | None, prefix: str, lines: Mapping[str, int]
) -> InputError:
    details = sorted(error.errors(include_url=False), key=lambda d: d["type"] != "extra_forbidden")
    detail = details[0]
    location = [str(part) if not isinstance(part, int) else f"[{part}]" for part in detail["loc"]]
    path = _join(prefix, location)
    kind, context = detail["type"], detail.get("ctx", {})
    cause = context.get("error")
    line = _line_of(path, lines)
    if isinstance(cause, InputError):
        return cause.within(file=file, prefix=path or None, line=line)
    hint = None
    rule = _RULES.get(kind, "")
    if kind == "extra_forbidden":
        owner = _spec_at(cls, detail["loc"][:-1])
        hint = did_you_mean(str(detail["loc"][-1]), [yaml_name(n) for n in owner.model_fields]) if owner else None
    elif kind == "literal_error":
        rule = f"must be {context['expected']}"
    elif not rule:
        rule = detail["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
    value = MISSING if kind in ("missing", "extra_forbidden") else detail["input"]
    return InputError(rule, file=file, path=path or None, value=value, hint=hint, line=line)


def _join(prefix: str, parts: list[str]) -> str:
    path = prefix
    for part in parts:
        path = path + part if part.startswith("[") else f"{path}.{part}" if path else part
    return path


def _line_of(path: str, lines: Mapping[str, int]) -> int | None:
    while path:
        if path in lines:
            return lines[path]
        path = path[: path.rindex("[")] if path.endswith("]") else path.rpartition(".")[0]
    return None


def _spec_at(cls: type[Spec], location: tuple[int | str, ...]) -> type[Spec] | None:
    """The spec class that owns the key at `location`, walking field annotations."""
    current: Any = cls
    for part in location:
        if isinstance(current, type) and issubclass(current, Spec):
            field = next((f for n, f in current.model_fields.items() if part in (n, yaml_name(n))), None)
            current = _inner(field.annotation) if field else None
        elif get_origin(current) in (dict, Mapping):
            current = _inner(get_args(current)[1])
        else:
            return None
    return current if isinstance(current, type) and issubclass(current, Spec) else None


def _inner(annotation: Any) -> Any:
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _inner(args[0])
    if origin in (typing.Union, types.UnionType):
        return next((_inner(a) for a in args if a is not type(None)), None)
    return annotation


def yaml_dict(spec: Spec) -> dict[str, Any]:
    """Plain YAML data with units, written exactly; `validate(type(spec), yaml_dict(spec))` gives an equal spec."""
    return spec.model_dump(by_alias=True, exclude_none=True)
