"""Execution of plans through ports, without a dependency on an engine."""
