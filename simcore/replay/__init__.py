"""The untimed engine: hit ratios of any policy, at any capacity, from a trace.

`setup` what one replay is told, `engine` its compiled loop, `state` its arrays, `kernels` the loop itself, `run` putting them
together, `result` what comes out, `stream` the same for traces longer than memory. `distances` LRU at all capacities by one
pass, `splits` what follows from it, `curve` any policies at many capacities (`sweep` runs them, `store` keeps them), `sampling`
small traces in place of large ones.
"""
