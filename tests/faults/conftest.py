"""One long-lived Spark Connect server; the processes that are killed are its clients."""

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
