"""A kv scenario as the deployment that `size` works on."""

from __future__ import annotations

from simcore.errors import InputError
from simcore.families._kv_scenario import Scenario
from simcore.roofline.sizing import Deployment
from simcore.specs.base import Spec


def deployment_of(scenario: Spec) -> Deployment:
    """The scenario's memory without its workload: the pool is HBM's capacity, a request as long as engine and model allow.

    Raises:
        InputError: a scenario of another family, which has no KV cache.
    """
    if not isinstance(scenario, Scenario):
        raise InputError("must be kv: the others have no KV cache", path="family", value=getattr(scenario, "family", None))
    return Deployment(
        model=scenario.model,
        gpu=scenario.gpu,
        engine=scenario.engine,
        kv_format=scenario.kv_format,
        weight_format=scenario.weight_format,
        parallel=scenario.on,
        replicas=scenario.replicas,
        pool_bytes=scenario.hbm.capacity_bytes,
        tiers=scenario.lower_tiers,
    )
