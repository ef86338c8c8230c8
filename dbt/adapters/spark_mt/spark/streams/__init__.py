"""Batches, queries and runs of Structured Streaming."""
