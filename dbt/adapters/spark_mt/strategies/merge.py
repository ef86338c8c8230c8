"""Strategy `merge`: rows whose key the changes touch are computed over all source data.

It needs a PRIMARY KEY that is what the query groups by, or rows that are made of one source row
each. It keeps a table with a baseline, whose other rows stay.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.positions import ChangeKind
from dbt.adapters.spark_mt.resolution.stream_flow import Reason
from dbt.adapters.spark_mt.strategies.strategy import (
    APPEND,
    FULL_MODE,
    INCREMENTAL,
    MERGE,
    NO_BASELINE,
    Choice,
    Refusal,
    Write,
    changes_since,
    disallowed,
    follows,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dbt.adapters.spark_mt.strategies.strategy import RefreshInputs, TableFacts


NAME = MERGE


def possible(table: TableFacts) -> Choice | Refusal:
    """Return that rows are merged by key, or why the definition forbids it."""
    if problem := next(_problems(table), None):
        return Refusal(NAME, (problem,))
    text = "rows of the keys that changes touch are computed over all source data"
    reasons = (Reason("TOUCHED_KEYS", "", text), *follows(table.followed))
    return Choice(INCREMENTAL, MERGE, reasons, Write.KEYS)


def _problems(table: TableFacts) -> Iterator[Reason]:
    if table.is_full:
        yield FULL_MODE
    if table.baseline is None:
        yield Reason(NO_BASELINE, "", "the table counts all source rows")
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


def usable(table: TableFacts, own: Choice, inputs: RefreshInputs) -> Choice | Refusal:
    """Return after which positions the changes count, or why they cannot be applied.

    Where no row changed, an append without rows records the new positions.
    """
    since = changes_since(NAME, table, inputs)
    if isinstance(since, Refusal):
        return since
    kinds = inputs.changes(since)
    if reasons := tuple(disallowed(kinds, ChangeKind.ADDED, ChangeKind.REMOVED)):
        return Refusal(NAME, reasons, is_final=True, since=since)
    if set(kinds.values()) <= {ChangeKind.NONE}:
        nothing = Reason("NO_CHANGE", "", "no row of its sources changed")
        return replace(own, strategy=APPEND, reasons=(nothing,), write=Write.ADD, since=since)
    return replace(own, since=since)
