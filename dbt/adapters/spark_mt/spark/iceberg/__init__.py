"""Apache Iceberg as a format of source tables."""
