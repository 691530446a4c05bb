"""Formats of measurements, one module each, found by its name.

A module defines `sniff(text) -> bool`, whether a file looks like it, and `read(text, file) -> Reading`.
"""
