"""What somebody waits for who leaves a table to its manager (semantics 10)."""

from __future__ import annotations

from enum import Enum


class Wait(Enum):
    """For what somebody waits."""

    NONE = "none"
    STARTED = "started"
    """A manager has taken the table over, as its newest definition says."""
    FRESH = "fresh"
    """Its rows reflect everything that its sources had when the waiting began."""
