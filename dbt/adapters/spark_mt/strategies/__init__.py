"""Strategies: the ways to keep the rows of a table, and the choice between them."""
