"""Differences between two definitions, and whether they can be applied in place."""
