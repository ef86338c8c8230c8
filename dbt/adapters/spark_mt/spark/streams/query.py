"""A definition's query over streams: its followed sources are streams, all others tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.positions import VersionedPosition
from dbt.adapters.spark_mt.execution.hosting_errors import StreamNotStartedError
from dbt.adapters.spark_mt.resolution.content import content_query
from dbt.adapters.spark_mt.resolution.process_functions import PROCESS_FUNCTION, process_call
from dbt.adapters.spark_mt.resolution.run_options import RATE_LIMITS, session_confs
from dbt.adapters.spark_mt.spark.pinning import Pins, pin_query
from dbt.adapters.spark_mt.spark.streams.only_streams import stand_ins_of
from dbt.adapters.spark_mt.spark.streams.options import only
from dbt.adapters.spark_mt.spark.streams.processing import processed_query
from dbt.adapters.spark_mt.spark.streams.source import stream_source

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame

    from dbt.adapters.spark_mt.definition.definition import StoredDefinition
    from dbt.adapters.spark_mt.definition.positions import Position
    from dbt.adapters.spark_mt.planning.steps import RefreshRun
    from dbt.adapters.spark_mt.resolution.analysis import Source
    from dbt.adapters.spark_mt.resolution.engines import Engine
    from dbt.adapters.spark_mt.resolution.settings import Settings
    from dbt.adapters.spark_mt.spark.delta_log import DeltaLog
    from dbt.adapters.spark_mt.spark.private_session import PrivateSession
    from dbt.adapters.spark_mt.spark.sources import SparkSourceReader
    from dbt.adapters.spark_mt.spark.stand_ins import StandIns
    from dbt.adapters.spark_mt.spark.streams.source import StreamSource

_FOLLOWED, _LOOKED_UP = "__materialized_table_stream_", "__materialized_table_lookup_"
_STATE_STORE = "spark.sql.streaming.stateStore."
_CONFS = {
    f"{_STATE_STORE}providerClass": "org.apache.spark.sql.execution.streaming.state."
    "RocksDBStateStoreProvider",
    f"{_STATE_STORE}rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.minBatchesToRetain": "10",
    "spark.sql.streaming.noDataProgressEventInterval": "200",
}
"""State outside of the heap, written as changes; few old batches (facts: spark.md 2.3, 6). A query
that finds nothing says so each time, for whoever waits for it.
"""
_MOST_PARTITIONS = 8
"""How many parts state has at most: their number is fixed with the first batch."""
_PARTITIONS = "spark.sql.shuffle.partitions"


class StreamQueries:
    """Opens definitions as streaming frames."""

    def __init__(
        self, sources: SparkSourceReader, log: DeltaLog, settings: Callable[[], Settings]
    ) -> None:
        self._sources = sources
        self._log = log
        self._settings = settings

    def open(
        self,
        session: PrivateSession,
        definition: StoredDefinition,
        run: RefreshRun,
        after: Mapping[str, Position],
    ) -> tuple[DataFrame, dict[str, StreamSource]]:
        """Return the query's rows in the table's columns as a stream, and the sources.

        Args:
            session: To which the frame belongs, in the definition's context.
            definition: The query.
            run: Tells the engine, and the other sources.
            after: Positions behind which the followed sources are read; from the beginning of those
                that are not named.

        Raises:
            StreamNotStartedError: The query cannot be opened as a stream.
        """
        engine = run.engine
        if engine is None:
            raise ValueError(run)
        _configure(session, definition)
        opened = {name: self._source(session, definition, run, name) for name in engine.followed}
        views: dict[str, str] = {}
        limits = only(dict(definition.run_options), RATE_LIMITS)
        for number, (name, source) in enumerate(opened.items()):
            rows = source.stream(after.get(name), limits)
            frame = _watermarked(rows, engine, name)
            views[name] = f"{_FOLLOWED}{number}"
            frame.createOrReplaceTempView(views[name])
        views |= _looked_up(session, run, engine)
        resolved = definition.resolved
        stand_ins = _stand_ins(run, views)
        pins = Pins(dict.fromkeys(views, 0), views, streams=True, stand_ins=stand_ins)
        pinned = pin_query(session.spark, resolved.expanded_query, resolved.context, pins)
        if pinned.text is None:
            raise StreamNotStartedError(table=definition.name, problem=pinned.reason)
        body = self._made(session, definition, pinned.text)
        return session.spark.sql(content_query(resolved, body)), opened

    def _made(self, session: PrivateSession, definition: StoredDefinition, query: str) -> str:
        """The rows of a query, or what the table's process function makes of them."""
        options = definition.resolved.asked.options
        if PROCESS_FUNCTION not in dict(options):
            return query
        registered = self._settings().process_functions
        found = process_call(options, registered, str(definition.name))
        return query if found is None else processed_query(session.spark, query, found[1])

    def _source(
        self, session: PrivateSession, definition: StoredDefinition, run: RefreshRun, name: str
    ) -> StreamSource:
        found = _found(run, name)
        source = stream_source(session.spark, found.name, found.format, self._sources, self._log)
        if source is None:
            problem = f"{name}, a {found.format} table, is no source of streams"
            raise StreamNotStartedError(table=definition.name, problem=problem)
        return source


def _configure(session: PrivateSession, definition: StoredDefinition) -> None:
    partitions = int(session.spark.conf.get(_PARTITIONS) or _MOST_PARTITIONS)
    session.configure({**_CONFS, _PARTITIONS: str(min(partitions, _MOST_PARTITIONS))})
    session.configure(session_confs(definition.run_options))


def _watermarked(frame: DataFrame, engine: Engine, name: str) -> DataFrame:
    for source, mark in engine.watermarks:
        if source == name:
            late_ms = int(mark.delay.total_seconds() * 1000)
            frame = frame.withWatermark(mark.column, f"{late_ms} milliseconds")
    return frame


def _looked_up(session: PrivateSession, run: RefreshRun, engine: Engine) -> dict[str, str]:
    """Views that show other tables as they are when a batch reads them."""
    views = {}
    for number, (name, position) in enumerate(sorted(run.positions.items())):
        if name not in engine.followed and isinstance(position, VersionedPosition):
            views[name] = f"{_LOOKED_UP}{number}"
            table = session.spark.table(_found(run, name).name.sql)
            table.createOrReplaceTempView(views[name])
    return views


def _stand_ins(run: RefreshRun, views: Mapping[str, str]) -> StandIns:
    found = ((source, views.get(str(source.name))) for source in run.sources)
    return stand_ins_of({s.name: (s.format, view) for s, view in found if view is not None})


def _found(run: RefreshRun, name: str) -> Source:
    return next(source for source in run.sources if str(source.name) == name)
