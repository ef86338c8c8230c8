"""Refresh of a table with a baseline: changes of its sources are applied once.

Such a table is never recomputed from the beginning, because that would add rows that its start mode
excluded. If its sources cannot be followed, it is suspended with the reason.

A table over a log may have rows that the log no longer has. It is recomputed only if a statement
explicitly asks for the beginning.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.modes import LogicalRefreshMode, RefreshMode
from dbt.adapters.spark_mt.definition.positions import (
    FollowedPosition,
    VersionedPosition,
    positions_of,
)
from dbt.adapters.spark_mt.execution.ports import SourceSpan
from dbt.adapters.spark_mt.execution.results import RefreshOutcome, RefreshResult
from dbt.adapters.spark_mt.planning.steps import CREATED
from dbt.adapters.spark_mt.query.analyzer import FORMATS_WITH_OFFSETS
from dbt.adapters.spark_mt.query.binder import FILE_METADATA
from dbt.adapters.spark_mt.query.columns_read import columns_read
from dbt.adapters.spark_mt.query.operator_builder import definition_tree
from dbt.adapters.spark_mt.resolution.options import Incremental, read_options
from dbt.adapters.spark_mt.resolution.row_lineage import row_shape
from dbt.adapters.spark_mt.strategies import strategy
from dbt.adapters.spark_mt.strategies.choice import choose
from dbt.adapters.spark_mt.strategies.reasons import TYPES_CHANGED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.definition import ResolvedDefinition, StoredTable
    from dbt.adapters.spark_mt.definition.errors import BaselineBrokenError
    from dbt.adapters.spark_mt.definition.positions import (
        Positions,
        SourcePositions,
    )
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.execution.ports import StepResult
    from dbt.adapters.spark_mt.planning.steps import RefreshRun
    from dbt.adapters.spark_mt.query.analyzer import AnalyzedQuery
    from dbt.adapters.spark_mt.strategies.strategy import Choice, Refusal

    _T = TypeVar("_T")


def with_origin(
    environment: Environment, definition: ResolvedDefinition, run: RefreshRun
) -> RefreshRun:
    """Record in the run the first offsets of the logs from which all rows are computed.

    In mode FULL the rows are those of the sources' current contents: nothing is recorded.
    """
    if definition.refresh_mode is not RefreshMode.CONTINUOUS:
        return run
    logs = (source.name for source in run.sources if source.format in FORMATS_WITH_OFFSETS)
    begins = ((str(name), environment.sources.earliest(name)) for name in logs)
    return replace(run, origin=tuple((name, at) for name, at in begins if at is not None))


def loss_of(table: StoredTable, run: RefreshRun) -> str:
    """Describe the rows that computing a whole table by `run` would lose; empty for none.

    The run has the first offsets of the logs.
    """
    now = dict(run.origin)
    lost = [
        f"{name} begins at {now[name]}, and the table was filled from {before}"
        for name, before in table.definition.origin
        if name in now and not before.reaches(now[name])
    ]
    return "; ".join(lost)


def without_data_loss(environment: Environment, table: StoredTable, run: RefreshRun) -> RefreshRun:
    """Return the run that computes all rows of a table, unless that loses some.

    Raises:
        MaterializedTableError: The table holds rows that its logs have dropped.
    """
    run = with_origin(environment, table.definition.resolved, run)
    if loss := loss_of(table, run):
        raise conditions.LOG_HISTORY_LOST(table=table.name, loss=loss)
    return run


def refresh_outcome(
    environment: Environment,
    name: TableName,
    run: RefreshRun,
    before: Positions | None,
    result: StepResult,
) -> RefreshOutcome:
    """Return the outcome of a refresh that wrote a whole table, with the positions before it."""
    return RefreshOutcome(
        refresh_id=run.refresh_id,
        table=str(name),
        strategy=run.strategy,
        status=RefreshResult.REFRESHED,
        rows=result.rows,
        partitions=(),
        positions_from=shown(before),
        positions_to=shown(result.positions or run.positions),
        duration_ms=environment.now_ms() - run.started_at_ms,
    )


def shown(positions: Positions | None) -> tuple[tuple[str, str], ...]:
    """Return positions as text, by source."""
    return tuple(sorted((name, str(position)) for name, position in (positions or {}).items()))


def read_after(
    read: Callable[[SourceSpan], _T], run: RefreshRun, since: SourcePositions
) -> dict[str, _T]:
    """Read each source of a run between some positions and those of the run.

    One source is read by a method of `SourceReader`.
    """
    names = {str(source.name): source.name for source in run.sources}
    return {
        name: read(SourceSpan(names[name], after, upto, run.columns_of(name)))
        for name, after in since
        if isinstance(upto := run.positions.get(name), FollowedPosition)
    }


def reading(run: RefreshRun, definition: ResolvedDefinition, analyzed: AnalyzedQuery) -> RefreshRun:
    """Return a run that has the columns that a definition's query reads of its sources."""
    return replace(run, columns=columns_read(definition_tree(definition, analyzed)))


