"""Plans: the steps of a statement as values, to be explained or executed."""
