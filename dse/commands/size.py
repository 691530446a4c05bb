"""`dse size`: capacity arithmetic with its working, of a scenario, a few options, or a pasted launch command."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import simcore
from dse.analysis.size_text import Extras, Told, as_object, fit_lines, holds, size_lines, survey_lines
from dse.analysis.size_words import without_bf16
from dse.commands.output import Output
from dse.launch import command, flags
from dse.launch.models import find_model
from dse.space.pins import Pin, pin_base, read_pins
from simcore.errors import InputError, did_you_mean
from simcore.units import parse_bytes
from simcore.yamlio import load_yaml

TIERS = {"dram": "ddr5-host", "cxl": "cxl2-x8", "nvme": "nvme-gen4"}
"""What a tier of that name is made of, unless a preset is named."""
NOT_FITTING = 3
OF_ENGINE = frozenset(
    [
        "block_size",
        "family",
        "gpu_memory_utilization",
        "max_model_len",
        "max_num_batched_tokens",
        "max_num_seqs",
        "sliding_window_cache",
        "state_pages",
        "states_per_sequence",
    ]
)
"""Fields of an engine that its memory depends on."""


@dataclass(frozen=True)
class Request:
    """What was asked on the command line."""

    words: tuple[str, ...] = ()
    model: str | None = None
    gpu: str | None = None
    tp: int | None = None
    pp: int | None = None
    dp: int | None = None
    ep: bool = False
    kv_format: str | None = None
    weight_format: str | None = None
    max_model_len: str | None = None
    utilization: float | None = None
    pool: str | None = None
    tier: tuple[str, ...] = ()
    concurrency: tuple[str, ...] = ()
    compare: tuple[str, ...] = ()
    prefix: int | None = None
    logged: tuple[str, ...] = ()
    assignments: tuple[str, ...] = ()


@dataclass
class Asked:
    """The request as data of a deployment.

    Attributes:
        data: without the GPU.
        gpu: a preset or path; None: all presets.
        origins: dotted path -> where it is from.
        told: what the reader should know of how it was read.
        launch: the launch command it comes from, if any, and the variables set before it.
        pins: fields of model, GPU, formats and tiers set over all that.
    """

    data: dict[str, Any]
    gpu: str | None
    origins: dict[str, str] = field(default_factory=dict)
    told: Told = field(default_factory=Told)
    launch: flags.Launch | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    pins: list[Pin] = field(default_factory=list)


def run(request: Request, output: Output) -> int:
    """Size what was asked for and print it; status 3 when it does not fit."""
    wanted, formats = numbers(request.concurrency), _formats(request.compare)
    fit = _fitted(request)
    if fit is not None and not request.words and request.model is None:
        output.answer("\n".join(fit_lines(fit, output.width)), {"fit": fit._asdict()})
        return 0
    if len(request.words) == 1 and not command.is_command(request.words):
        sized, asked = _scenario(request), None
    else:
        asked = read(request)
        for flag in asked.told.unknown:  # also in the JSON object
            output.warn(f"dse: {asked.told.engine} is not known to have {flag}; it is left out")
        if asked.gpu is None:
            _refuse_of_one_gpu(request)
            return _survey(asked, wanted, output)
        sized = _sized(asked, asked.gpu)
    told = asked.told if asked is not None else Told()
    longest = sized.deployment.request_tokens
    if request.prefix is not None and request.prefix > longest:
        raise InputError(f"must not exceed the {longest} tokens of the longest request", path="--prefix", value=request.prefix)
    told.notes += without_bf16([sized])
    terms = simcore.working(sized, asked.origins if asked is not None else {"pool_bytes": "tiers.hbm.capacity"})
    better = simcore.levers(sized, sized.per_pool(max(wanted, default=1)))
    trades = simcore.compare_formats(sized, formats) if formats else []
    extras = Extras(wanted, trades, request.prefix, fit)
    if output.json:
        output.object(as_object(sized, terms, better, extras, told))
    else:
        output.text("\n".join(size_lines(sized, terms, better, extras, told, output.width)))
    return 0 if holds(sized, wanted) else NOT_FITTING


def _refuse_of_one_gpu(request: Request) -> None:
    """What the table of all GPUs has no place for."""
    for name in ("prefix", "compare", "tier", "logged"):
        if getattr(request, name):
            raise InputError("needs one kind of GPU", path=f"--{name}", hint="name it with --gpu (dse presets)")


def _formats(texts: Sequence[str]) -> list[str]:
    """KV formats to compare.

    Raises:
        InputError: an empty name, or one twice.
    """
    parts = [part.strip() for text in texts for part in text.split(",")]
    for position, part in enumerate(parts):
        if not part or part in parts[:position]:
            rule = "is there twice" if part else "must be names of KV formats"
            raise InputError(rule, path="--compare", value=part or ",".join(texts), hint="for example int8,fp8_e4m3")
    return parts


def _survey(asked: Asked, wanted: Sequence[int], output: Output) -> int:
    """The same on every GPU there is a preset of."""
    found = {name: _sized(asked, name) for name in simcore.list_presets("gpus")}
    asked.told.notes += without_bf16(list(found.values()))
    if output.json:
        output.object({"gpus": {name: as_object(sized, [], [], Extras(wanted), asked.told) for name, sized in found.items()}})
    else:
        output.text("\n".join(survey_lines(found, asked.told, output.width)))
    return 0 if any(holds(s, wanted) for s in found.values()) else NOT_FITTING


def numbers(texts: Sequence[str]) -> tuple[int, ...]:
    """Whole numbers from comma-separated lists, in order.

    Raises:
        InputError: one is none.
    """
    parts = [part.strip() for text in texts for part in text.split(",")]
    for part in parts:
        if not part.isdigit() or not 0 < int(part) < 10**9:
            raise InputError(
                "must be whole numbers of at least 1", path="--concurrency", value=part, hint="for example 5,20,50"
            )
    found = sorted(int(part) for part in parts)
    if len(set(found)) < len(found):
        raise InputError("has a number twice", path="--concurrency", value=",".join(texts))
    return tuple(found)


def _fitted(request: Request) -> simcore.LogFit | None:
    """The footprint behind logged lines, if some were given.

    Raises:
        InputError: no pool, a line that is not TOKENS@LENGTH, or lines that no footprint explains.
    """
    if not request.logged:
        return None
    if request.pool is None:
        raise InputError("is required with --logged", path="--pool", hint="the engine logs it: available KV cache memory")
    lines = []
    for text in request.logged:
        tokens, at, length = text.replace(",", "").partition("@")
        if not (at and tokens.isdigit() and length.isdigit() and int(tokens) and int(length)):
            hint = "for example 302921@131072"
            raise InputError("must be TOKENS@LENGTH", path="--logged", value=text, hint=hint)
        lines.append((int(tokens), int(length)))
    try:
        return simcore.fit_footprint(parse_bytes(request.pool), lines)
    except InputError as error:
        raise error.within(prefix="--logged") from None


def _scenario(request: Request) -> simcore.Sizing:
    """The sizing of a scenario file.

    Raises:
        InputError: as `simcore.build_scenario`, or options that belong to a scenario's own fields.
    """
    given = [name for name in ("model", "gpu", "tp", "pp", "dp", "kv_format", "weight_format", "utilization", "pool")
             if getattr(request, name) is not None]  # fmt: skip
    given += ["ep"] if request.ep else []
    given += ["tier"] if request.tier else []
    if given:
        name = f"--{given[0].replace('_', '-')}"
        raise InputError("is in the scenario already", path=name, hint="change it with --set path=value")
    document = load_yaml(Path(request.words[0]))
    data = document.data
    if isinstance(data, Mapping) and isinstance(data.get("scenario"), Mapping):
        data = data["scenario"]  # of a space file, its base
    elif isinstance(data, Mapping) and isinstance(data.get("members"), Mapping) and data["members"]:
        data = next(iter(data["members"].values()))  # of a design, its first member: all have its machine
    pins = read_pins(request.assignments)
    if pins and isinstance(data, Mapping):
        data = pin_base(copy.deepcopy(dict(data)), pins, lambda d: simcore.expand_scenario(d, file=document.file))
    scenario = simcore.build_scenario(data, base_dir=Path(document.file).parent, file=document.file, lines=document.lines)
    deployment = simcore.deployment_of(scenario)
    if request.max_model_len is not None:
        deployment = deployment.with_changes(max_model_len=flags.whole(request.max_model_len))
    return simcore.size(deployment)


def read(request: Request) -> Asked:
    """Options and launch command as data.

    Raises:
        InputError: no model, or something in them is wrong.
    """
    asked = Asked({}, request.gpu)
    if request.words:
        launch, asked.environment = command.read_command(request.words)
        asked.launch, asked.data = launch, launch.data
        asked.told = Told(launch.engine, launch.notes, launch.ignored, launch.unknown)
        asked.origins = launch.flags
    name = request.model or (asked.launch.model if asked.launch is not None else None)
    if name is None:
        hint = "for example: dse size --model qwen3-1.7b --gpu rtx-4090, or dse size -- vllm serve Qwen/Qwen3-1.7B"
        raise InputError("is required", path="--model", hint=hint)
    preset, weights = find_model(name, Path())
    asked.data["model"] = preset
    if preset != name:
        asked.told.notes.append(f"{name} is sized as {'the model in ' if '/' in preset else ''}{preset}.")
    if weights is not None and "weight_format" not in asked.data:
        asked.data["weight_format"], asked.origins["weight_format"] = weights, "the model's name"
    _options(request, asked)
    return asked


def _options(request: Request, asked: Asked) -> None:
    """Options of the command line over what a launch command says."""
    given = {
        "parallel.tp": request.tp, "parallel.pp": request.pp, "parallel.dp": request.dp,
        "parallel.ep": request.ep or None, "kv_format": request.kv_format, "weight_format": request.weight_format,
        "engine.gpu_memory_utilization": request.utilization,
        "max_model_len": request.max_model_len and _length(request.max_model_len), "pool_bytes": request.pool,
    }  # fmt: skip
    into = asked.launch or flags.Launch("vllm", data=asked.data, flags=asked.origins)
    names = {"pool_bytes": "--pool", "engine.gpu_memory_utilization": "--utilization"}
    for path, value in given.items():
        if value is not None:
            into.put(path, value, names.get(path, f"--{path.rpartition('.')[2].replace('_', '-')}"))
    keys: set[str] = set()
    for text in request.tier:
        name, equals, capacity = text.partition("=")
        presets = simcore.list_presets("tiers")
        preset = TIERS.get(name, name)
        if not equals or preset not in presets:
            hint = did_you_mean(name, [*TIERS, *presets]) if equals else "for example --tier dram=64GiB"
            raise InputError("must be NAME=CAPACITY of a known tier", path="--tier", value=text, hint=hint)
        key = name if name in TIERS else name.replace("-", "_").replace(".", "_")
        if key in keys:
            raise InputError("is there twice", path="--tier", value=name, hint="one capacity for each tier")
        keys.add(key)
        asked.data.setdefault("tiers", {})[key] = {"preset": preset, "capacity": capacity}
    _pins(request, asked, into)


def _pins(request: Request, asked: Asked, into: flags.Launch) -> None:
    """`--set`: what the engine's own defaults look at is set now, the rest once model and GPU are written out."""
    for pin in read_pins(request.assignments):
        part, _, name = pin.path.partition(".")
        if part == "engine" and name not in OF_ENGINE:
            known = ", ".join(sorted(OF_ENGINE))
            raise InputError("has no meaning for size", path=pin.name, value=pin.value, hint=f"of engine these have: {known}")
        if part in ("engine", "parallel") or not name:
            into.put(pin.path, pin.value, pin.name)
        else:
            asked.pins.append(pin)


