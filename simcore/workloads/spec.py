"""`WorkloadSpec`: what every workload has, and how a mapping of a scenario file becomes the workload of its kind."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, GetCoreSchemaHandler, ValidationInfo, model_validator
from pydantic_core import CoreSchema, core_schema

from simcore.errors import InputError
from simcore.plugins import find, names
from simcore.presets import list_presets, load_preset
from simcore.specs.base import PerSecond, Spec, share, validate, yaml_dict
from simcore.workloads.amounts import Think
from simcore.workloads.arrivals import Arrivals
from simcore.workloads.client_pattern import ClientPattern

FAMILY = "simcore.workloads"
_ABOUT = ("name", "description", "source", "date")


class WorkloadSpec(Spec):
    """The requests a system is offered. Validating a mapping gives the `Params` of its kind, never this class itself.

    Written `{preset: name, ...}`, `{kind: chat, ...}` or `{trace: file, ...}`. What stands beside a preset's name replaces
    the preset's fields; a trace beside a preset or a kind takes its place.

    Attributes:
        request_rate: requests per second of offered load, chained requests included; None: arrivals as recorded or generated.
        arrivals: process of the unchained arrivals at `request_rate`; None: as recorded, scaled; of a generator, Poisson.
        concurrency: closed loop of this many clients instead of arrival times: each sends a request when its last answer has
            ended, or what follows in its session.
        client_pattern: how the clients of a closed loop go about it; None: all start at once, no barrier.
        requests: how many requests: generated, or the first ones of a trace; None: all.
        warmup: share of the first requests that no metric counts.
        seed: seed of the generator.
    """

    shorthand: ClassVar[str | None] = "preset"
    concurrency_shapes_requests: ClassVar[bool] = False

    kind: str
    request_rate: PerSecond | None = None
    arrivals: Arrivals | None = None
    concurrency: int | None = Field(None, ge=1)
    client_pattern: ClientPattern | None = None
    requests: int | None = Field(None, ge=1, le=10_000_000)
    warmup: Annotated[float, BeforeValidator(share), Field(ge=0, lt=1)] = 0.0
    seed: int = Field(0, ge=0, lt=2**63)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        if cls.__base__ is not Spec:  # the Params of a kind
            return handler(source)
        return core_schema.with_info_plain_validator_function(
            lambda raw, info: _resolve(raw, info), serialization=core_schema.simple_ser_schema("any")
        )

    @classmethod
    def expand(cls, raw: Any) -> Any:
        expanded = super().expand(raw)
        if cls.__base__ is not Spec or not isinstance(expanded, Mapping):
            return expanded
        try:
            kind = _kind_of(expanded) or _kind_of(_preset(expanded.get("preset"), None))
            return _params_of(kind).expand(expanded)
        except InputError:
            return expanded  # reported when it is validated

    @model_validator(mode="after")
    def _open_or_closed(self) -> Self:
        if self.request_rate is not None and self.concurrency is not None:
            raise InputError("excludes request_rate", path="concurrency", value=self.concurrency, hint="give one of the two")
        if self.client_pattern is not None and self.concurrency is None:
            raise InputError("needs a concurrency", path="client_pattern", hint="it is that of a closed loop")
        if self.arrivals is not None and self.request_rate is None:
            hint = "write request_rate: 4 beside it"
            raise InputError("needs a request_rate", path="arrivals", value=self.arrivals.process, hint=hint)
        return self


class TraceWorkload(WorkloadSpec):
    """A recorded trace: at its own times, at another rate, or with arrivals drawn from a process.

    Attributes:
        trace: path of the file, relative to the file that names it.
        reader: format; None: found by content and suffix.
        granule_tokens: tokens that one id of the file covers; None: as the format defines.
        spread_ticks: spread arrivals that share a time stamp over the recorder's tick.
        options: further options of the format, as `dse trace` takes them (`start_gap_s` of coding sessions, `duration_s` of
            ServeGen, ...).
        time_scale: factor on all unchained arrival times: 0.5 doubles the load. Excludes `request_rate` and `concurrency`.
        think_time: drawn for every chained request in place of the recorded one.
        seed: of drawn arrivals and think times, and of formats that are drawn from statistics.
    """

    kind: Literal["trace"] = "trace"
    trace: str = Field(min_length=1)
    reader: str | None = None
    granule_tokens: int | None = Field(None, ge=1)
    spread_ticks: bool = True
    options: dict[str, Any] = Field(default_factory=dict)
    time_scale: float = Field(1.0, gt=0, allow_inf_nan=False)
    think_time: Think | None = None

    @model_validator(mode="after")
    def _said_once(self) -> Self:
        for other in ("request_rate", "concurrency"):
            if self.time_scale != 1 and getattr(self, other) is not None:
                raise InputError(f"excludes {other}", path="time_scale", value=self.time_scale, hint="give one of the two")
        for name in ("seed", "granule_tokens", "spread_ticks"):
            if name in self.options:
                raise InputError("belongs to the workload itself", path=f"options.{name}", hint=f"write {name} beside trace")
        return self


def _resolve(raw: Any, info: ValidationInfo) -> WorkloadSpec:
    if isinstance(raw, WorkloadSpec):
        return raw
    expanded = WorkloadSpec.expand(raw)
    if not isinstance(expanded, Mapping):
        raise InputError("must be a mapping", value=raw, hint="write {preset: NAME}, {kind: NAME, ...} or {trace: FILE}")
    context = dict(info.context or {})
    cls, data = _merged(expanded, context.get("base_dir"))
    if context.get("yaml"):
        return validate(cls, data, context=context)
    return cls.model_validate(cls.expand(data), context=context)


def _merged(raw: Mapping[str, Any], base_dir: Any) -> tuple[type[WorkloadSpec], dict[str, Any]]:
    """The class and its own fields: a preset under what is written beside it (null: removed), a trace in place of either."""
    given = {key: value for key, value in raw.items() if value is not None}
    base = _preset(given.pop("preset", None), base_dir)
    below, above = _kind_of(base), _kind_of(given)
    if above == "trace":
        replaced = given.get("kind", "trace") if below is None else below
        given = {key: value for key, value in given.items() if key not in _only_in(replaced)}
        base = base if below == "trace" else {}
    elif above is not None and below not in (None, above):
        raise InputError(f"the preset is of kind {below}", path="kind", value=above, hint="leave out kind, or the preset")
    for one, other in (("request_rate", "concurrency"), ("concurrency", "request_rate")):
        if one in given:
            base.pop(other, None)
            base.pop("arrivals" if one == "concurrency" else "client_pattern", None)
    kept = {key: value for key, value in base.items() if key not in raw or key in given}
    cls = _params_of(above or below)
    return cls, {**kept, **{key: _over(_below(cls, base, key), value) for key, value in given.items()}}


def _over(below: Any, value: Any) -> Any:
    """`value` over what it refines: part of a distribution changes that part, another kind of distribution replaces it."""
    if isinstance(below, Mapping) and isinstance(value, Mapping) and set(value) <= set(below):
        return {**below, **value}
    return value


def _below(cls: type[WorkloadSpec], base: Mapping[str, Any], key: str) -> Any:
    """The distribution that a preset, or else the default, gives a field, written out; None for plain fields."""
    field = cls.model_fields.get(key)
    if field is None or not (isinstance(field.annotation, type) and issubclass(field.annotation, Spec)):
        return None
    try:
        return yaml_dict(validate(field.annotation, base[key]) if key in base else field.default)
    except InputError as error:
        raise error.within(prefix=key) from None


def _kind_of(raw: Mapping[str, Any]) -> str | None:
    if raw.get("trace") is not None:
        return "trace"
    return None if raw.get("kind") is None else str(raw["kind"])


def _params_of(kind: str | None) -> type[WorkloadSpec]:
    if kind is None:
        hint = f"kinds: {', '.join(names(FAMILY))}; presets: {', '.join(list_presets('workloads'))}"
        raise InputError("needs a preset, a kind or a trace", hint=hint)
    if kind == "trace":
        return TraceWorkload
    try:
        params: type[WorkloadSpec] = find(FAMILY, kind, ("Params", "generate")).Params
    except InputError as error:
        raise error.within(prefix="kind") from None
    return params


def _only_in(kind: str) -> set[str]:
    """Fields of a kind that a recorded trace does not have."""
    return set() if kind == "trace" else {"kind"} | (set(_params_of(kind).model_fields) - set(TraceWorkload.model_fields))


def _preset(name: Any, base_dir: Any) -> dict[str, Any]:
    """Fields of a preset without its description; a trace it names is relative to the preset's own file."""
    if name is None:
        return {}
    if not isinstance(name, str):
        raise InputError("must be a name or a path", path="preset", value=name)
    data = {key: value for key, value in load_preset("workloads", name, base_dir=base_dir).items() if key not in _ABOUT}
    if "trace" in data:
        data["trace"] = str((Path(base_dir or ".") / Path(name).expanduser().parent / str(data["trace"])).resolve())
    elif _kind_of(data) is None:
        raise InputError("describes no workload: needs kind or trace", path="preset", value=name)
    return data
