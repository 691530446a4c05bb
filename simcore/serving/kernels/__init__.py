"""Kernels of the serving engine, one file a topic. `simcore.serving.engine` loads them anew for each set of eviction policies,
with its own `order` module; the `order.py` here is the one it makes for LRU alone."""
