"""Positions of tables over logs: where they end, and what happened between two of them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.positions import OffsetPosition, UnknownPosition
from dbt.adapters.spark_mt.execution.source_errors import SourceWithoutTimeError
from dbt.adapters.spark_mt.planning.windows import ChangeKind
from dbt.adapters.spark_mt.spark.streams.checkpointed import FilesSource
from dbt.adapters.spark_mt.spark.streams.kafka import KafkaSource
from dbt.adapters.spark_mt.spark.streams.kafka_offsets import KAFKA

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.definition.positions import FollowedPosition, Position
    from dbt.adapters.spark_mt.execution.ports import StartPosition
    from dbt.adapters.spark_mt.spark.private_session import PrivateSessions


class LogReader:
    """Asks Kafka, each time in a session that is closed again.

    Args:
        sessions: Opens them.
    """

    def __init__(self, sessions: PrivateSessions) -> None:
        self._sessions = sessions

    def ends(self, names: Collection[TableName]) -> dict[str, Position]:
        """Return where logs end; unknown of a table whose own options let it end elsewhere.

        Raises:
            SourceNotFoundError: A table, a topic or the broker cannot be reached.
        """
        found: dict[str, Position] = {}
        for name in names:
            with self._kafka(name) as source:
                followed = source.is_followable
                found[str(name)] = source.latest() if followed else UnknownPosition()
        return found

    def earliest(self, name: TableName) -> OffsetPosition | None:
        """Return where a log begins now; None where its own options let it begin elsewhere."""
        with self._kafka(name) as source:
            found = source.earliest() if source.is_followable else None
        return found if isinstance(found, OffsetPosition) else None

    def first_change_after(self, name: TableName, position: OffsetPosition) -> int | None:
        """Return the time of the first record behind a position, None where there is none.

        Milliseconds since the epoch, UTC; None as well where the format tells no times.
        """
        if position.format != KAFKA:
            return None
        with self._kafka(name) as source:
            return source.first_change_after(position)

    def is_readable(self, name: TableName, position: OffsetPosition) -> bool:
        """Whether all that lies behind a position is still there, as far as anybody can tell."""
        if position.format != KAFKA:
            return False
        with self._kafka(name) as source:
            return source.is_readable(position)

    def changes(self, name: TableName, after: FollowedPosition, upto: OffsetPosition) -> ChangeKind:
        """Return what happened to a log between two positions."""
        if isinstance(after, OffsetPosition) and after.format != upto.format:
            return ChangeKind.REPLACED
        with self._sessions.open() as session:
            if upto.format == KAFKA:
                return KafkaSource(session.spark, name).kind(after, upto)
            return FilesSource(session.spark, name, upto.format).kind(after, upto)

    def position_at(self, name: TableName, format_: str, instant_ms: int) -> StartPosition:
        """Return the position of the first records with a time at or after an instant.

        Raises:
            SourceWithoutTimeError: The format tells no times.
        """
        if format_ != KAFKA:
            raise SourceWithoutTimeError(source=name, format=format_)
        with self._kafka(name) as source:
            return source.position_at(instant_ms)

    @contextmanager
    def _kafka(self, name: TableName) -> Iterator[KafkaSource]:
        with self._sessions.open() as session:
            yield KafkaSource(session.spark, name)
