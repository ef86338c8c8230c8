"""Where a batch ends in its sources, read from the offsets that Spark wrote before it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition.positions import BEFORE_ALL, VersionedPosition
from dbt.adapters.spark_mt.spark.sources import position_in
from dbt.adapters.spark_mt.spark.streams.delta import version_read

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dbt.adapters.spark_mt.definition.positions import Position, Positions
    from dbt.adapters.spark_mt.planning.steps import RefreshRun
    from dbt.adapters.spark_mt.spark.delta_log import DeltaLog
    from dbt.adapters.spark_mt.spark.sources import SparkSourceReader
    from dbt.adapters.spark_mt.spark.streams.source import StreamSource
    from dbt.adapters.spark_mt.spark.table_details import TableDetails


class BatchEnds:
    """Tells positions behind batches of one stream.

    Args:
        run: The refresh, with the formats of the sources.
        opened: The sources, in the query's order.
        sources: Tells where Delta tables live.
        details: Tells Delta's identities of tables.
        log: Reads their logs.
    """

    def __init__(
        self,
        run: RefreshRun,
        opened: Mapping[str, StreamSource],
        sources: SparkSourceReader,
        details: TableDetails,
        log: DeltaLog,
    ) -> None:
        self._formats = {str(source.name): source.format for source in run.sources}
        self._opened = opened
        self._log = log
        self._locations: dict[str, str] = {}
        self._by_delta_id: dict[str, str] = {}
        tables = [s for s in run.sources if s.format == "delta" and str(s.name) in opened]
        for source in tables:
            self._locations[str(source.name)] = sources.location(source.name)
            if len(tables) > 1:
                self._by_delta_id[details.delta_id(source.name)] = str(source.name)

    def positions(self, offsets: Sequence[Any]) -> Positions:
        """Return the positions that an entry of the log of offsets means.

        A Delta source is known by its identity there, a topic by its name. Of several sources of
        other formats the first is the first in the query.

        Raises:
            OffsetInsideCommitError: The batch read a part of a commit.
            SourceNotFoundError: A version that it read is no longer in a source's log.
        """
        found: dict[str, Position] = {}
        for offset in offsets:
            if offset is None:
                continue
            name = self._name(offset, [each for each in self._opened if each not in found])
            found[name] = self._position(name, offset)
        return found

    def are_of(self, positions: Positions) -> bool:
        """Whether positions before a batch are those of the tables that it was read from.

        Delta reads on behind a number, also in the log of a table that was made anew.
        """
        known = ((each, positions.get(each)) for each in self._locations)
        return all(
            self._identity(name, position.version) == position.identity
            for name, position in known
            if isinstance(position, VersionedPosition) and position != BEFORE_ALL
        )

    def _identity(self, name: str, version: int) -> str | None:
        commit = self._log.commit(self._locations[name], version)
        return commit.identity if commit else None

    def _name(self, offset: Any, left: list[str]) -> str:  # noqa: ANN401 - a source's own JSON
        if isinstance(offset, dict) and "reservoirId" in offset:
            return self._by_delta_id.get(offset["reservoirId"]) or self._first(left, "delta")
        if isinstance(offset, dict) and "logOffset" in offset:
            return next(name for name in left if self._formats[name] not in {"delta", "kafka"})
        return self._first(left, "kafka" if isinstance(offset, dict) else "rate")

    def _first(self, left: list[str], format_: str) -> str:
        return next(name for name in left if self._formats[name] == format_)

    def _position(self, name: str, offset: Any) -> Position:  # noqa: ANN401 - as above
        location = self._locations.get(name)
        if location is None:
            return self._opened[name].position_of(json.dumps(offset))
        return position_in(self._log, name, location, version_read(name, offset))
