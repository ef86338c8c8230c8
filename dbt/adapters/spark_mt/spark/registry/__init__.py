"""Tables of the system: registry, log of refreshes, leases."""
