"""In which number format each layer's K and V are cached."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from simcore.errors import InputError
from simcore.specs.base import Spec


class KvPair(Spec):
    """Format of K and format of V, by name; a bare string means both."""

    shorthand: ClassVar[str | None] = None
    k: str = "bf16"
    v: str = "bf16"

    @classmethod
    def expand(cls, raw: Any) -> Any:
        """A bare name stands for K and V."""
        return super().expand({"k": raw, "v": raw} if isinstance(raw, str) else raw)


class KvGroup(Spec):
    """A group of layers that differs from the default.

    Args:
        layers: layer numbers from 0, like "0-3" or "0-3, 31"; absent: an equal share of the layers nobody names.
        k, v: formats; the default's when absent.
    """

    shorthand: ClassVar[str | None] = None
    layers: str | int | None = None
    k: str | None = None
    v: str | None = None

    @classmethod
    def expand(cls, raw: Any) -> Any:
        """A bare name stands for K and V."""
        return super().expand({"k": raw, "v": raw} if isinstance(raw, str) else raw)


class KvFormatSpec(Spec):
    """Cache formats of a model: one for all layers, and groups of layers that differ.

    `kv_format: bf16` is short for `{default: {k: bf16, v: bf16}}`; `groups: 4` makes four groups of consecutive layers
    named 0 to 3. A latent cache (MLA) holds one vector per token, which takes the format of K.
    """

    shorthand: ClassVar[str | None] = "default"
    default: KvPair = KvPair()
    groups: dict[str, KvGroup] = Field(default_factory=dict)

    @classmethod
    def expand(cls, raw: Any) -> Any:
        """Shorthands, `{k: ..., v: ...}` without `default`, and a number of groups, written out."""
        if isinstance(raw, Mapping):
            if "default" not in raw and ("k" in raw or "v" in raw):
                pair = {key: raw[key] for key in ("k", "v") if key in raw}
                raw = {"default": pair, **{key: value for key, value in raw.items() if key not in pair}}
            if isinstance(raw.get("groups"), int) and not isinstance(raw.get("groups"), bool):
                raw = {**raw, "groups": {str(i): {} for i in range(raw["groups"])}}
        return super().expand(raw)

    def per_layer(self, layers: int) -> tuple[KvPair, ...]:
        """The format of each of `layers` layers.

        Raises:
            InputError: a group names a layer that does not exist or that another group names, or there are more groups
                than layers.
        """
        owner: list[str | None] = [None] * layers
        for name, group in self.groups.items():
            if group.layers is not None:
                for layer in _numbers(group.layers, layers, f"groups.{name}.layers"):
                    if owner[layer] is not None:
                        rule = f"layer {layer} is already in group {owner[layer]}"
                        raise InputError(rule, path=f"groups.{name}.layers", value=group.layers)
                    owner[layer] = name
        equal = [name for name, group in self.groups.items() if group.layers is None]
        free = [layer for layer in range(layers) if owner[layer] is None]
        if len(equal) > len(free):
            raise InputError(f"must not be more than the {len(free)} free layers", path="groups", value=len(equal))
        for position, layer in enumerate(free):
            if equal:
                owner[layer] = equal[position * len(equal) // len(free)]
        return tuple(self._pair(name) for name in owner)

    def _pair(self, name: str | None) -> KvPair:
        if name is None:
            return self.default
        group = self.groups[name]
        return KvPair(k=group.k or self.default.k, v=group.v or self.default.v)


def _numbers(text: str | int, layers: int, path: str) -> list[int]:
    numbers: list[int] = []
    for part in str(text).split(","):
        match = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", part)
        if match is None:
            raise InputError('must be layer numbers like "0-3" or "0-3, 31"', path=path, value=text)
        first = int(match.group(1))
        last = int(match.group(2) or first)
        if last < first or last >= layers:
            raise InputError(f"must be within 0-{layers - 1}, low to high", path=path, value=text)
        numbers += range(first, last + 1)
    return numbers
