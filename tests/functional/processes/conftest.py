"""Real processes at the same time, all of them clients of one Spark Connect server."""

from __future__ import annotations

from tests.faults.fixtures import (
    chance,
    kills,
    pytest_report_header,
    pytest_terminal_summary,
    schema,
    server,
    session,
)

__all__ = [
    "chance",
    "kills",
    "pytest_report_header",
    "pytest_terminal_summary",
    "schema",
    "server",
    "session",
]
