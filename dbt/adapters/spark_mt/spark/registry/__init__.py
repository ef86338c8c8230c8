"""System tables: the registry, the log of refreshes, leases."""
