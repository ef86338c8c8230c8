"""Apache Iceberg: metadata of tables, changes between versions, transactions and maintenance."""
