"""Streaming query of a definition: sources as streams, and `transformWithState`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import quote
from dbt.adapters.spark_mt.definition.definition import with_article
from dbt.adapters.spark_mt.definition.positions import VersionedPosition
from dbt.adapters.spark_mt.resolution.columns import content_query
from dbt.adapters.spark_mt.resolution.options import RATE_LIMITS, session_confs
from dbt.adapters.spark_mt.resolution.query_options import PROCESS_FUNCTION, process_call
from dbt.adapters.spark_mt.spark.catalog.source_options import only
from dbt.adapters.spark_mt.spark.query.query_rows import Pins, pin_query, raise_if_unfit
from dbt.adapters.spark_mt.spark.query.stream_sources import stand_ins_of, stream_source
from dbt.adapters.spark_mt.strategies.strategy import OutputMode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from dbt.adapters.spark_mt.definition.definition import StoredDefinition
    from dbt.adapters.spark_mt.definition.positions import Position
    from dbt.adapters.spark_mt.definition.watermark import ProcessFunction
    from dbt.adapters.spark_mt.planning.steps import RefreshRun
    from dbt.adapters.spark_mt.query.analyzer import Source
    from dbt.adapters.spark_mt.resolution.settings import Settings
    from dbt.adapters.spark_mt.spark.query.sources import SparkSourceReader
    from dbt.adapters.spark_mt.spark.query.stream_sources import StreamSource, VersionedFormats
    from dbt.adapters.spark_mt.spark.session.private_session import PrivateSession


_VIEW = "__materialized_table_processed"
_NO_TIME = "none"
"""No timers and no time to live: rows and state follow from the input alone."""


_FOLLOWED, _LOOKED_UP = "__materialized_table_stream_", "__materialized_table_lookup_"
_STATE_STORE = "spark.sql.streaming.stateStore."
_CONFS = {
    f"{_STATE_STORE}providerClass": "org.apache.spark.sql.execution.streaming.state."
    "RocksDBStateStoreProvider",
    f"{_STATE_STORE}rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.minBatchesToRetain": "10",
    "spark.sql.streaming.noDataProgressEventInterval": "200",
}
"""State outside of the heap, written as changes; few old batches. A query that finds
nothing reports it each time, for callers that wait for it.
"""
_MOST_PARTITIONS = 8
"""How many parts state has at most: their number is fixed with the first batch."""
_PARTITIONS = "spark.sql.shuffle.partitions"


def processed_query(spark: SparkSession, query: str, function: ProcessFunction) -> str:
    """Return a query for the rows that a processor makes of those of a streaming query.

    The processor's module is sent to the workers as it is here: they need not have it.
    """
    from pyspark import cloudpickle

    processor = function.processor()
    module = sys.modules[type(processor).__module__]
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    columns = ", ".join(f"{quote(name)} {type_}" for name, type_ in function.output.items())
    rows = spark.sql(query).groupBy(*map(quote, function.keys))
    made = rows.transformWithState(processor, columns, OutputMode.APPEND.value, _NO_TIME)
    made.createOrReplaceTempView(_VIEW)
    return f"SELECT * FROM {_VIEW}"


class StreamQueries:
    """Definitions as streaming frames."""

    def __init__(
        self,
        sources: SparkSourceReader,
        versioned: VersionedFormats,
        settings: Callable[[], Settings],
    ) -> None:
        self._sources = sources
        self._versioned = versioned
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
            run: Has the choice, and the other sources.
            after: Positions after which the followed sources are read; from the beginning of those
                that are not named.

        Raises:
            MaterializedTableError: The query cannot be opened as a stream.
        """
        choice = run.choice
        partitions = int(session.spark.conf.get(_PARTITIONS) or _MOST_PARTITIONS)
        session.configure({**_CONFS, _PARTITIONS: str(min(partitions, _MOST_PARTITIONS))})
        session.configure(session_confs(definition.run_options))
        opened = {name: self._source(session, definition, run, name) for name in choice.followed}
        views: dict[str, str] = {}
        limits = only(dict(definition.run_options), RATE_LIMITS)
        for number, (name, source) in enumerate(opened.items()):
            frame = source.stream(after.get(name), limits)
            for marked, mark in choice.watermarks:
                if marked == name:
                    late_ms = int(mark.delay.total_seconds() * 1000)
                    frame = frame.withWatermark(mark.column, f"{late_ms} milliseconds")
            views[name] = f"{_FOLLOWED}{number}"
            frame.createOrReplaceTempView(views[name])
        views |= _looked_up(session, run)
        body = self._processed(session, definition, _over(session, definition, run, views))
        return session.spark.sql(content_query(definition.resolved, body)), opened

    def _processed(self, session: PrivateSession, definition: StoredDefinition, query: str) -> str:
        """Return the rows of a query, or what the table's process function makes of them."""
        options = definition.resolved.declared.options
        if PROCESS_FUNCTION not in dict(options):
            return query
        registered = self._settings().process_functions
        found = process_call(options, registered, str(definition.name))
        return query if found is None else processed_query(session.spark, query, found[1])

    def _source(
        self, session: PrivateSession, definition: StoredDefinition, run: RefreshRun, name: str
    ) -> StreamSource:
        found = _found(run, name)
        source = stream_source(
            session.spark, found.name, found.format, self._sources, self._versioned
        )
        if source is None:
            problem = f"{name}, {with_article(found.format)} table, is no source of streams"
            raise conditions.STREAM_NOT_STARTED(table=definition.name, problem=problem)
        return source


def _over(
    session: PrivateSession, definition: StoredDefinition, run: RefreshRun, views: dict[str, str]
) -> str:
    resolved = definition.resolved
    pins = Pins(
        replaced=views,
        streams=True,
        stand_ins=stand_ins_of(
            {s.name: (s.format, views[str(s.name)]) for s in run.sources if str(s.name) in views}
        ),
        recorded=resolved.source_columns,
    )
    pinned = pin_query(session.spark, resolved.expanded_query, resolved.context, pins)
    if pinned.text is None:
        raise conditions.STREAM_NOT_STARTED(table=definition.name, problem=pinned.reason)
    if PROCESS_FUNCTION not in dict(resolved.declared.options):
        raise_if_unfit(definition, pinned.columns)
    return pinned.text


def _looked_up(session: PrivateSession, run: RefreshRun) -> dict[str, str]:
    """Return views that show other tables as they are when a batch reads them."""
    views = {}
    for number, (name, position) in enumerate(sorted(run.positions.items())):
        if name not in run.choice.followed and isinstance(position, VersionedPosition):
            views[name] = f"{_LOOKED_UP}{number}"
            table = session.spark.table(_found(run, name).name.sql)
            table.createOrReplaceTempView(views[name])
    return views


def _found(run: RefreshRun, name: str) -> Source:
    return next(source for source in run.sources if str(source.name) == name)
