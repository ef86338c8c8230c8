"""Strategy `recompute`: the query is computed over all source rows and replaces all rows.

It is possible for every table whose rows are those of its query over all source rows: without a
baseline, or with the baseline of an adopted table that cannot apply changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.strategies.strategy import (
    BATCH,
    FULL_MODE,
    INCREMENTAL,
    RECOMPUTE,
    Choice,
    Refusal,
)

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.strategies.strategy import RefreshInputs, TableFacts


NAME = RECOMPUTE
FULL = Choice(BATCH, RECOMPUTE, (FULL_MODE,))
"""The choice for every table in mode FULL, whatever its query."""


def possible(table: TableFacts) -> Choice | Refusal:
    """Return that all rows are computed, or that this would add rows that the start excludes.

    Without a reason of its own, a choice has those of the preferred strategy that was refused.
    """
    if table.is_full:
        return FULL
    baseline = table.baseline
    if baseline is not None and not (baseline.is_adopted and not table.applies_changes):
        text = "rows from before the baseline would come in, or rows that the table keeps would go"
        return Refusal.of(NAME, "BASELINE", text)
    return Choice(INCREMENTAL, RECOMPUTE)


def usable(table: TableFacts, own: Choice, inputs: RefreshInputs) -> Choice | Refusal:  # noqa: ARG001 - a port
    """Return the choice: all rows can always be computed."""
    return own
