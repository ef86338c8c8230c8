"""Assembly of the ports on PySpark."""
