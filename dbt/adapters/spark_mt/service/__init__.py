"""The refresh manager: makes the catalog's desired state true (design section 6)."""
