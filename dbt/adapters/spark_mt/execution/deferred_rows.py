"""Deferred rows of the refresh log, which are written together in one commit.

A hosted stream has a row when its state changes: that waits for the next write. Figures of running
streams, and scheduled refreshes that had nothing to do, wait up to a minute. So the number of
commits depends on time, not on the number of tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dbt.adapters.spark_mt.definition.job import Job
    from dbt.adapters.spark_mt.planning.steps import Register


FIGURES_MS = 60_000
"""How long figures wait after the last write."""
MOST_ROWS = 500
"""The largest number of rows in one commit: they are literals of one statement."""


class Write(Protocol):
    """Writes rows."""

    def __call__(self, *jobs: Job, tables: Sequence[Register]) -> object:
        """Write rows about jobs and tables of one catalog, all in one commit."""
        ...


@dataclass(frozen=True, slots=True)
class _Row:
    job: Job
    table: Register | None
    is_change: bool


class DeferredRows:
    """Keeps the newest row of each job until it is written; safe for several threads.

    A kill of the process loses figures, and records of refreshes that had nothing to do.

    Args:
        write: Writes rows.
        now_ms: The current instant, milliseconds since the epoch, UTC.
        covered: Whether a manager's lease shows that the streams of this process run. Otherwise
            each of them must have a row a minute.
    """

    def __init__(self, write: Write, now_ms: Callable[[], int], *, covered: bool = False) -> None:
        self._write = write
        self._now_ms = now_ms
        self.covered = covered
        self._rows: dict[str, _Row] = {}
        self._written_ms = 0
        self._lock = Lock()
        self._writing = Lock()

    def changed(self, job: Job, table: Register | None = None) -> None:
        """Keep a row about a change of state until the next write."""
        self._keep(_Row(job, table, is_change=True))

    def progressed(self, job: Job, table: Register | None = None) -> None:
        """Keep a row with new figures for up to a minute.

        Args:
            job: The row.
            table: The row of its table, if that has figures as well.
        """
        self._keep(_Row(job, table, is_change=False))

    def waiting(self) -> tuple[Job, ...]:
        """Return the jobs whose rows are not written yet, in the order they came."""
        with self._lock:
            return tuple(row.job for row in self._rows.values())

    def write_due(self) -> None:
        """Write all waiting rows, if one of them must not wait longer.

        Raises:
            Exception: The log could not be written; the next call tries it again.
        """
        with self._lock:
            has_changes = any(row.is_change for row in self._rows.values())
            has_waited = self._now_ms() - self._written_ms >= FIGURES_MS
        if has_changes or has_waited:
            self.write()

    def write(self) -> None:
        """Write all waiting rows, in order.

        Raises:
            Exception: The log could not be written; rows that were not written still wait.
        """
        with self._writing:
            while rows := self._first():
                tables = _newest_tables(rows)
                self._write(*(row.job for row in rows), tables=tables)
                self._forget(rows)

    def _keep(self, row: _Row) -> None:
        with self._lock:
            before = self._rows.pop(row.job.job_id, row)
            table, is_change = row.table or before.table, row.is_change or before.is_change
            self._rows[row.job.job_id] = _Row(row.job, table, is_change)

    def _first(self) -> list[_Row]:
        with self._lock:
            return list(self._rows.values())[:MOST_ROWS]

    def _forget(self, rows: Sequence[_Row]) -> None:
        with self._lock:
            for row in rows:
                if self._rows.get(row.job.job_id) is row:
                    del self._rows[row.job.job_id]
            self._written_ms = self._now_ms()


def _newest_tables(rows: Sequence[_Row]) -> list[Register]:
    """Return the newest row of each table; a restarted stream writes rows of the same table."""
    found = {row.table.definition.name: row.table for row in rows if row.table is not None}
    return list(found.values())
