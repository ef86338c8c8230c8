"""From a statement to a definition in which nothing is left open."""
