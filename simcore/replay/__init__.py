"""The untimed engine: hit ratios of any policy, at any capacity, from a trace.

`setup` what one replay is told, `engine` its compiled loop, `state` its arrays, `kernels` the loop itself, `run` putting them
together, `result` what comes out, `distances` and `curve` all capacities at once.
"""
