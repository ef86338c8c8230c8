"""The refresh manager: hosts and schedules the tables of a catalog."""
