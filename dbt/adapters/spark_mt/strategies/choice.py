"""Choice of the strategy that keeps a table, and of the one that a refresh uses.

The planner plans with the choice. EXPLAIN, DESC EXTENDED, `plan`, the commits, the status page,
REST and the metrics print it. Checks of a definition follow from it: refresh mode, streams, start
mode. The resolver asks them with its own checks, so that an error names every violation at once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.errors import InvalidDefinitionError, InvalidValueError
from dbt.adapters.spark_mt.definition.modes import LogicalRefreshMode, RefreshMode, StartModeType
from dbt.adapters.spark_mt.resolution import query_options
from dbt.adapters.spark_mt.resolution.options import Incremental, read_options
from dbt.adapters.spark_mt.resolution.row_lineage import row_shape
from dbt.adapters.spark_mt.strategies import strategy
from dbt.adapters.spark_mt.strategies.changed_rows import ADDING, MERGING
from dbt.adapters.spark_mt.strategies.differential import DERIVING
from dbt.adapters.spark_mt.strategies.stream import STREAMING, stream_problems
from dbt.adapters.spark_mt.strategies.table_facts import TableFacts
from dbt.adapters.spark_mt.strategies.whole_table import RECOMPUTING, SINCE_START

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dbt.adapters.spark_mt.definition.definition import ResolvedDefinition
    from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
    from dbt.adapters.spark_mt.definition.positions import Baseline
    from dbt.adapters.spark_mt.query.analyzer import AnalyzedQuery
    from dbt.adapters.spark_mt.strategies.strategy import Strategy


STRATEGIES = (STREAMING, ADDING, MERGING, SINCE_START, DERIVING, RECOMPUTING)
"""Every strategy, the preferred one first."""


KEEP = strategy.RefreshInputs(strategy.Request.KEEP)


def choose(
    definition: ResolvedDefinition,
    analyzed: AnalyzedQuery,
    baseline: Baseline | None = None,
    inputs: strategy.RefreshInputs = KEEP,
    excluded: Sequence[strategy.Refusal] = (),
) -> strategy.Choice:
    """Return how the rows of a table are computed: in general, or by one refresh.

    Args:
        definition: The table as wanted, or as it is stored.
        analyzed: Its query as the engine sees it now.
        baseline: From where it counts its sources; None where all rows count.
        inputs: What is asked for; by default how the table is kept. For a refresh also positions
            and changes.
        excluded: Strategies that the caller has found not to work.

    Returns:
        The preferred strategy of those that are possible, or that the refresh can use. Its
        strategy is `none`, with the reasons of the refusals, where there is none.
    """
    table = TableFacts(definition, analyzed, baseline)
    refused: list[strategy.Refusal] = []
    offers: list[tuple[Strategy, strategy.Choice]] = []
    for candidate in STRATEGIES:
        answer = candidate.possible(table)
        if isinstance(answer, strategy.Refusal):
            refused.append(answer)
        else:
            offers.append((candidate, answer))
    names = tuple(candidate.name for candidate, _ in offers)
    out = {refusal.strategy for refusal in excluded}
    left = [(candidate, own) for candidate, own in offers if candidate.name not in out]
    not_used: tuple[strategy.Refusal, ...] = ()
    if inputs.request is strategy.Request.KEEP:
        chosen = left[0][1] if left else _none(_of_changes(refused))
    else:
        chosen, not_used = _for_refresh(table, left, inputs)
        if chosen.strategy == strategy.NONE and not chosen.reasons:
            chosen = _none(_of_changes(refused) or not_used)
        if offers and chosen.write is strategy.Write.REPLACE:
            chosen = _by_stream(offers[0][1], chosen)
    before = (*not_used, *excluded, *refused)
    reasons = chosen.reasons or next((refusal.reasons for refusal in before), ())
    costs = tuple(inputs.costs.items())
    cost = inputs.costs.get(chosen.strategy)
    return replace(chosen, reasons=reasons, possible=names, refused=before, cost=cost, costs=costs)


def _for_refresh(
    table: TableFacts,
    offers: Sequence[tuple[Strategy, strategy.Choice]],
    inputs: strategy.RefreshInputs,
) -> tuple[strategy.Choice, tuple[strategy.Refusal, ...]]:
    """Return what a refresh uses, and what it cannot use, the last refusal first.

    A host needs to know only whether a stream can run: a refresh chooses again otherwise.
    """
    refused: list[strategy.Refusal] = []
    for candidate, own in offers:
        if inputs.request is strategy.Request.HOST and candidate.name != strategy.STREAM:
            return own, tuple(reversed(refused))
        answer = candidate.usable(table, own, replace(inputs, refused=tuple(refused)))
        if isinstance(answer, strategy.Choice):
            return answer, tuple(reversed(refused))
        refused.append(answer)
        if answer.is_final:
            return _none([answer]), tuple(reversed(refused))
    return _none(()), tuple(reversed(refused))


def _of_changes(refused: Sequence[strategy.Refusal]) -> list[strategy.Refusal]:
    """Return why a query cannot be applied to changes, whatever the table keeps."""
    return [refusal for refusal in refused if refusal.strategy == strategy.APPEND]


def _none(refused: Sequence[strategy.Refusal]) -> strategy.Choice:
    """Return that no strategy keeps the table: why its changes cannot be applied."""
    reasons = [reason for refusal in refused for reason in refusal.reasons]
    return strategy.Choice(
        strategy.INCREMENTAL, strategy.NONE, tuple(dict.fromkeys(reasons)), strategy.Write.NONE
    )


def _by_stream(kept: strategy.Choice, choice: strategy.Choice) -> strategy.Choice:
    """Return a choice that computes all rows: by the stream whose checkpoint begins with them."""
    if not kept.keeps_checkpoint:
        return choice
    return replace(
        kept,
        strategy=choice.strategy,
        reasons=choice.reasons,
        write=choice.write,
        since=choice.since,
    )


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


def errors(
    table: str, definition: ResolvedDefinition, query: AnalyzedQuery, *, new: bool
) -> Iterator[MaterializedTableError]:
    """Yield what no strategy can do for a definition."""
    yield from _check_modes(table, definition, query)
    yield from _check_incremental(table, definition, query)
    if new:
        yield from _check_first_start(table, definition, query)


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


def warnings(definition: ResolvedDefinition, query: AnalyzedQuery) -> Iterator[str]:
    """Yield which options have no effect on the strategy of a table."""
    if query_options.WATERMARK not in dict(definition.declared.options):
        return
    choice = choose(definition, query)
    if choice.strategy != strategy.STATEFUL:
        yield f"Option '{query_options.WATERMARK}' has no effect ({choice.name}): {choice.reason}."
