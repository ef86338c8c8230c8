"""Hook in Spark's parser for statements about materialized tables."""
