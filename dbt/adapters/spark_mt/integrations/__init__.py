"""What runs in other systems' processes, without Spark and without dbt."""
