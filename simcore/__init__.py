"""simcore: a fast simulator of big tiered caches."""
