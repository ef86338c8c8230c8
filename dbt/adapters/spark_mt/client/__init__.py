"""Clients of Spark and of a running refresh manager."""
