"""The arguments of `dse mrc` as a user types them: capacities, policies, parameters, options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import simcore
from simcore.errors import InputError, did_you_mean
from simcore.plugins import names
from simcore.units import parse_quantity
from simcore.yamlio import loads_yaml

ORDERS = {"tail-first": "tail_first", "chain": "chain"}
COUNTS = ("blocks", "tokens")
_SAME = ("ways", "warmup", "seed", "threads")  # called alike here and in the simulator
LIMIT = 2**62
"""Capacities, and sums of them in a chain, are counted in 64 bits."""

POLICIES, FILTERS = "simcore.policies", "simcore.admission"


def parts(texts: Iterable[str]) -> list[str]:
    """Comma-separated lists as one list without blanks and repetitions."""
    found = [part.strip() for text in texts for part in text.split(",")]
    return list(dict.fromkeys(part for part in found if part))


def listed(texts: Sequence[str], option: str) -> list[str]:
    """As `parts`; an option that was given must say something.

    Raises:
        InputError: it does not.
    """
    for text in texts:
        if not parts([text]):
            raise InputError("names nothing", path=option, value=text, hint="leave it out for the default")
    return parts(texts)


def members(texts: Sequence[str]) -> list[str | Path]:
    """Policies, each under a name of its own, which is what results and parameters call it.

    Raises:
        InputError: no such policy, or two of one name.
    """
    found: dict[str, str | Path] = {}
    for text in [part.strip() for part in ",".join(texts).split(",") if part.strip()]:
        policy = member(POLICIES, text, "--policy")
        if name_of(policy) in found:
            rule = f"is the second policy called {name_of(policy)}"
            raise InputError(rule, path="--policy", value=text, hint="leave one out, or rename its file")
        found[name_of(policy)] = policy
    return list(found.values())


def member(family: str, text: str, option: str) -> str | Path:
    """A policy or filter: a packaged name, or a file of Python, which is code and will be run.

    Raises:
        InputError: no such name; the hint is the nearest one.
    """
    if text.endswith(".py"):
        return Path(text)
    if text not in names(family):
        kind = "policy" if family == POLICIES else "admission filter"
        raise InputError(f"unknown {kind}", path=option, value=text, hint=did_you_mean(text, names(family)))
    return text


def parameters(assignments: Sequence[str], owners: Iterable[str | Path]) -> dict[str, dict[str, Any]]:
    """`owner.key=value` texts by owner; the value is YAML.

    Raises:
        InputError: not of that form, or of a policy or filter that is not asked for.
    """
    found: dict[str, dict[str, Any]] = {name_of(owner): {} for owner in owners}
    for text in assignments:
        path, equals, value = text.partition("=")
        owner, dot, key = path.strip().partition(".")
        if not (equals and dot and owner and key):
            raise InputError("must be policy.key=value", path="--param", value=text, hint="for example s3fifo.small_share=0.2")
        if owner not in found:
            hint = f"policies: {', '.join(name for name in found if name != 'none')}"
            raise InputError("is of no policy that is asked for", path="--param", value=text, hint=hint)
        found[owner][key] = _value(value, f"--param {path}")
    return found


def name_of(member: str | Path) -> str:
    """A policy or filter as parameters name it."""
    return member.stem if isinstance(member, Path) else member


def reading_mistake(error: InputError, trace: Path, reader: str | None, options: Iterable[str]) -> InputError:
    """A mistake in what a trace's reader was asked for: with the file, and in words of the command line."""
    hint = error.hint.replace("reader: NAME", "--reader NAME") if error.hint else error.hint
    path = error.path
    if error.file is None:
        known = {text.partition("=")[0].strip().replace("-", "_") for text in options}
        with suppress(InputError):
            known |= set(simcore.option_names(simcore.format_of(trace, reader)))
        flags = {None: "--reader", "option": "--option", "block_size": "--block-size"}
        path = f"--option {path}" if path in known else flags.get(path, path)
    file = error.file if error.file is not None else str(trace)
    return InputError(error.rule, file=file, path=path, value=error.value, hint=hint, line=error.line)


