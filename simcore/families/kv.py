"""KV caches of LLM serving: replicas of an engine over an HBM pool and any list of lower tiers.

This module owns the scenario and what is closed form in it; `_kv_lower` turns it into the serving engine's arrays and
`_kv_text` puts it into words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, ValidationInfo, model_validator

from simcore import plugins
from simcore.errors import InputError
from simcore.families import _kv_lower, _kv_text
from simcore.families._kv_memory import Memory, memory_of
from simcore.metrics import Percentile  # noqa: F401
from simcore.outcome import Outcome
