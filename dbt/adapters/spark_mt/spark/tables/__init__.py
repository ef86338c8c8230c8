"""Steps on materialized tables."""
