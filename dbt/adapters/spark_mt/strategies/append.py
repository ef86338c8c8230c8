"""Strategy `append`: the query over the rows that sources gained adds rows to the table.

It needs a query in which every row of the result is made of one row of a source. The range of each
source ends at one state of all sources, so that the rows of one commit belong together.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.positions import ChangeKind, OffsetPosition
from dbt.adapters.spark_mt.resolution.stream_flow import Reason
from dbt.adapters.spark_mt.strategies.strategy import (
    APPEND,
    FULL_MODE,
    INCREMENTAL,
    ROW_WISE,
    SEVERAL_SOURCES,
    Choice,
    Refusal,
    Write,
    changes_since,
    disallowed,
    follows,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dbt.adapters.spark_mt.definition.positions import SourcePositions
    from dbt.adapters.spark_mt.strategies.strategy import RefreshInputs, TableFacts


NAME = APPEND
NO_KEY = "there is no PRIMARY KEY by which its rows could be found"


def possible(table: TableFacts) -> Choice | Refusal:
    """Return that rows are added, or why the definition forbids it."""
    if problem := next(_problems(table), None):
        return Refusal(NAME, (problem,))
    several = (SEVERAL_SOURCES,) if len(table.followed) > 1 else ()
    return Choice(INCREMENTAL, APPEND, (ROW_WISE, *several, *follows(table.followed)), Write.ADD)


def _problems(table: TableFacts) -> Iterator[Reason]:
    if table.is_full:
        yield FULL_MODE
    if table.whole is not None:
        yield table.whole
    if not table.is_row_wise:
        yield table.not_row_wise
    if table.primary_key:
        text = "the table has a PRIMARY KEY, and added rows do not replace rows"
        yield Reason("PRIMARY_KEY", "", text)


def usable(table: TableFacts, own: Choice, inputs: RefreshInputs) -> Choice | Refusal:
    """Return after which positions rows are added, or why that would be wrong now.

    Rows that came and went since a baseline do no harm where the table keeps no older rows: all
    rows since the baseline can be computed again.
    """
    since = changes_since(NAME, table, inputs)
    if isinstance(since, Refusal):
        return since
    kinds = inputs.changes(since)
    reasons = tuple(disallowed(kinds, ChangeKind.ADDED))
    if not reasons:
        return replace(own, since=since)
    if table.baseline is None:
        lost = _of_logs(since, reasons)
        return Refusal(NAME, lost or reasons, bool(lost), since)
    may_recompute = not table.keeps_rows and ChangeKind.REMOVED in kinds.values()
    return Refusal(NAME, reasons, not may_recompute, since, NO_KEY)


def _of_logs(since: SourcePositions, reasons: Sequence[Reason]) -> tuple[Reason, ...]:
    """Return what happened to logs: computing all rows again would lose those that they dropped."""
    logs = {name for name, position in since if isinstance(position, OffsetPosition)}
    return tuple(reason for reason in reasons if reason.subject in logs)