def costs_of(table: StoredTable) -> dict[str, strategy.Cost]:
    """Return the cost of a table's last refresh by each strategy.

    Where a release before did not store whether its process was cold, the first build counts as
    cold: it may have the start of the JVM in it.
    """
    last = table.last_refresh
    if last is None:
        return {}
    seconds = max(0, last.committed_at_ms - last.started_at_ms) / 1000
    earlier = {
        e.strategy: strategy.Cost(
            e.duration_ms / 1000, None, 0, e.ago, e.source_rows, is_cold=bool(e.is_cold)
        )
        for e in last.earlier
    }
    is_cold = last.trigger == CREATED if last.is_cold is None else last.is_cold
    own = strategy.Cost(seconds, last.rows, last.repeated, 0, last.source_rows, is_cold=is_cold)
    return earlier | {last.strategy: own}


def kept_by_table(table: StoredTable, analyzed: AnalyzedQuery) -> Choice:
    """Return the strategy of a stored table, with the cost of its last refresh."""
    definition = table.definition
    inputs = strategy.RefreshInputs(strategy.Request.KEEP, costs=costs_of(table))
    return choose(definition.resolved, analyzed, definition.baseline, inputs)


def refresh_inputs(
    environment: Environment, table: StoredTable, run: RefreshRun, request: strategy.Request
) -> strategy.RefreshInputs:
    """Return the inputs of the choice of a strategy when a refresh begins."""
    names = {str(source.name): source.name for source in run.sources}
    streams, stream = environment.streams, table.stream

    def is_readable(since: SourcePositions) -> bool:
        return all(environment.sources.is_readable(names[name], at) for name, at in since)

    def can_resume() -> bool:
        if streams is None or stream is None:
            return False
        return streams.can_resume(table.definition.table_id, stream)

    # Under a baseline a removed row can end the table, so it must be known whether it came again.
    changes = partial(environment.sources.changes, net=table.definition.baseline is not None)
    return strategy.RefreshInputs(
        request,
        table.positions,
        run.positions,
        partial(read_after, changes, run),
        partial(read_after, environment.sources.extent, run),
        tuple(commit.version for commit in table.foreign_commits),
        partial(environment.observer.is_partly_refreshed, table),
        is_readable,
        can_resume,
        costs_of(table),
        changed_types=partial(read_after, environment.sources.changed_types, run),
    )


def chosen(
    environment: Environment,
    table: StoredTable,
    analyzed: AnalyzedQuery,
    run: RefreshRun,
    request: strategy.Request,
    excluded: Sequence[Refusal] = (),
) -> RefreshRun:
    """Return a run with the strategy that it uses, `none` if there is none.

    Raises:
        RefreshNotIncrementalError: It must compute all rows, and an option forbids that.
    """
    definition = table.definition
    if definition.declared.logical_refresh_mode is not LogicalRefreshMode.FULL:
        run = reading(run, definition.resolved, analyzed)
    inputs = refresh_inputs(environment, table, run, request)
    choice = choose(definition.resolved, analyzed, definition.baseline, inputs, excluded)
    if request is strategy.Request.REFRESH and choice.strategy == strategy.RECOMPUTE:
        options = read_options(definition.declared.options)
        if options.incremental is Incremental.STRICT:
            raise conditions.REFRESH_NOT_INCREMENTAL(table=table.name, violations=_why_all(choice))
    if choice.write is strategy.Write.CHANGE:
        run = replace(run, tree=definition_tree(definition.resolved, analyzed))
    return replace(run, choice=choice)


