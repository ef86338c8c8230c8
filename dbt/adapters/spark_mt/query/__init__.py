"""Facts about a query, from its text, its tree and Spark's plan. Decides nothing."""
