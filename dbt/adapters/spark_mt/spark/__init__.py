"""The ports on PySpark and Delta Lake; the only package that imports pyspark."""
