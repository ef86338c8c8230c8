"""The table option `watermark`: how late rows of the sources of a plain query may come."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.identifier import quote
from dbt.adapters.spark_mt.definition.watermark import (
    InvalidWatermarkError,
    Watermark,
    split_watermarks,
)
from dbt.adapters.spark_mt.resolution.durations import parse_duration
from dbt.adapters.spark_mt.resolution.query_errors import QueryError
from dbt.adapters.spark_mt.resolution.violations import InvalidDefinitionError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.resolution.analysis import QueryAnalyzer

WATERMARK = "watermark"
_TIMES = ("TIMESTAMP", "TIMESTAMP_NTZ")


class WatermarkDelayError(InvalidWatermarkError):
    """Rows may come no time late, which no watermark means."""

    condition = "MATERIALIZED_TABLE_WATERMARK_DELAY"
    text = "The delay of the watermark on {column} must be longer than nothing, but is {delay}."
    remedy = "Give the longest time by which a row may come late, such as INTERVAL '10' SECOND."


class WatermarkInStreamQueryError(InvalidDefinitionError):
    """A query with STREAM has its watermarks in its own text."""

    condition = "MATERIALIZED_TABLE_WATERMARK_IN_STREAM_QUERY"
    text = (
        "Materialized table {table} has the option 'watermark', and its query reads a STREAM, "
        "which has its watermarks in the query."
    )
    remedy = (
        "Write STREAM t WATERMARK ts DELAY OF INTERVAL 10 SECONDS in the query and remove the "
        "option, or read the table without STREAM."
    )


class WatermarkSourceError(InvalidDefinitionError):
    """A watermark names a source that the query does not follow."""

    condition = "MATERIALIZED_TABLE_WATERMARK_SOURCE"
    text = (
        "Option 'watermark' of materialized table {table} names {source}, which is no source that "
        "the query follows. Followed sources: {available}."
    )
    remedy = "Name one of them, or leave the name out where only one has the column."


class WatermarkColumnError(InvalidDefinitionError):
    """A watermark names a column that its source does not have, or that holds no time."""

    condition = "MATERIALIZED_TABLE_WATERMARK_COLUMN"
    text = "Option 'watermark' of materialized table {table}: {problem}."
    remedy = (
        "Name a column of type TIMESTAMP or TIMESTAMP_NTZ of the source itself, not of the query's "
        "result or of a view."
    )


class RepeatedWatermarkError(InvalidDefinitionError):
    """A source has two watermarks."""

    condition = "MATERIALIZED_TABLE_REPEATED_WATERMARK"
    text = "Option 'watermark' of materialized table {table} gives {source} two watermarks."
    remedy = "Give each source one watermark; put the source's name in front of each."


def parse_watermarks(text: str) -> tuple[Watermark, ...]:
    """Read the value of the option.

    Raises:
        InvalidWatermarkError: It has another form, or a delay that is not longer than nothing.
        InvalidDurationError: A delay is no duration.
    """
    found = []
    for written in split_watermarks(text):
        delay = parse_duration(written.delay)
        if delay < timedelta(milliseconds=1):
            raise WatermarkDelayError(column=written.column, delay=written.delay)
        found.append(Watermark(written.source, written.column, delay))
    return tuple(found)


def check_watermarks(
    table: str,
    watermarks: Sequence[Watermark],
    followed: Sequence[TableName],
    analyzer: QueryAnalyzer,
) -> Iterator[MaterializedTableError]:
    """Yield everything that is wrong with watermarks beside a query without STREAM.

    Args:
        table: The table's name, for errors.
        watermarks: Those of the option.
        followed: Full names of the sources that the query follows.
        analyzer: Tells the types of the sources' columns; asked only where there are watermarks.
    """
    seen: set[TableName] = set()
    for mark in watermarks:
        sources = [source for source in followed if mark.is_of(source)]
        if not sources:
            available = ", ".join(map(str, followed)) or "none"
            yield WatermarkSourceError(table=table, source=mark.source, available=available)
            continue
        types = {source: _type_of(source, mark.column, analyzer) for source in sources}
        timed = [source for source, type_ in types.items() if type_ in _TIMES]
        if not timed:
            yield WatermarkColumnError(table=table, problem=_problem(mark, types))
        for source in timed:
            if source in seen:
                yield RepeatedWatermarkError(table=table, source=source)
            seen.add(source)


def _type_of(source: TableName, column: str, analyzer: QueryAnalyzer) -> str:
    """The type of a source's column; empty where it has no such column."""
    try:
        analyzed = analyzer.analyze(f"SELECT {quote(column)} FROM {source.sql}")
    except QueryError:
        return ""
    return analyzed.columns[0].type


def _problem(mark: Watermark, types: dict[TableName, str]) -> str:
    listed = ", ".join(map(str, types))
    with_column = {source: type_ for source, type_ in types.items() if type_}
    if not with_column:
        return f"{listed} has no column {mark.column}"
    described = " and ".join(f"{type_} in {source}" for source, type_ in with_column.items())
    return f"column {mark.column} is {described}"
