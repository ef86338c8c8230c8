"""Measures what the project promises; `make bench` runs all of it and prints one table."""
