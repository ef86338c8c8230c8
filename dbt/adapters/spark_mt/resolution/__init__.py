"""Resolution of a statement into a definition in which every clause has a value."""
