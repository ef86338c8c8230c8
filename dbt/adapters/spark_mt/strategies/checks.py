"""Checks of a definition that follow from the strategies: refresh mode, streams, start mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.errors import InvalidDefinitionError, InvalidValueError
from dbt.adapters.spark_mt.definition.modes import LogicalRefreshMode, RefreshMode, StartModeType
from dbt.adapters.spark_mt.resolution import query_options
from dbt.adapters.spark_mt.resolution.options import Incremental, read_options
from dbt.adapters.spark_mt.resolution.row_lineage import row_shape
from dbt.adapters.spark_mt.strategies import strategy
from dbt.adapters.spark_mt.strategies.choice import choose
from dbt.adapters.spark_mt.strategies.stream import stream_problems

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dbt.adapters.spark_mt.definition.definition import ResolvedDefinition
    from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
    from dbt.adapters.spark_mt.query.analyzer import AnalyzedQuery


class NondeterministicQueryError(InvalidDefinitionError):
    """A query whose result differs from run to run cannot be refreshed continuously."""

    condition = "MATERIALIZED_TABLE_NONDETERMINISTIC_QUERY"
    text = (
        "The query of materialized table {table} uses {functions}, whose value differs from run to "
        "run, so it cannot be refreshed in mode CONTINUOUS."
    )
    remedy = (
        "Set REFRESH_MODE = FULL, which computes the whole table at each refresh, or remove "
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
        "reading more. docs/refresh.md lists the queries that can be streams."
    )


class UnsupportedStartModeError(InvalidDefinitionError):
    """A new table cannot start there, because of its query or its sources."""

    condition = "MATERIALIZED_TABLE_UNSUPPORTED_START_MODE"
    text = "START_MODE = {startMode} of materialized table {table} is not possible: {problem}."
    remedy = (
        "Use START_MODE = FROM_BEGINNING, which computes the whole table from all source data, or "
        "REFRESH_MODE = FULL, where the start mode has no effect."
    )


class NotIncrementalError(InvalidDefinitionError):
    """Every refresh would compute all rows, and the option `incremental` is `strict`."""

    condition = "MATERIALIZED_TABLE_NOT_INCREMENTAL"
    text = (
        "Every refresh of the materialized table {table} would compute all rows, which its option "
        "'incremental' = 'strict' forbids:"
    )
    remedy = (
        "Rewrite the query as said, or set 'incremental' = 'auto': each refresh then costs what "
        "the whole query costs."
    )


class StrategyChecks:
    """Implementation of `resolution.resolver.DefinitionChecks`."""

    def errors(
        self, table: str, definition: ResolvedDefinition, query: AnalyzedQuery, *, new: bool
    ) -> Iterator[MaterializedTableError]:
        """Yield what no strategy can do for a definition."""
        yield from _check_modes(table, definition, query)
        yield from _check_incremental(table, definition, query)
        if new:
            yield from _check_first_start(table, definition, query)

    def warnings(self, definition: ResolvedDefinition, query: AnalyzedQuery) -> Iterator[str]:
        """Yield which options have no effect on the strategy of a table."""
        if query_options.WATERMARK not in dict(definition.declared.options):
            return
        choice = choose(definition, query)
        if choice.strategy != strategy.STATEFUL:
            option = query_options.WATERMARK
            yield f"Option '{option}' has no effect ({choice.name}): {choice.reason}."


def _check_modes(
    table: str, definition: ResolvedDefinition, query: AnalyzedQuery
) -> Iterator[MaterializedTableError]:
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
        is_declared = definition.declared.logical_refresh_mode is LogicalRefreshMode.FULL
        reason = (
            "as asked" if is_declared else f"its freshness of {definition.freshness} asks for that"
        )
        yield StreamInFullModeError(table=table, reason=reason)


def _check_incremental(
    table: str, definition: ResolvedDefinition, query: AnalyzedQuery
) -> Iterator[MaterializedTableError]:
    """Yield why the option `incremental` cannot be `strict`."""
    try:
        options = read_options(definition.declared.options)
    except InvalidValueError:  # which the check of the options reports
        return
    if options.incremental is not Incremental.STRICT:
        return
    choice = choose(definition, query)
    if choice.possible == (strategy.RECOMPUTE,):
        violations = [
            reason.violation
            for refusal in choice.refused
            if refusal.strategy == strategy.DIFFERENTIAL
            for reason in refusal.reasons
        ]
        yield NotIncrementalError(table=table, violations=violations)


def _process_problem(
    table: str, query: AnalyzedQuery, problem: str
) -> query_options.ProcessFunctionError:
    function = query.process.name if query.process else ""
    return query_options.ProcessFunctionError(function=function, table=table, problem=problem)


def _check_stream(
    table: str, definition: ResolvedDefinition, query: AnalyzedQuery
) -> Iterator[MaterializedTableError]:
    """A query that reads a STREAM is run as one, or not at all."""
    if reasons := stream_problems(definition, query):
        code = ", ".join(reason.code for reason in reasons)
        problem = ", and ".join(reason.text for reason in reasons)
        yield StreamQueryError(table=table, code=code, problem=problem)
    if query_options.WATERMARK in dict(definition.declared.options):
        yield query_options.WatermarkInStreamQueryError(table=table)


def _check_first_start(
    table: str, definition: ResolvedDefinition, query: AnalyzedQuery
) -> Iterator[UnsupportedStartModeError]:
    """Yield the start mode of a new table, where only the beginning is possible.

    On the CREATE path RESUME_OR_* means its fallback.
    """
    mode = definition.start_mode.mode
    beginning = mode.type.fallback is StartModeType.FROM_BEGINNING
    if definition.refresh_mode is not RefreshMode.CONTINUOUS or beginning:
        return
    problem = _start_problem(definition, query)
    if problem:
        yield UnsupportedStartModeError(table=table, startMode=mode.sql, problem=problem)


def _start_problem(definition: ResolvedDefinition, query: AnalyzedQuery) -> str:
    """Return why the rows after an instant are not known; empty if they are."""
    if query.streaming and query.process is None:
        names = choose(definition, query).followed
        timeless = [s for s in query.sources if str(s.name) in names and not s.has_positions]
        return _unknown_changes(tuple(str(source.name) for source in timeless))
    shape = row_shape(definition, query)
    if shape.can_be_limited:
        return ""
    return _unknown_changes(shape.unversioned) or f"of the query, {shape.problem}"


def _unknown_changes(sources: tuple[str, ...]) -> str:
    return f"the changes of {', '.join(sources)} are not recorded" if sources else ""