def _length(text: str) -> int:
    try:
        return flags.whole(text)
    except InputError as error:
        raise error.within(prefix="--max-model-len") from None


def _sized(asked: Asked, gpu: str) -> simcore.Sizing:
    """The sizing on one kind of GPU, with the engine's own defaults there."""
    data, launch = copy.deepcopy(asked.data), asked.launch
    try:
        card = simcore.load_preset("gpus", gpu)
    except InputError as error:
        raise InputError(error.rule, path="--gpu", value=gpu, hint=error.hint) from None
    if launch is not None:
        here = copy.deepcopy(launch)
        facts = {
            "name": str(card.get("name", gpu)),
            "memory_bytes": parse_bytes(card.get("memory", card.get("memory_bytes", 0))),
        }
        command.ENGINES[launch.engine].finish(here, facts, simcore.load_preset("models", data["model"]), asked.environment)
        data, asked.origins = here.data, here.flags
    data["gpu"] = gpu
    data = pin_base(data, asked.pins, simcore.Deployment.expand)
    asked.origins |= {pin.path: pin.name for pin in asked.pins}
    try:
        sized = simcore.size(simcore.build_deployment(data))
        ratio = launch.settings.get("hicache_ratio") if launch is not None and "hicache" in launch.settings else None
        if ratio and "dram" not in data.get("tiers", {}):
            data.setdefault("tiers", {})["dram"] = {"preset": "ddr5-host", "capacity": f"{_host_bytes(sized, ratio)} B"}
            sized = simcore.size(simcore.build_deployment(data))
    except InputError as error:
        raise _about_the_flag(error, asked.origins) from None
    return sized


def _host_bytes(sized: simcore.Sizing, ratio: float) -> int:
    """HiCache's host pool: `ratio` times the tokens of the device pool, on every rank."""
    parallel = sized.deployment.parallel
    return round(ratio * max(0, sized.binding.pool_bytes)) * parallel.tp * parallel.pp


def _about_the_flag(error: InputError, origins: Mapping[str, str]) -> InputError:
    """A mistake told by the flag that made it."""
    path = error.path or ""
    while path and path not in origins:
        path = path.rpartition(".")[0]
    if not path and (error.path or "").startswith(("gpu.count", "tp")):
        path = "parallel.tp"
    flag = origins.get(path, error.path or "")
    return InputError(error.rule, file=error.file, path=flag or None, value=error.value, hint=error.hint, line=error.line)
