"""Families of caches. One module each; found by the scenario's `family` key."""
