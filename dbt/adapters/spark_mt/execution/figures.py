"""What a catalogue of tables, such as dbt's docs, shows of a materialized table. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dbt.adapters.spark_mt.execution.description import definition_rows, state_rows
from dbt.adapters.spark_mt.execution.show_create import instant
from dbt.adapters.spark_mt.resolution.zones import SESSION_TIME_ZONE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dbt.adapters.spark_mt.definition.table_state import StoredTable
    from dbt.adapters.spark_mt.execution.ports import RegistryEntry


class Figure(NamedTuple):
    """One fact.

    Args:
        label: Its name for people.
        value: The fact, for people.
        about: What it means.
    """

    label: str
    value: str
    about: str


_FROM_DESC = {
    "Freshness": "How far the table may lag behind its sources.",
    "Refresh mode": "Whether changes are followed, or the query is computed as a whole.",
    "Start mode": "From where on the sources are read.",
    "Status": "Whether refreshes run.",
}


def figures_of(
    table: StoredTable, entry: RegistryEntry | None, confs: Mapping[str, str]
) -> tuple[Figure, ...]:
    """Return what is known without looking at the table's sources.

    Args:
        table: The table.
        entry: Its row in the registry, for what only was true when it was recorded.
        confs: The reader's session.
    """
    rows = dict([*definition_rows(table.definition, confs), *state_rows(table, None, confs)])
    described = [Figure(label, rows[label], about) for label, about in _FROM_DESC.items()]
    return (*described, *_past(table, entry, confs), *_owner(table))


def _past(
    table: StoredTable, entry: RegistryEntry | None, confs: Mapping[str, str]
) -> Iterator[Figure]:
    if entry is not None and entry.lag_seconds is not None:
        recorded = _moment(entry.recorded_at_ms, confs)
        about = "How far the table lagged behind its sources when that was recorded last."
        yield Figure("Lag", f"{entry.lag_seconds} seconds at {recorded}", about)
    if (last := table.last_refresh) is not None:
        read_at = _moment(last.started_at_ms, confs)
        yield Figure("Last refresh", read_at, "When the sources were read for the table's rows.")
        yield Figure("Strategy", last.strategy, "How the last refresh computed the rows.")
        if last.rows is not None:
            yield Figure("Rows", str(last.rows), "Rows that the last refresh wrote.")


def _owner(table: StoredTable) -> Iterator[Figure]:
    owner = dict(table.definition.owner)
    if "dbt" in owner:
        yield Figure("Declared by", owner["dbt"], "The dbt node whose statement made the table.")


def _moment(at_ms: int, confs: Mapping[str, str]) -> str:
    return f"{instant(at_ms, confs)} {confs.get(SESSION_TIME_ZONE) or 'UTC'}"
