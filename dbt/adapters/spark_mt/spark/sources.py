"""Where the sources of a query stand."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.positions import (
    DefinitionPosition,
    Position,
    Positions,
    UnknownPosition,
    VersionedPosition,
    same_positions,
)
from dbt.adapters.spark_mt.execution.errors import BusySourcesError, SourceNotFoundError
from dbt.adapters.spark_mt.resolution.analysis import Source, SourceKind
from dbt.adapters.spark_mt.spark.table_details import NoTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.spark.delta_log import DeltaLog
    from dbt.adapters.spark_mt.spark.table_details import TableDetail, TableDetails

_ATTEMPTS = 20


class SparkSourceReader:
    """Reads positions from Delta's logs, and fingerprints of what defines views and functions."""

    def __init__(self, log: DeltaLog, details: TableDetails) -> None:
        self._log = log
        self._details = details

    def positions(self, sources: Sequence[Source]) -> Positions:
        """Return one state of all sources that existed at one moment.

        Versions are listed until two listings in a row agree: then all of them stood at the same
        time, between the two.

        Raises:
            SourceNotFoundError: A source is gone.
            BusySourcesError: No two listings agree.
        """
        fixed: dict[str, Position] = {
            str(s.name): _fixed_position(s) for s in sources if s.kind is not SourceKind.VERSIONED
        }
        followed = [s.name for s in sources if s.kind is SourceKind.VERSIONED]
        return fixed | self._settled(dict.fromkeys(followed))

    def first_change_after(self, source: TableName, position: VersionedPosition) -> int | None:
        """Return when the first commit after `position` was made, or None if there is none."""
        detail = self._detail(source)
        read = position.version if position.table_id == detail.delta_id else -1
        later = [version for version in self._log.versions(detail.location) if version > read]
        if not later:
            return None
        found = self._log.commits([(detail.location, later[0])])
        return next((commit.timestamp_ms for commit in found.values()), None)

    def _settled(self, names: Iterable[TableName]) -> dict[str, Position]:
        before = self._listed(names)
        if len(before) < 2:
            return before
        for _ in range(_ATTEMPTS):
            after = self._listed(names)
            if same_positions(before, after):
                return after
            before = after
        raise BusySourcesError(
            sources=", ".join(sorted(before)),
            attempts=_ATTEMPTS,
            reason="they were only listed, so nothing in the query can help",
        )

    def _listed(self, names: Iterable[TableName]) -> dict[str, Position]:
        return {str(name): self._newest(name) for name in names}

    def _newest(self, name: TableName) -> Position:
        detail = self._detail(name)
        versions = self._log.versions(detail.location)
        if not versions:
            raise SourceNotFoundError(source=name, problem="its Delta log is empty")
        return VersionedPosition(versions[-1], detail.delta_id)

    def _detail(self, name: TableName) -> TableDetail:
        detail = self._details.of(name)
        if isinstance(detail, NoTable):
            problem = detail.problem or "there is no such table"
            raise SourceNotFoundError(source=name, problem=problem)
        return detail


def _fixed_position(source: Source) -> Position:
    if source.kind is SourceKind.UNVERSIONED:
        return UnknownPosition()
    return DefinitionPosition(hashlib.sha256(source.definition_text.encode()).hexdigest()[:32])
