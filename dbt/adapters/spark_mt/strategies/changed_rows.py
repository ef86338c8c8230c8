"""Strategies `append` and `merge`: only rows that follow from changed source rows are computed.

`append` adds the rows that the query makes of the rows that sources gained. Every row of its result
must be made of one row of a source. The range of each source ends at one state of all sources, so
that the rows of one commit belong together.

`merge` computes the rows whose key the changes touch, over all source data. It needs a PRIMARY KEY
that is what the query groups by, or rows that are made of one source row each. It keeps a table
with a baseline, whose other rows stay.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.positions import ChangeKind, OffsetPosition, positions_of
from dbt.adapters.spark_mt.strategies import reasons, strategy
from dbt.adapters.spark_mt.strategies.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dbt.adapters.spark_mt.definition.positions import SourcePositions
    from dbt.adapters.spark_mt.strategies.strategy import RefreshInputs
    from dbt.adapters.spark_mt.strategies.table_facts import TableFacts


NO_KEY = "there is no PRIMARY KEY by which its rows could be found"


def _can_append(table: TableFacts) -> strategy.Choice | strategy.Refusal:
    if problem := next(_append_problems(table), None):
        return strategy.Refusal(strategy.APPEND, (problem,))
    several = (reasons.SEVERAL_SOURCES,) if len(table.followed) > 1 else ()
    return strategy.Choice(
        strategy.INCREMENTAL,
        strategy.APPEND,
        (reasons.ROW_WISE, *several, *strategy.follows(table.followed)),
        strategy.Write.ADD,
    )


def _append_problems(table: TableFacts) -> Iterator[Reason]:
    if table.is_full:
        yield reasons.FULL_MODE
    if table.whole is not None:
        yield table.whole
    if not table.is_row_wise:
        yield table.not_row_wise
    if table.primary_key:
        text = "the table has a PRIMARY KEY, and added rows do not replace rows"
        yield Reason("PRIMARY_KEY", "", text)


def _appended(
    table: TableFacts, own: strategy.Choice, inputs: RefreshInputs
) -> strategy.Choice | strategy.Refusal:
    """Return after which positions rows are added, or why that would be wrong now.

    Rows that came and went since a baseline do no harm where the table keeps no older rows: all
    rows since the baseline can be computed again.
    """
    since = _changes_since(strategy.APPEND, table, inputs)
    if isinstance(since, strategy.Refusal):
        return since
    kinds = inputs.changes(since)
    reasons = tuple(strategy.disallowed(kinds, ChangeKind.ADDED))
    if not reasons:
        return replace(own, since=since)
    if table.baseline is None:
        lost = _of_logs(since, reasons)
        return strategy.Refusal(strategy.APPEND, lost or reasons, bool(lost), since)
    may_recompute = not table.keeps_rows and ChangeKind.REMOVED in kinds.values()
    return strategy.Refusal(strategy.APPEND, reasons, not may_recompute, since, NO_KEY)


def _of_logs(since: SourcePositions, reasons: Sequence[Reason]) -> tuple[Reason, ...]:
    """Return what happened to logs: computing all rows again would lose those that they dropped."""
    logs = {name for name, position in since if isinstance(position, OffsetPosition)}
    return tuple(reason for reason in reasons if reason.subject in logs)


def _can_merge(table: TableFacts) -> strategy.Choice | strategy.Refusal:
    if problem := next(_merge_problems(table), None):
        return strategy.Refusal(strategy.MERGE, (problem,))
    text = "rows of the keys that changes touch are computed over all source data"
    reasons = (Reason("TOUCHED_KEYS", "", text), *strategy.follows(table.followed))
    return strategy.Choice(strategy.INCREMENTAL, strategy.MERGE, reasons, strategy.Write.KEYS)


def _merge_problems(table: TableFacts) -> Iterator[Reason]:
    if table.is_full:
        yield reasons.FULL_MODE
    if table.baseline is None:
        yield Reason(reasons.NO_BASELINE, "", "the table counts all source rows")
    if table.whole is not None:
        yield table.whole
    if table.is_row_wise:
        if not table.primary_key:
            yield Reason("NO_KEY", "", "the table has no PRIMARY KEY")
        return
    if not table.is_keyed:
        yield table.not_row_wise
    if not table.keeps_rows:
        text = "its totals of all source rows would mix with totals since the baseline"
        yield Reason("BASELINE", "", text)


def _merged(
    table: TableFacts, own: strategy.Choice, inputs: RefreshInputs
) -> strategy.Choice | strategy.Refusal:
    """Return after which positions the changes count, or why they cannot be applied.

    Where no row changed, an append without rows records the new positions.
    """
    since = _changes_since(strategy.MERGE, table, inputs)
    if isinstance(since, strategy.Refusal):
        return since
    kinds = inputs.changes(since)
    if reasons := tuple(strategy.disallowed(kinds, ChangeKind.ADDED, ChangeKind.REMOVED)):
        return strategy.Refusal(strategy.MERGE, reasons, is_final=True, since=since)
    if set(kinds.values()) <= {ChangeKind.NONE}:
        nothing = Reason("NO_CHANGE", "", "no row of its sources changed")
        return replace(
            own, strategy=strategy.APPEND, reasons=(nothing,), write=strategy.Write.ADD, since=since
        )
    return replace(own, since=since)


def _changes_since(
    candidate: str, table: TableFacts, inputs: RefreshInputs
) -> SourcePositions | strategy.Refusal:
    """Return after which positions a refresh applies changes, or why it must not.

    A table with a baseline is never computed from all source rows: unknown positions end it.
    """
    forced = inputs.request is strategy.Request.FORCED and table.baseline is None
    if forced or inputs.request in (strategy.Request.FILL, strategy.Request.PARTITIONS):
        return strategy.all_rows(candidate, inputs)
    if inputs.redefined and not table.keeps_rows:
        return strategy.changed_views(candidate, inputs)
    since = positions_of(table.shape.followed, inputs.positions or {})
    known = {name for name, _ in since}
    missing = [name for name in table.shape.followed if name not in known]
    if missing:
        return replace(strategy.unread(candidate, missing), is_final=table.baseline is not None)
    return strategy.retyped(candidate, inputs, since, is_final=table.baseline is not None) or since


ADDING = strategy.Strategy(strategy.APPEND, _can_append, _appended)
MERGING = strategy.Strategy(strategy.MERGE, _can_merge, _merged)
