"""Checks of a definition that follow from the strategies: refresh mode, streams, start mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import (
    InvalidDefinitionError,
    InvalidValueError,
    MaterializedTableError,
    ProcessFunctionError,
)
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
            yield conditions.NONDETERMINISTIC_QUERY(table=table, functions=functions)
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
        yield conditions.STREAM_IN_FULL_MODE(table=table, reason=reason)


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
        yield conditions.NOT_INCREMENTAL(table=table, violations=violations)


def _process_problem(table: str, query: AnalyzedQuery, problem: str) -> ProcessFunctionError:
    function = query.process.name if query.process else ""
    return conditions.PROCESS_FUNCTION(function=function, table=table, problem=problem)


def _check_stream(
    table: str, definition: ResolvedDefinition, query: AnalyzedQuery
) -> Iterator[MaterializedTableError]:
    """A query that reads a STREAM is run as one, or not at all."""
    if reasons := stream_problems(definition, query):
        code = ", ".join(reason.code for reason in reasons)
        problem = ", and ".join(reason.text for reason in reasons)
        yield conditions.STREAM_QUERY(table=table, code=code, problem=problem)
    if query_options.WATERMARK in dict(definition.declared.options):
        yield conditions.WATERMARK_IN_STREAM_QUERY(table=table)


def _check_first_start(
    table: str, definition: ResolvedDefinition, query: AnalyzedQuery
) -> Iterator[InvalidDefinitionError]:
    """Yield the start mode of a new table, where only the beginning is possible.

    On the CREATE path RESUME_OR_* means its fallback.
    """
    mode = definition.start_mode.mode
    beginning = mode.type.fallback is StartModeType.FROM_BEGINNING
    if definition.refresh_mode is not RefreshMode.CONTINUOUS or beginning:
        return
    problem = _start_problem(definition, query)
    if problem:
        yield conditions.UNSUPPORTED_START_MODE(table=table, startMode=mode.sql, problem=problem)


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
