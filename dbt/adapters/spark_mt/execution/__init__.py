"""Execution of plans through ports. Knows no engine."""
