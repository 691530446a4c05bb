"""Space files: what a search may vary, on which scenarios, towards which objectives, under which constraints.

The grammar:

    name: kv_cxl                     # plain name; default: the file's
    description: ...                 # default: the comment on the first line
    scenario: {...}                  # the base, as `dse simulate` takes it
    search:                          # path in the scenario: what it may be
      path: [a, b, c]                # a list of choices
      path: {range: [low, high], step: s, log: true}      # with log and step: the multiples of the step, log-uniform
      path: {choices: [a, b], when: other.path == a}      # counts only while the condition holds
      tiers.*.policy: [lru, sieve]   # * makes one dimension per match; {choices: [...], tie: true} one for all
    scenarios:                       # every design is tried on each member
      over: {path: [a, b]}           # a product; or members: {name: {path: value, weight: 1}}
      combine: worst                 # worst | mean | each (one front per member); constraints hold in every member
    objectives: [ttft_p99, hbm_cost_usd]                  # metrics; their direction is known
    constraints:
      - tpot_p99 <= 80 ms            # on metrics: judged after simulating
      - tiers.dram.capacity >= 2 * tiers.hbm.capacity     # on paths only: checked before, costs no trial
    allow_saturated: true            # switches off the built-in constraint `saturated` (the others: `hbm_fit`, `serves_all`)
    budget: {trials: 200, seed: 0}
    replications: 1                  # workload seeds per design

Whole numbers at both ends of a range without a step mean the whole numbers between them. Fields of a tier of capacity 0 are
inactive by themselves; an inactive path keeps the value of the base. Expressions: `dse.space.expressions`.
"""

from dse.space.constraints import Constraint
from dse.space.dimension import Dimension
from dse.space.load import load_space, read_expression
from dse.space.locate import packaged_spaces
from dse.space.members import Member
from dse.space.resolved import identity
from dse.space.space import Space
from dse.space.toplevel import check_name

__all__ = [
    "Constraint", "Dimension", "Member", "Space", "check_name", "identity", "load_space", "packaged_spaces", "read_expression",
]  # fmt: skip
