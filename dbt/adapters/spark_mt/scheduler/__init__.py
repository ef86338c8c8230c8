"""Workflow schedulers: what refreshes tables in mode FULL at their scheduled times."""
