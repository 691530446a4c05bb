"""Fitting the step-time constants to measured latencies, through the serving engine itself."""
