"""Start of Spark: its JVM, its sessions, its server."""
