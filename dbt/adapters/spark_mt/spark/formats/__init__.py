"""Names of table formats, as data."""
