"""A refresh as the log of refreshes knows it (semantics 11, SHOW JOBS), and who runs it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.identifier import TableName


class JobKind(Enum):
    """What asked for a refresh."""

    CONTINUOUS = "CONTINUOUS"
    SCHEDULED = "SCHEDULED"
    MANUAL = "MANUAL"


class JobStatus(Enum):
    """How far a refresh has come."""

    RUNNING = "RUNNING"
    FINISHED = "FINISHED"
    SKIPPED = "SKIPPED"
    FAILED = "FAILED"
    CANCELED = "CANCELED"


@dataclass(frozen=True, slots=True)
class Owner:
    """The process that runs a refresh.

    Args:
        host: The machine's name.
        pid: The process's number on that machine.
        process: What tells this process from a later one with the same number, and from one in
            another container of the same name; empty where the system does not tell.
        user: Who runs it, empty where nobody knows.
    """

    host: str
    pid: int
    process: str = ""
    user: str = ""

    def __str__(self) -> str:
        """For people: who, where."""
        who = f"{self.user}, " if self.user else ""
        return f"{who}process {self.pid} on {self.host}"


@dataclass(frozen=True, slots=True)
class Job:
    """One refresh. While it is RUNNING it holds its table.

    Args:
        job_id: The refresh's id, which its commit carries as well.
        started_at_ms: Milliseconds since the epoch, UTC, as all times here.
        heard_at_ms: When its owner wrote this; a running one writes every 20 seconds.
        trigger: The statement that it is a part of: `CREATE`, `REFRESH` …
        creates: Whether the table did not exist when it began.
        refresh_mode: Of the definition that it computes, for listings.
        freshness: As it stands in a statement.
        ended_at_ms: None while it runs.
        rows: Rows written, where they were counted.
        error: Why it failed or was canceled, empty otherwise.
        scheduled_at_ms: The scheduled time that a SCHEDULED one stands for; None for others.
    """

    job_id: str
    table: TableName
    kind: JobKind
    status: JobStatus
    started_at_ms: int
    heard_at_ms: int
    owner: Owner
    trigger: str
    creates: bool = False
    refresh_mode: str = ""
    freshness: str = ""
    ended_at_ms: int | None = None
    rows: int | None = None
    error: str = ""
    scheduled_at_ms: int | None = None
