"""The study folder: its lock, its trials, the evaluations of the batch under way, and the files for people and other tools."""
