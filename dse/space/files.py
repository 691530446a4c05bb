"""Files a space leans on (traces, model configurations): found, made absolute, told apart by content."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeGuard


def looks_like_file(value: Any) -> TypeGuard[str]:
    """Whether a YAML value could name a file: text with a folder or an ending."""
    return isinstance(value, str) and "\n" not in value and len(value) < 4096 and ("/" in value or bool(Path(value).suffix))


def absolute(data: Any, base_dir: Path) -> Any:
    """`data` with every text that names an existing file, relative to `base_dir`, replaced by its absolute path."""
    if isinstance(data, Mapping):
        return {key: absolute(value, base_dir) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [absolute(value, base_dir) for value in data]
    if looks_like_file(data) and _is_file(path := base_dir / Path(data).expanduser()):
        return str(path.resolve())
    return data


def named_files(data: Any) -> Iterator[str]:
    """Every absolute path in `data` at which there is a file."""
    if isinstance(data, Mapping):
        for value in data.values():
            yield from named_files(value)
    elif isinstance(data, (list, tuple)):
        for value in data:
            yield from named_files(value)
    elif looks_like_file(data) and Path(data).is_absolute() and _is_file(Path(data)):
        yield data


def content_sha256(path: str | Path) -> str:
    """Hash of a file's bytes."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def replaced(data: Any, names: Mapping[str, str]) -> Any:
    """`data` with texts replaced by name, everywhere."""
    if isinstance(data, Mapping):
        return {key: replaced(value, names) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [replaced(value, names) for value in data]
    return names.get(data, data) if isinstance(data, str) else data


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False
