"""Workflow schedulers, which refresh tables in mode FULL at scheduled times."""
