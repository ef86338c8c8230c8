"""What is wrong with a table, and what was changed about it by other means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.changes.drift import Drift, DriftKind, catalog_drift, state_drift
from dbt.adapters.spark_mt.definition.job import JobStatus
from dbt.adapters.spark_mt.definition.table_state import Damaged, StoredTable, Stranger, Unreadable
from dbt.adapters.spark_mt.execution.holds import KEPT_MS, instant, judged
from dbt.adapters.spark_mt.execution.lag import lag_seconds
from dbt.adapters.spark_mt.execution.stored import existing_table
from dbt.adapters.spark_mt.planning.properties import properties_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.definition.table_state import Found
    from dbt.adapters.spark_mt.execution.environment import Environment

_REPLACE = "CREATE OR REPLACE MATERIALIZED TABLE (in dbt --full-refresh) makes it anew"


@dataclass(frozen=True, slots=True)
class Lag:
    """How far a table lies behind its sources, and how far it may.

    Args:
        seconds: None when it is not known.
        freshness_seconds: What its freshness allows.
    """

    table: str
    seconds: int | None
    freshness_seconds: int


def lag_of(environment: Environment, name: TableName) -> Lag:
    """Measure the lag of a table now.

    Raises:
        MaterializedTableError: There is no such table, or its query is refused now.
    """
    full = environment.store.full_name(name)
    table = existing_table(environment, full)
    analyzed = environment.stored_analyzer.analyze_stored(table.definition.resolved)
    names = {str(source.name): source.name for source in analyzed.sources}
    lag = lag_seconds(table, names, environment.sources, environment.now_ms())
    return Lag(str(full), lag, table.definition.resolved.freshness.seconds)


def drift_of(environment: Environment, name: TableName) -> tuple[Drift, ...]:
    """Return what was changed about a table by other means than its definition.

    Nothing is changed by it, also not what a statement before left undone.
    """
    full = environment.store.full_name(name)
    return tuple(_drift(environment, full, environment.store.find(full)))


def health_problems(environment: Environment, name: TableName) -> tuple[str, ...]:
    """Return why a table is not healthy, one sentence each; nothing for a healthy one.

    Healthy is: it is there, ACTIVATED and as its definition says, nothing is left undone, and the
    last refresh that ended has not failed.
    """
    full = environment.store.full_name(name)
    found = environment.store.find(full)
    drifts = _drift(environment, full, found)
    matters = [d for d in drifts if d.kind.matters or d.kind is DriftKind.UNFINISHED]
    return (*map(str, matters), *_failures(environment, full))


def _drift(environment: Environment, name: TableName, found: Found) -> Iterator[Drift]:
    match found:
        case StoredTable():
            yield from state_drift(found)
            yield from _against_catalog(environment, found)
        case Damaged():
            yield Drift(DriftKind.TABLE, f"it was damaged: {found.problem}", _REPLACE)
        case Unreadable():
            problem = found.error.parameters.get("problem", found.error.condition)
            yield Drift(DriftKind.TABLE, f"its definition cannot be read: {problem}", _REPLACE)
        case Stranger():
            remedy = "drop it or give the model another name"
            yield Drift(DriftKind.TABLE, f"a {found.kind} has its name", remedy)
        case _:
            remedy = "the next run creates it"
            yield Drift(DriftKind.TABLE, f"there is no table {name}", remedy)


def _against_catalog(environment: Environment, table: StoredTable) -> Iterator[Drift]:
    definition = table.definition
    if table.published is not None and table.published != definition:
        what = "properties or comments do not follow its definition yet"
        yield Drift(DriftKind.UNFINISHED, what, "the next statement on the table finishes this")
        return
    facts = environment.observer.facts(table.name)
    yield from catalog_drift(definition, properties_of(definition), facts)


def _failures(environment: Environment, name: TableName) -> Iterator[str]:
    since = environment.now_ms() - KEPT_MS
    jobs = environment.conduct.log.jobs(name.catalog or "", since)
    ours = (judged(job, environment) for job in jobs if job.table == name)
    last = next((job for job in ours if job.status is not JobStatus.RUNNING), None)
    if last is not None and last.status is JobStatus.FAILED:
        yield f"the refresh of {instant(last.started_at_ms)} failed ({last.job_id}): {last.error}"