def _why_all(choice: Choice) -> list[str]:
    """Return why a refresh must compute all rows, and why no change could be derived instead."""
    derived = [
        reason
        for refusal in choice.refused
        if refusal.strategy == strategy.DIFFERENTIAL
        for reason in refusal.reasons
    ]
    return [reason.violation for reason in dict.fromkeys((*choice.reasons, *derived))]


def chosen_for_partitions(
    environment: Environment, table: StoredTable, analyzed: AnalyzedQuery, run: RefreshRun
) -> RefreshRun:
    """Return a run that computes some partitions of a table.

    Raises:
        MaterializedTableError: The table keeps rows that a partition would lose.
        BaselineBrokenError: The rows added since the baseline are no longer known.
    """
    baseline = table.definition.baseline
    run = chosen(environment, table, analyzed, run, strategy.Request.PARTITIONS)
    if run.choice.strategy != strategy.NONE:
        return run
    if baseline is not None and baseline.keeps_rows:
        raise conditions.PARTITION_UNDER_BASELINE(table=table.name, baseline=baseline.describe())
    raise broken(environment, table.name, run)


def broken(environment: Environment, name: TableName, run: RefreshRun) -> BaselineBrokenError:
    """Return the error for a run without a strategy."""
    choice = run.choice
    final = next((refusal for refusal in choice.refused if refusal.is_final), None)
    if final is None:
        return conditions.BASELINE_BROKEN(table=name, problem=choice.reason)
    reason = final.reasons[0]
    source, after = reason.subject, dict(final.since).get(reason.subject)
    if reason.code == "POSITIONS_UNKNOWN":
        return conditions.POSITIONS_LOST(table=name, source=source)
    error: BaselineBrokenError
    if reason.code == "SOURCE_HISTORY_GONE":
        names = {str(each.name): each.name for each in run.sources}
        format_ = environment.format_of(names[source])
        properties = dict.fromkeys((format_.log_retention, format_.file_retention))
        retention = " and ".join(properties)
        error = conditions.SOURCE_HISTORY_GONE(
            table=name, source=source, after=after, retention=retention
        )
    elif reason.code == TYPES_CHANGED:
        changes = reason.text
        error = conditions.SOURCE_TYPES_CHANGED(
            table=name, source=source, after=after, changes=changes
        )
    elif reason.code == "SOURCE_RECREATED":
        error = conditions.SOURCE_RECREATED(table=name, source=source, after=after)
    else:
        error = conditions.SOURCE_REWRITTEN(
            table=name, source=source, after=after, why=final.alternative
        )
    return error


def unchanged(
    environment: Environment,
    definition: ResolvedDefinition,
    analyzed: AnalyzedQuery,
    before: Positions,
    run: RefreshRun,
) -> bool:
    """Whether the logs show that what a query reads is the same at other positions.

    It is after commits that change properties, comments, columns that the query does not read, or
    the files of rows. The result may differ all the same without the positions of a source, and
    for a query with functions of time, with ones that are not deterministic, or with columns of
    files.
    """
    if before.keys() != run.positions.keys() or not _follows_rows(definition, analyzed):
        return False
    moved = {name: at for name, at in before.items() if not at.same_state(run.positions[name])}
    since = tuple((name, at) for name, at in moved.items() if isinstance(at, VersionedPosition))
    if len(since) < len(moved):
        return False
    spans = read_after(lambda span: span, reading(run, definition, analyzed), since)
    sources = environment.sources
    return len(spans) == len(since) and all(
        sources.keeps_rows(span) and not sources.changed_types(span) for span in spans.values()
    )


def _follows_rows(definition: ResolvedDefinition, analyzed: AnalyzedQuery) -> bool:
    """Whether the same rows of the sources always give the same result."""
    texts = (definition.expanded_query, *(view.query for view in analyzed.views))
    return not (
        analyzed.time_dependent
        or analyzed.nondeterministic
        or any(FILE_METADATA in text.lower() for text in texts)
    )


def has_moved(table: StoredTable, analyzed: AnalyzedQuery, run: RefreshRun) -> bool:
    """Whether the position of a followed source differs from the one that the rows reflect.

    Lookup tables do not count: their rows are those of the moment of each refresh.
    """
    if table.positions is None or analyzed.time_dependent:
        return True
    if strategy.redefined(table.positions, run.positions):
        return True
    followed = row_shape(table.definition.resolved, analyzed).followed
    known = positions_of(followed, table.positions)
    return known != positions_of(followed, run.positions) or len(known) != len(followed)
