"""Carries plans out through ports; knows no engine."""
