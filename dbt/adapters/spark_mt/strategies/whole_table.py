"""Strategies `recompute` and `window`: all rows are computed, and replace all rows.

`recompute` reads all source rows. It is possible for every table whose rows are those of its query
over all source rows: without a baseline, or with the baseline of an adopted table that cannot apply
changes.

`window` reads the source rows since the start of the table. It keeps a table whose baseline kept no
older rows (START_MODE), whatever its query does. Its cost grows with what the sources gained since
the start, and their logs must reach back to it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.positions import BEFORE_ALL, ChangeKind, VersionedPosition
from dbt.adapters.spark_mt.strategies import reasons, strategy
from dbt.adapters.spark_mt.strategies.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dbt.adapters.spark_mt.definition.positions import (
        Baseline,
        Position,
        Positions,
        SourcePositions,
    )
    from dbt.adapters.spark_mt.strategies.strategy import RefreshInputs
    from dbt.adapters.spark_mt.strategies.table_facts import TableFacts


FULL = strategy.Choice(strategy.BATCH, strategy.RECOMPUTE, (reasons.FULL_MODE,))
"""The choice for every table in mode FULL, whatever its query."""
_WHOLE = "the query is computed over the rows since the baseline as a whole"
_REDEFINED = "a changed view makes all rows since the baseline be computed again"


def _can_recompute(table: TableFacts) -> strategy.Choice | strategy.Refusal:
    """Return that all rows are computed, or that this would add rows that the start excludes.

    Without a reason of its own, a choice has those of the preferred strategy that was refused.
    """
    if table.is_full:
        return FULL
    baseline = table.baseline
    if baseline is not None and not (baseline.is_adopted and not table.applies_changes):
        text = "rows from before the baseline would come in, or rows that the table keeps would go"
        return strategy.Refusal.of(strategy.RECOMPUTE, "BASELINE", text)
    return strategy.Choice(strategy.INCREMENTAL, strategy.RECOMPUTE)


def _recomputed(table: TableFacts, own: strategy.Choice, inputs: RefreshInputs) -> strategy.Choice:  # noqa: ARG001 - a port
    """Return that all rows are computed, which they always can be."""
    read = (each.source_rows for each in inputs.refused if each.source_rows is not None)
    return replace(own, source_rows=next(read, None))


def _can_start(table: TableFacts) -> strategy.Choice | strategy.Refusal:
    """Return that rows are computed since the baseline, or why the definition forbids it."""
    if problem := next(_start_problems(table), None):
        return strategy.Refusal(strategy.WINDOW, (problem,))
    since = Reason("SINCE_START", "", "all rows are computed over the source rows since its start")
    positions = table.baseline.positions if table.baseline else None
    return strategy.Choice(
        strategy.INCREMENTAL,
        strategy.WINDOW,
        (since, *strategy.follows(table.followed)),
        since=positions,
    )


def _start_problems(table: TableFacts) -> Iterator[Reason]:
    if table.is_full:
        yield reasons.FULL_MODE
    if table.baseline is None:
        yield Reason(reasons.NO_BASELINE, "", "the table counts all source rows")
    if table.keeps_rows:
        yield Reason("KEPT_ROWS", "", "the table keeps rows from before its baseline")
    if table.whole is not None:
        yield table.whole


def _since_start(
    table: TableFacts, own: strategy.Choice, inputs: RefreshInputs
) -> strategy.Choice | strategy.Refusal:
    """Return the window, or why the rows since the baseline are not known any more."""
    if inputs.request is strategy.Request.FILL or table.baseline is None:
        return own
    return _lost(table, table.baseline, inputs) or own


def _lost(table: TableFacts, baseline: Baseline, inputs: RefreshInputs) -> strategy.Refusal | None:
    known = {name for name, _ in baseline.positions}
    missing = [name for name in table.shape.followed if name not in known]
    if missing:
        return replace(strategy.unread(strategy.WINDOW, missing), is_final=True)
    for name, last in _beginnings(baseline, inputs.positions or {}):
        if not inputs.is_readable(((name, last),)):
            text = f"{name} was dropped and created again"
            refusal = strategy.Refusal.of(strategy.WINDOW, "SOURCE_RECREATED", text, name)
            return replace(refusal, is_final=True, since=((name, last),))
    since = baseline.positions
    return strategy.retyped(strategy.WINDOW, inputs, since, is_final=True) or _rewritten(
        inputs, since
    )


def _rewritten(inputs: RefreshInputs, since: SourcePositions) -> strategy.Refusal | None:
    if reasons := tuple(strategy.disallowed(inputs.changes(since), ChangeKind.ADDED)):
        return strategy.Refusal(strategy.WINDOW, reasons, True, since, _why(inputs.refused))  # noqa: FBT003 - readable
    return None


def _beginnings(
    baseline: Baseline, positions: Positions
) -> tuple[tuple[str, VersionedPosition], ...]:
    """Return the last positions in sources that count from their beginning.

    A beginning has no identity by which another table of the same name could be recognised.
    """
    last: dict[str, Position | None] = {
        name: positions.get(name) for name, after in baseline.positions if after == BEFORE_ALL
    }
    return tuple((name, at) for name, at in last.items() if isinstance(at, VersionedPosition))


def _why(refused: Sequence[strategy.Refusal]) -> str:
    """Say why all rows since the baseline are needed: what preferred strategies were refused."""
    if any(reason.code == "VIEW_CHANGED" for refusal in refused for reason in refusal.reasons):
        return _REDEFINED
    return next((r.alternative for r in reversed(refused) if r.alternative), _WHOLE)


RECOMPUTING = strategy.Strategy(strategy.RECOMPUTE, _can_recompute, _recomputed)
SINCE_START = strategy.Strategy(strategy.WINDOW, _can_start, _since_start)


def advice(choice: strategy.Choice, shape_reason: str, retention: str) -> tuple[str, ...]:
    """Return what a table needs that is computed over all source rows since its start.

    Args:
        choice: How the table is kept.
        shape_reason: The code why its query is no row-wise one; empty for a row-wise query.
        retention: What says how long the commits of the sources can be read.
    """
    if choice.strategy != strategy.WINDOW or not choice.since:
        return ()
    names = ", ".join(name for name, _ in choice.since)
    history = (
        f"Each refresh reads what was added to {names} since the start: their {retention} must "
        "reach back to it."
    )
    if shape_reason != "JOIN":
        return (history,)
    joined = (
        f"Older rows of {names} take no part in its joins; a table that is joined FOR SYSTEM_TIME "
        "AS OF proctime() is read whole."
    )
    return (history, joined)
