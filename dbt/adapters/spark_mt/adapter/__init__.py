"""What the dbt adapter does for models, seeds, catalogs and run-operations."""