def _value(text: str, path: str) -> Any:
    try:
        return loads_yaml(f"value: {text}").data["value"]
    except InputError as error:
        raise InputError(error.rule, path=path, value=text, hint=error.hint) from None


def warmup(text: str, requests: int) -> int:
    """Requests of the warm-up, from "50%" or a number of them.

    Raises:
        InputError: neither, or nothing would be left.
    """
    number, dimension = _quantity(text, "--warmup", "50% or 1000")
    share = dimension == "fraction"
    count = int(number * requests) if share else number
    if dimension not in ("number", "fraction") or count != int(count) or not 0 <= count < requests:
        rule = f"must be a share below 100%, or a whole number below the {requests} requests of the trace"
        raise InputError(rule, path="--warmup", value=text)
    return int(count)


def rate(text: str) -> float:
    """A share, from "0.1" or "10%".

    Raises:
        InputError: not between 0 and 1.
    """
    number, dimension = _quantity(text, "--sample", "10%")
    if dimension not in ("number", "fraction") or not 0 < number < 1:
        raise InputError("must be between 0 and 1", path="--sample", value=text, hint="for example 0.1 or 10%")
    return float(number)


def capacities(texts: Sequence[str], option: str, *, sized: bool, block_bytes: float | None) -> list[int]:
    """Capacities in what the engine counts: bytes of a trace with sizes, otherwise blocks or objects.

    Args:
        block_bytes: of a block; None: unknown, so that only numbers of blocks can be given.

    Raises:
        InputError: not a size or whole number above 0; or in the wrong one of the two.
    """
    return [_capacity(text, option, sized, block_bytes) for text in texts]


def _capacity(text: str, option: str, sized: bool, block_bytes: float | None) -> int:
    number, dimension = _quantity(text, option, "3000 or 64GiB")
    if dimension not in ("number", "bytes"):
        raise InputError("must be a number or a size", path=option, value=text, hint="for example 3000 or 64GiB")
    if sized and dimension == "number":
        rule = "needs a unit: this trace has sizes"
        raise InputError(rule, path=option, value=text, hint=f"write it like {text}B or 64GiB")
    if dimension == "bytes" and not sized:
        if block_bytes is None:
            rule = "is a size, and this trace does not say how large its objects are"
            raise InputError(rule, path=option, value=text, hint="give a number of them, or of prompts also --model NAME")
        number = int(number / block_bytes)
        if number == 0:
            rule = f"must hold at least one block of {block_bytes:.0f} bytes"
            raise InputError(rule, path=option, value=text)
    if number != int(number) or number <= 0:
        raise InputError("must be a whole number above 0", path=option, value=text)
    if number >= LIMIT:
        raise InputError("must be below 2^62", path=option, value=text)
    return int(number)


def _quantity(text: str, option: str, example: str) -> tuple[float | int, str]:
    try:
        return parse_quantity(text)
    except InputError as error:
        unknown_unit = error.rule.startswith("unknown unit")
        close = unknown_unit and (error.hint or "").startswith("did you mean")
        hint = error.hint if close else f"for example {example}"
        raise InputError(error.rule if unknown_unit else "must be a number", path=option, value=text, hint=hint) from None


def option_of(path: str) -> str | None:
    """The option that a path in a message of the simulator comes from."""
    policy, at, where = path.partition(" at capacity ")
    if at:
        field = where.partition(", ")[2]
        return f"--{field}" if field in ("admission", "ways") else f"--policy {policy}"
    if ".params" in path:
        return f"--param {path.replace('.params', '', 1)}"
    return {"rate": "--sample", "capacities": "--capacity"}.get(path, f"--{path}" if path in _SAME else path or None)


def one_of(text: str, allowed: Mapping[str, Any] | Sequence[str], option: str) -> str:
    """`text`, if it is allowed.

    Raises:
        InputError: it is not.
    """
    if text not in allowed:
        raise InputError(f"must be one of {', '.join(allowed)}", path=option, value=text, hint=did_you_mean(text, allowed))
    return text
