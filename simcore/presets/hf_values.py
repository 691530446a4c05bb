"""Reading values from a Hugging Face config.json, with errors that name the file, the key and the rule."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simcore.errors import MISSING, InputError
from simcore.yamlio import read_text

_TEXT_SECTIONS = ("text_config", "llm_config", "language_config")


@dataclass(frozen=True)
class Values:
    """The values of the language part of one config.json; a nested text section lies over the top level."""

    file: str
    data: Mapping[str, Any]

    def get(self, *keys: str) -> Any:
        """The first of `keys` that is present and not null, else None."""
        return next((self.data[key] for key in keys if self.data.get(key) is not None), None)

    def whole(self, *keys: str, default: int | None = None, least: int = 1) -> int:
        """A whole number under one of the spellings `keys`.

        Raises:
            InputError: missing without a default, not a whole number, or below `least`.
        """
        key = next((k for k in keys if self.data.get(k) is not None), keys[0])
        value = self.data.get(key)
        if value is None:
            if default is None:
                others = f" (or {', '.join(keys[1:])})" if len(keys) > 1 else ""
                raise self.error(key, f"is required{others}")
            return default
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self.error(key, f"must be a whole number of at least {least}", value)
        return value

    def error(self, key: str, rule: str, value: Any = MISSING, hint: str | None = None) -> InputError:
        """An error about one key of this file."""
        return InputError(rule, file=self.file, path=key, value=value, hint=hint)


def read_values(path: Path) -> Values:
    """Load a config.json.

    Raises:
        InputError: missing, a folder, too large, not text, not JSON, not an object.
    """
    file = str(path)
    try:
        data = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise InputError(f"is not valid JSON: {error.msg}", file=file, line=error.lineno) from None
    except RecursionError:
        raise InputError("is nested too deeply", file=file) from None
    if not isinstance(data, dict):
        raise InputError("must be a JSON object", file=file)
    nested: dict[str, Any] = next((data[key] for key in _TEXT_SECTIONS if isinstance(data.get(key), dict)), {})
    return Values(file, {**data, **nested})
