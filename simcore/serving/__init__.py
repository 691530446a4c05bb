"""Timed serving engine."""
