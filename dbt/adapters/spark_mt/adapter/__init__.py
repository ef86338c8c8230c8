"""The dbt adapter: models, seeds, catalogs and run-operations."""
