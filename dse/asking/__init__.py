"""Choosing designs: samplers asked, repeats and forbidden designs replaced."""
