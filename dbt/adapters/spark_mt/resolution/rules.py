"""What a definition must fulfil beside its columns: keys, partitioning, modes, start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.modes import LogicalRefreshMode, RefreshMode
from dbt.adapters.spark_mt.definition.start_mode import StartModeType
from dbt.adapters.spark_mt.definition.state_retention import StateRetentionType
from dbt.adapters.spark_mt.resolution.columns import listed
from dbt.adapters.spark_mt.resolution.engines import STATEFUL, choose_engine, stream_problems
from dbt.adapters.spark_mt.resolution.missing_commas import missing_comma
from dbt.adapters.spark_mt.resolution.process_functions import ProcessFunctionError
from dbt.adapters.spark_mt.resolution.query_shape import row_shape
from dbt.adapters.spark_mt.resolution.violations import InvalidDefinitionError
from dbt.adapters.spark_mt.resolution.watermarks import WATERMARK, WatermarkInStreamQueryError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dbt.adapters.spark_mt.definition.columns import Column
    from dbt.adapters.spark_mt.definition.definition import ResolvedDefinition
    from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
    from dbt.adapters.spark_mt.resolution.analysis import AnalyzedQuery
    from dbt.adapters.spark_mt.resolution.columns import Names


class PrimaryKeyColumnError(InvalidDefinitionError):
    """A key names a column that the table does not have."""

    condition = "MATERIALIZED_TABLE_PRIMARY_KEY_COLUMN"
    text = (
        "Primary key column '{column}' of materialized table {table} is not in the query's schema. "
        "Available columns: [{columns}]."
    )
    remedy = "Name columns that the query produces, each once.{hint}"


class PartitionColumnError(InvalidDefinitionError):
    """The table is partitioned by a column that it does not have (message of Flink)."""

    condition = "MATERIALIZED_TABLE_PARTITION_COLUMN"
    text = (
        "Materialized table {table}: Partition column '{column}' not defined in the query's "
        "schema. Available columns: [{columns}]."
    )
    remedy = "Name columns that the query produces, each once.{hint}"


class ClusterColumnError(InvalidDefinitionError):
    """The table is clustered by a column that it does not have."""

    condition = "MATERIALIZED_TABLE_CLUSTER_COLUMN"
    text = (
        "Materialized table {table}: Clustering column '{column}' not defined in the query's "
        "schema. Available columns: [{columns}]."
    )
    remedy = "Name columns that the query produces, each once.{hint}"


class RepeatedColumnError(InvalidDefinitionError):
    """A key, partitioning or clustering names a column twice."""

    condition = "MATERIALIZED_TABLE_REPEATED_COLUMN"
    text = "{clause} of materialized table {table} names column '{column}' twice."
    remedy = "Name each column once."


class OnlyPartitionColumnsError(InvalidDefinitionError):
    """Every column is a partition column."""

    condition = "MATERIALIZED_TABLE_ONLY_PARTITION_COLUMNS"
    text = "All columns of materialized table {table} are partition columns: [{columns}]."
    remedy = "Leave at least one column out of PARTITIONED BY."


class NondeterministicQueryError(InvalidDefinitionError):
    """A query whose result differs from run to run cannot be refreshed continuously."""

    condition = "MATERIALIZED_TABLE_NONDETERMINISTIC_QUERY"
    text = (
        "The query of materialized table {table} uses {functions}, whose value differs from run to "
        "run, so it cannot be refreshed in mode CONTINUOUS."
    )
    remedy = (
        "Set REFRESH_MODE = FULL, which computes the whole table anew at each refresh, or remove "
        "the function."
    )


class StreamInFullModeError(InvalidDefinitionError):
    """A query over a STREAM cannot be computed as a whole."""

    condition = "MATERIALIZED_TABLE_STREAM_IN_FULL_MODE"
    text = (
        "The query of materialized table {table} reads a STREAM, which only mode CONTINUOUS can, "
        "but its refresh mode is FULL ({reason})."
    )
    remedy = (
        "Set REFRESH_MODE = CONTINUOUS, or read the table without STREAM; the model config "
        "`watermark` bounds state while the query stays plain SQL."
    )


class StreamQueryError(InvalidDefinitionError):
    """A query over a STREAM that Structured Streaming cannot run, or not so that rows are right."""

    condition = "MATERIALIZED_TABLE_STREAM_QUERY"
    text = (
        "The query of materialized table {table} reads a STREAM, and it cannot be run as a stream "
        "({code}): {problem}."
    )
    remedy = (
        "Read the table without STREAM: each refresh then computes what it must, at the cost of "
        "reading more. docs/refresh.md tells which queries can be streams."
    )


class UnsupportedStartModeError(InvalidDefinitionError):
    """A new table cannot start there, because of its query or its sources."""

    condition = "MATERIALIZED_TABLE_UNSUPPORTED_START_MODE"
    text = "START_MODE = {startMode} of materialized table {table} is not possible: {problem}."
    remedy = (
        "Use START_MODE = FROM_BEGINNING, which computes the whole table from all source data, or "
        "REFRESH_MODE = FULL, where the start mode has no effect."
    )


def check_keys(
    table: str, definition: ResolvedDefinition, names: Names
) -> Iterator[MaterializedTableError]:
    """Yield what is wrong with key, partitioning and clustering."""
    asked = definition.asked
    key = asked.primary_key.columns if asked.primary_key else ()
    clauses = (
        ("PRIMARY KEY", key, PrimaryKeyColumnError),
        ("PARTITIONED BY", asked.partitioned_by, PartitionColumnError),
        ("CLUSTER BY", asked.clustered_by, ClusterColumnError),
    )
    for clause, columns, missing in clauses:
        seen: set[str] = set()
        for column in columns:
            if names.fold(column) in seen:
                yield RepeatedColumnError(clause=clause, table=table, column=column)
            elif names.find(column, definition.columns) is None:
                available = listed(definition.columns)
                hint = missing_comma(asked.query, column)
                yield missing(table=table, column=column, columns=available, hint=hint)
            seen.add(names.fold(column))
    yield from _check_partitioning(table, definition.columns, asked.partitioned_by, names)


def _check_partitioning(
    table: str, columns: tuple[Column, ...], partitioned_by: tuple[str, ...], names: Names
) -> Iterator[MaterializedTableError]:
    partitions = {names.fold(c) for c in partitioned_by}
    if columns and all(names.fold(c.name) in partitions for c in columns):
        yield OnlyPartitionColumnsError(table=table, columns=listed(columns))


def check_modes(
    table: str, definition: ResolvedDefinition, query: AnalyzedQuery
) -> Iterator[MaterializedTableError]:
    """Yield what the refresh mode forbids (semantics 7, FULL mode)."""
    if definition.refresh_mode is RefreshMode.CONTINUOUS:
        if query.nondeterministic:
            functions = ", ".join(f"{name}()" for name in query.nondeterministic)
            yield NondeterministicQueryError(table=table, functions=functions)
        if query.process is not None:
            if reasons := stream_problems(definition, query):
                yield _process_problem(table, query, " and ".join(r.text for r in reasons))
        elif query.streaming:
            yield from _check_stream(table, definition, query)
    elif query.process is not None:
        problem = "only mode CONTINUOUS can run it, and the refresh mode is FULL"
        yield _process_problem(table, query, problem)
    elif query.streaming:
        asked = definition.asked.logical_refresh_mode is LogicalRefreshMode.FULL
        reason = "as asked" if asked else f"its freshness of {definition.freshness} asks for that"
        yield StreamInFullModeError(table=table, reason=reason)


def _process_problem(table: str, query: AnalyzedQuery, problem: str) -> ProcessFunctionError:
    function = query.process.name if query.process else ""
    return ProcessFunctionError(function=function, table=table, problem=problem)


def _check_stream(
    table: str, definition: ResolvedDefinition, query: AnalyzedQuery
) -> Iterator[MaterializedTableError]:
    """A query that reads a STREAM is run as one, or not at all."""
    if reasons := stream_problems(definition, query):
        code = ", ".join(reason.code for reason in reasons)
        problem = ", and ".join(reason.text for reason in reasons)
        yield StreamQueryError(table=table, code=code, problem=problem)
    if WATERMARK in dict(definition.asked.options):
        yield WatermarkInStreamQueryError(table=table)


def check_first_start(
    table: str, definition: ResolvedDefinition, query: AnalyzedQuery
) -> Iterator[UnsupportedStartModeError]:
    """Yield the start mode of a new table, where only the beginning is possible.

    On the CREATE path RESUME_OR_* means its fallback (semantics 7).
    """
    mode = definition.start_mode.mode
    beginning = mode.type.fallback is StartModeType.FROM_BEGINNING
    if definition.refresh_mode is not RefreshMode.CONTINUOUS or beginning:
        return
    problem = _start_problem(definition, query)
    if problem:
        yield UnsupportedStartModeError(table=table, startMode=mode.sql, problem=problem)


def _start_problem(definition: ResolvedDefinition, query: AnalyzedQuery) -> str:
    """Why nobody can tell which rows came after an instant; empty where that can be told."""
    if query.streaming and query.process is None:
        names = choose_engine(definition, query).followed
        timeless = [s for s in query.sources if str(s.name) in names and not s.has_positions]
        return _unknown_changes(tuple(str(source.name) for source in timeless))
    shape = row_shape(definition, query)
    if shape.can_be_limited:
        return ""
    return _unknown_changes(shape.unversioned) or f"of the query, {shape.problem}"


def _unknown_changes(sources: tuple[str, ...]) -> str:
    return f"nobody can tell what changes in {', '.join(sources)}" if sources else ""


def warnings(definition: ResolvedDefinition, query: AnalyzedQuery, *, new: bool) -> Iterator[str]:
    """Yield what the user should know about a definition that is valid."""
    if definition.refresh_mode is RefreshMode.FULL:
        for name in query.nondeterministic:
            yield f"The query uses {name}(): each refresh may compute other rows."
        if definition.asked.start_mode is not None:
            yield "START_MODE is stored and has no effect in mode FULL."
    yield from _unused_watermark(definition, query)
    for name in query.time_dependent:
        yield f"The query uses {name}(), which has one value for each refresh: it is never skipped."
    retention = definition.asked.state_retention
    if retention is not None and retention.type is not StateRetentionType.NONE and new:
        yield f"STATE_RETENTION = {retention.sql} has no effect on a new table: it has no state."


def _unused_watermark(definition: ResolvedDefinition, query: AnalyzedQuery) -> Iterator[str]:
    if WATERMARK not in dict(definition.asked.options):
        return
    engine = choose_engine(definition, query)
    if engine.strategy != STATEFUL:
        yield f"Option '{WATERMARK}' has no effect ({engine.name}): {engine.reason}."
