"""What differs between two definitions, and whether that is allowed."""
