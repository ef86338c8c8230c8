"""Refresh modes and the status of a table (seed 435, semantics 1)."""

from __future__ import annotations

from enum import Enum


class LogicalRefreshMode(Enum):
    """What the user asked for; AUTOMATIC stands for a clause that was left out as well."""

    AUTOMATIC = "AUTOMATIC"
    CONTINUOUS = "CONTINUOUS"
    FULL = "FULL"


class RefreshMode(Enum):
    """What a logical mode resolved to."""

    CONTINUOUS = "CONTINUOUS"
    FULL = "FULL"


class RefreshStatus(Enum):
    """Where a table is in its life."""

    INITIALIZING = "INITIALIZING"
    ACTIVATED = "ACTIVATED"
    SUSPENDED = "SUSPENDED"
