"""Models, GPUs, tiers, workloads and calibrated constants as numbers with source and date."""

from simcore.presets.fields import Gpu, Model, Tier, gpu, model, tier
from simcore.presets.loader import KINDS, is_path, list_presets, load_preset, with_preset

__all__ = [
    "KINDS", "Gpu", "Model", "Tier", "gpu", "is_path", "list_presets", "load_preset", "model", "tier", "with_preset",
]  # fmt: skip
