"""Leaf specs: frozen data with units in their names."""
