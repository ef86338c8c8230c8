"""Upkeep of Delta tables and of checkpoints (the storage behind `service/upkeep.py`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.spark.private_session import PrivateSessions
    from dbt.adapters.spark_mt.spark.streams.checkpoints import Checkpoints

_HOUR_MS = 3600 * 1000


class SparkUpkeep:
    """Merges files and removes what nobody reads any more.

    Args:
        sessions: Private sessions.
        checkpoints: Of streams; None where there are none.
        now_ms: The current instant, milliseconds since the epoch, UTC.
    """

    def __init__(
        self,
        sessions: PrivateSessions,
        checkpoints: Checkpoints | None,
        now_ms: Callable[[], int],
    ) -> None:
        self._sessions = sessions
        self._checkpoints = checkpoints
        self._now_ms = now_ms

    def compact(self, table: TableName) -> None:
        """Merge a table's small files; Delta marks that no row was changed by it."""
        with self._sessions.open() as session:
            session.spark.sql(f"OPTIMIZE {table.sql}")

    def vacuum(self, table: TableName, kept_ms: int) -> None:
        """Remove files that were replaced longer ago than that."""
        hours = -(-kept_ms // _HOUR_MS)
        with self._sessions.open() as session:
            session.spark.sql(f"VACUUM {table.sql} RETAIN {hours} HOURS")

    def remove_dead_checkpoints(self, table_ids: frozenset[str]) -> None:
        """Remove the checkpoints in which no stream of these tables went on for a week."""
        if self._checkpoints is not None:
            for table_id in table_ids:
                self._checkpoints.remove_abandoned(table_id, self._now_ms())
