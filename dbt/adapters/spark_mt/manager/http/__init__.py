"""HTTP server of the manager: REST interface, health, metrics and status page."""
