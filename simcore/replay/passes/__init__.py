"""Passes over a trace that are no policy's: counting what was found, distances, sampling. One compiled entry a module."""
