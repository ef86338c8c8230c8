"""Benchmarks with a target each; `make bench` runs all of them and prints one table."""
