"""Number formats of cache and weights: their true size with scales, and what they cost in quality."""
