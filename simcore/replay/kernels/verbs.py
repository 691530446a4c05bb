"""The verbs of a policy and a filter, and what is compiled in."""

from importlib import import_module

from simcore.kernel import inlined

policy = import_module("simcore.policies.lru")
admission = import_module("simcore.admission.none")
init = inlined(policy.init)
on_hit = inlined(policy.on_hit)
on_miss = inlined(policy.on_miss)
choose_victim = inlined(policy.choose_victim)
on_insert = inlined(policy.on_insert)
on_evict = inlined(policy.on_evict)
surplus = inlined(getattr(policy, "surplus", policy.choose_victim))
on_replace = inlined(policy.on_insert)
asked = import_module("simcore.admission.none")
admit = inlined(asked.admit)
on_access = inlined(asked.on_access)
prefer = inlined(asked.prefer)
admission_init = admission.init
CHAIN = False
FEEDS = False
SETS = False
TRACKED = False
COUNTED = False
CHECKED = False
SIZED = False
SHEDS = False
REFUSES = False
IN_PLACE = False
AHEAD = False
