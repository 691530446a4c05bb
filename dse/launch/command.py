"""A pasted launch command: which engine, which flags, what they say."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from types import ModuleType

from dse.launch import sglang, vllm
from dse.launch.flags import Launch
from simcore.errors import InputError, nearest

ENGINES: dict[str, ModuleType] = {"vllm": vllm, "sglang": sglang}
OTHERS = ("trtllm-serve", "lmdeploy", "llama-server", "ollama", "llama-cli", "text-generation-launcher")


def is_command(words: Sequence[str]) -> bool:
    """Whether these words are the launch command of an engine, of one that is read or not."""
    plain = _without_environment(_split(words))[0]
    first = plain[0].rsplit("/", 1)[-1] if plain else ""
    return first in ENGINES or first in OTHERS or first.startswith("python") or (len(plain) > 1 and first in ("docker", "uv"))


def read_command(words: Sequence[str]) -> tuple[Launch, dict[str, str]]:
    """The command read, and the environment variables set before it.

    Raises:
        InputError: not a command of an engine that is known, a flag without its value, or a value that is none.
    """
    plain, environment = _without_environment(_split(words))
    for name, engine in ENGINES.items():
        rest = engine.start([plain[0].rsplit("/", 1)[-1], *plain[1:]] if plain else [])
        if rest is not None:
            launch = Launch(name)
            _read(launch, engine, rest)
            return launch, environment
    hint = "known: vllm serve MODEL ..., python -m vllm.entrypoints.openai.api_server ..., python -m sglang.launch_server ..."
    raise InputError("is no launch command of a known engine", path="command", value=" ".join(plain[:3]), hint=hint)


def _split(words: Sequence[str]) -> list[str]:
    """Words as a shell would make them of one pasted text; the ends of lines with their backslashes go."""
    found: list[str] = []
    for word in words:
        pasted = len(words) == 1 or "\n" in word
        try:
            found += shlex.split(word.replace("\\\n", " ")) if pasted else [word]
        except ValueError as error:
            raise InputError(f"cannot be read: {error}", path="command", value=word) from None
    return [word for word in found if word.strip() and word != "\\"]


def _without_environment(words: list[str]) -> tuple[list[str], dict[str, str]]:
    environment: dict[str, str] = {}
    position = 0
    while position < len(words) and (words[position] == "env" or re.fullmatch(r"[A-Za-z_]\w*=.*", words[position], re.S)):
        name, equals, value = words[position].partition("=")
        if equals:
            environment[name] = value
        position += 1
    return words[position:], environment


def _read(launch: Launch, engine: ModuleType, words: list[str]) -> None:
    valued, switches = (set(engine.IGNORED[kind].split()) for kind in ("valued", "switch"))
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        if not word.startswith("-"):
            if launch.model is not None or launch.engine != "vllm":
                raise InputError("stands alone: no flag takes it", path="command", value=word)
            launch.model = word
            continue
        flag, equals, value = word.partition("=")
        name = _full(flag, engine)
        here = words[position] if position < len(words) else None
        known = engine.FLAGS.get(name)
        if known is None:
            takes = name in valued or (name not in switches and here is not None and not _is_flag(here))
            position += not equals and takes
            (launch.ignored if name in valued | switches else launch.unknown).append(_told(name, engine, valued | switches))
            continue
        if not known.switch and not equals:
            if here is None:
                raise InputError("needs a value", path=flag)
            value, position = here, position + 1
        try:
            known.act(launch, name, value)
        except InputError as error:
            raise InputError(error.rule, path=flag, value=error.value, hint=error.hint) from None


def _full(flag: str, engine: ModuleType) -> str:
    """The flag's one spelling: long, with hyphens."""
    spelled = flag.replace("_", "-") if flag.startswith("--") else flag
    aliases: dict[str, str] = engine.ALIASES
    return aliases.get(spelled, spelled)


def _is_flag(word: str) -> bool:
    return word.startswith("-") and re.fullmatch(r"-\d+(\.\d+)?", word) is None


def _told(name: str, engine: ModuleType, ignored: set[str]) -> str:
    if name in ignored:
        return name
    close = nearest(name, [*engine.FLAGS, *ignored])
    return f"{name} (did you mean {close}?)" if close else name
