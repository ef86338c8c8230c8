"""The ports on PySpark. The only package that imports pyspark."""
