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
        location = self._detail(source).location
        read = position.version if self.is_readable(source, position) else -1
        later = [version for version in self._log.versions(location) if version > read]
        if not later:
            return None
        found = self._log.commits([(location, later[0])])
        return next((commit.timestamp_ms for commit in found.values()), None)

    def is_readable(self, source: TableName, position: VersionedPosition) -> bool:
        """Whether the source still has the very version that `position` names."""
        key = (self._detail(source).location, position.version)
        if position.version not in self._log.versions(key[0]):
            return False
        return self._log.commits([key])[key].identity == position.identity

    def _settled(self, names: Iterable[TableName]) -> dict[str, Position]:
        versions = self._listed(names)
        for _ in range(_ATTEMPTS):
            again = self._listed(names) if len(versions) > 1 else versions
            if versions == again:
                return self._positions(versions)
            versions = again
        raise BusySourcesError(
            sources=", ".join(sorted(map(str, versions))),
            attempts=_ATTEMPTS,
            reason="they were only listed, so nothing in the query can help",
        )

    def _positions(self, versions: dict[TableName, int]) -> dict[str, Position]:
        keys = {name: (self._detail(name).location, v) for name, v in versions.items()}
        commits = self._log.commits(keys.values())
        return {
            str(name): VersionedPosition(key[1], commits[key].identity)
            for name, key in keys.items()
        }

    def _listed(self, names: Iterable[TableName]) -> dict[TableName, int]:
        return {name: self._newest(name) for name in names}

    def _newest(self, name: TableName) -> int:
        versions = self._log.versions(self._detail(name).location)
        if not versions:
            raise SourceNotFoundError(source=name, problem="its Delta log is empty")
        return versions[-1]

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
