"""YAML in and out: YAML 1.2 scalars, no tags, no aliases, no duplicate keys, line numbers kept for messages.

Nothing in a file is ever constructed beyond mappings, lists, text, numbers, booleans and null.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from simcore.errors import InputError

MAX_FILE_BYTES = 16 * 2**20
MAX_DEPTH = 50
MAX_DIGITS = 60
_LONG_NUMBER = re.compile(rf"[-+.0-9]{{{MAX_DIGITS + 1}}}")


@dataclass(frozen=True)
class Document:
    """A loaded file: its data, and the line of every dotted path in it."""

    data: Any
    file: str
    lines: dict[str, int] = field(default_factory=dict)

    def line(self, path: str) -> int | None:
        """The line on which `path` (or its nearest parent that is written out) stands."""
        while path:
            if path in self.lines:
                return self.lines[path]
            path = path[: path.rindex("[")] if path.endswith("]") else path.rpartition(".")[0]
        return self.lines.get("")


class _Loader(yaml.SafeLoader):
    """SafeLoader with the scalars of YAML 1.2's core schema."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012  (base class attribute)


_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"^(?:null|Null|NULL|~|)$"), [*"nN~", ""])
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"^[-+]?[0-9]+$"), list("-+0123456789"))
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$"),
    list("-+.0123456789"),
)
_PLAIN = {f"tag:yaml.org,2002:{t}" for t in ("null", "bool", "int", "float", "str", "seq", "map")}


def loads_yaml(text: str, file: str = "<text>") -> Document:
    """Parse YAML text.

    Raises:
        InputError: bad syntax, a duplicate key (both lines named), an alias, an anchor or a tag.
    """
    lines: dict[str, int] = {}
    try:
        _refuse_unsupported(text, file)
        node = yaml.compose(text, Loader=_Loader)
        data = None if node is None else _build(node, "", lines, file)
    except yaml.YAMLError as error:
        raise _syntax_error(error, text, file) from None
    return Document(data, file, lines)


def load_yaml(path: str | Path) -> Document:
    """Read and parse a YAML file.

    Raises:
        InputError: missing, unreadable, a folder, too large, not UTF-8 text, or bad YAML.
    """
    file = str(path)
    return loads_yaml(read_text(path), file)


def read_text(path: str | Path) -> str:
    """The text of a user's file, or one clear InputError."""
    file = str(path)
    try:
        source = Path(path)
        if source.is_dir():
            raise InputError("must be a file, this is a folder", file=file)
        if source.exists() and not source.is_file():
            raise InputError("must be a regular file", file=file)
        if source.exists() and source.stat().st_size > MAX_FILE_BYTES:
            raise InputError(f"must be smaller than {MAX_FILE_BYTES // 2**20} MiB; is this the right file?", file=file)
        raw = source.read_bytes()
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError("no such file", file=file) from None
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read: {getattr(error, 'strerror', None) or error}", file=file) from None
    if b"\x00" in raw:
        raise InputError("must be a text file, this is binary", file=file)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("must be UTF-8 text, this is binary or in another encoding", file=file) from None


def _refuse_unsupported(text: str, file: str) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        mark = event.start_mark.line + 1 if event.start_mark else None
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise InputError(f"nested more than {MAX_DEPTH} deep", file=file, line=mark)
        if isinstance(event, yaml.ScalarEvent) and event.implicit[0] and _LONG_NUMBER.match(event.value):
            raise InputError(f"a number of more than {MAX_DIGITS} digits", file=file, line=mark, hint="quote it if it is text")
        if isinstance(event, yaml.AliasEvent):
            raise InputError("aliases (*name) are not supported", file=file, line=mark, hint="write the value out")
        if getattr(event, "anchor", None):
            raise InputError("anchors (&name) are not supported", file=file, line=mark, hint="write the value out")
        tag = getattr(event, "tag", None)
        if tag is not None and tag not in _PLAIN and tag != "!":
            raise InputError(f"tags ({tag}) are not supported", file=file, line=mark, hint="quote it if it is text")


def _build(node: yaml.Node, path: str, lines: dict[str, int], file: str) -> Any:
    lines.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, path, lines, file)
    if isinstance(node, yaml.SequenceNode):
        return [_build(child, f"{path}[{i}]", lines, file) for i, child in enumerate(node.value)]
    return _scalar(node)


def _mapping(node: yaml.MappingNode, path: str, lines: dict[str, int], file: str) -> dict[Any, Any]:
    result: dict[Any, Any] = {}
    first_line: dict[Any, int] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        key = _scalar(key_node) if isinstance(key_node, yaml.ScalarNode) else None
        if key is None or not isinstance(key, Hashable):
            raise InputError("keys must be plain text", file=file, path=path or None, line=line)
        key = key if isinstance(key, str) else key_node.value
        child = f"{path}.{key}" if path else key
        if key in first_line:
            rule = f"duplicate key {key!r}: lines {first_line[key]} and {line}"
            raise InputError(rule, file=file, path=path or None, line=line, hint="keep one of them")
        first_line[key] = line
        lines[child] = line
        result[key] = _build(value_node, child, lines, file)
    return result


def _scalar(node: yaml.Node) -> Any:
    kind = node.tag.rpartition(":")[2]
    text: str = node.value
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() == "true"
    if kind == "int":
        return int(text)
    return float(text) if kind == "float" else text


def _syntax_error(error: yaml.YAMLError, text: str, file: str) -> InputError:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "bad YAML"
    if mark is None:
        return InputError(f"not valid YAML: {problem}", file=file)
    source = text.splitlines()
    shown_line = source[mark.line].strip() if mark.line < len(source) else ""
    starts_odd = bool(re.search(r"[:\-\[,]\s*[*!%@>`&|]", shown_line))
    hint = "quote the value" if starts_odd or "cannot start any token" in str(problem) else None
    return InputError(f"not valid YAML: {problem}", file=file, line=mark.line + 1, value=shown_line or "end of file", hint=hint)


class _Dumper(yaml.SafeDumper):
    """Block style, no aliases, mappings in the order given."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _dump_text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    """Quote text that either YAML 1.1 or our own loader would read as something else."""
    plain = not _reads_differently(value)
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=None if plain else '"')


def _reads_differently(value: str) -> bool:
    try:
        return bool(loads_yaml(value).data != value)
    except InputError:
        return True


_Dumper.add_representer(str, _dump_text)


def dump_yaml(data: Any) -> str:
    """Plain data as YAML text that loads back equal, here and in a YAML 1.1 reader."""
    text: str = yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    return text
