"""Refreshes of tables one after the other, each told when it has ended."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.cli_progress import shown
from dbt.adapters.spark_mt.cli_status_table import span
from dbt.adapters.spark_mt.cli_tables import upstream_first
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.definition.identifier import TableName
from dbt.adapters.spark_mt.definition.job import JobStatus
from dbt.adapters.spark_mt.definition.modes import RefreshStatus
from dbt.adapters.spark_mt.execution.errors import TableNotFoundError, problem_of
from dbt.adapters.spark_mt.resolution.zones import parse_zone

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dbt.adapters.spark_mt.cli_refresh import RefreshChoice
    from dbt.adapters.spark_mt.cli_tables import LocalTables
    from dbt.adapters.spark_mt.execution.results import RefreshOutcome
    from dbt.adapters.spark_mt.service_client import Json, ManagerClient

FAILED = "FAILED"
SUBMITTED = "SUBMITTED"
"""The manager was asked, and nobody waited."""
GONE = "GONE"
"""The registry knows a table that is there no more."""
_PATTERN = "yyyy-MM-dd HH:mm:ss"
_PRECISE_BELOW_S = 60.0
_FIRST_LOOK_S, _LONGEST_PAUSE_S = 0.2, 2.0


@dataclass(frozen=True, slots=True)
class Refreshed:
    """How the refresh of one table ended.

    Args:
        status: REFRESHED, UP_TO_DATE, FAILED, CANCELED, SUBMITTED or GONE.
        job_id: As in SHOW JOBS; empty where none was begun.
        rows: Rows written, where they were counted.
        error: Why it failed; empty otherwise.
    """

    table: str
    status: str
    job_id: str = ""
    rows: int | None = None
    duration_ms: int | None = None
    strategy: str = ""
    partitions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    error: str = ""

    @property
    def has_failed(self) -> bool:
        """Whether the table is not as fresh as it was asked to be."""
        return bool(self.error)

    @property
    def line(self) -> str:
        """The refresh in one line."""
        rows = "" if self.rows is None else f" {self.rows} rows"
        parts = f" in {', '.join(self.partitions)}" if self.partitions else ""
        took = "" if self.duration_ms is None else f" ({_took(self.duration_ms)})"
        return f"{self.table}: {self.status}{rows}{parts}{took}"

    def as_dict(self) -> dict[str, Any]:
        """Return values that JSON knows."""
        return asdict(self)


def _took(duration_ms: int) -> str:
    seconds = duration_ms / 1000
    return span(seconds) if seconds >= _PRECISE_BELOW_S else f"{seconds:.1f} s"


def in_session(tables: LocalTables, choice: RefreshChoice) -> Iterator[Refreshed]:
    """Refresh tables in this process."""
    names = choice.names
    if choice.every:
        listed = tables.in_order()
        names = tuple(each.name.sql for each in listed if each.status is RefreshStatus.ACTIVATED)
    for number, name in enumerate(names, 1):
        title = name.replace("`", "") if choice.every else name
        with shown(f"{number}/{len(names)} {title}", tables.progress):
            done = _in_session(tables, name, title, choice)
        yield done


def _in_session(tables: LocalTables, name: str, title: str, choice: RefreshChoice) -> Refreshed:
    """One that fails keeps no other from its turn."""
    try:
        outcome = tables.refresh(name, scheduled=choice.scheduled, force=choice.force)
    except TableNotFoundError as error:
        if choice.every:
            return Refreshed(title, GONE)
        return Refreshed(title, FAILED, error=str(error))
    except Exception as error:  # noqa: BLE001 - told, and the next table has its turn
        return Refreshed(title, FAILED, error=problem_of(error))
    return _refreshed(outcome)


def _refreshed(outcome: RefreshOutcome) -> Refreshed:
    return Refreshed(
        table=outcome.table,
        status=outcome.status.value,
        job_id=outcome.refresh_id,
        rows=outcome.rows,
        duration_ms=outcome.duration_ms,
        strategy=outcome.strategy,
        partitions=outcome.partitions,
        warnings=(*outcome.warnings, *([outcome.note] if outcome.note else [])),
    )


def through_manager(client: ManagerClient, choice: RefreshChoice) -> Iterator[Refreshed]:
    """Ask a manager for the refreshes, and wait for each."""
    names = _active(client.tables()) if choice.every else choice.names
    for number, name in enumerate(names, 1):
        title = name.replace("`", "") if choice.every else name
        with shown(f"{number}/{len(names)} {title}", lambda: None):
            try:
                done = _through_manager(client, name, title, choice)
            except MaterializedTableError as error:
                done = Refreshed(title, FAILED, error=str(error))
        yield done


def _active(tables: list[Json]) -> tuple[str, ...]:
    """The names of tables that are ACTIVATED, in backticks, upstream first."""
    order = upstream_first({table["name"]: table["reads"] for table in tables})
    status = {table["name"]: table["status"] for table in tables}
    active = [name for name in order if status[name] == RefreshStatus.ACTIVATED.value]
    return tuple(TableName.of(*name.split(".")).sql for name in active)


def _through_manager(
    client: ManagerClient, name: str, title: str, choice: RefreshChoice
) -> Refreshed:
    job_id = client.refresh(name, schedule_time=_time_text(client, name, choice), pattern=_PATTERN)
    if not choice.wait:
        return Refreshed(title, SUBMITTED, job_id)
    pause = _FIRST_LOOK_S
    while (job := client.job(job_id))["status"] == JobStatus.RUNNING.value:
        time.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE_S)
    return _of_job(job)


def _time_text(client: ManagerClient, name: str, choice: RefreshChoice) -> str | None:
    """The scheduled time in the table's own zone, which only the manager knows."""
    at = choice.scheduled
    if at is None:
        return None
    if at.tzinfo is not None:
        schedule = client.table(name)["view"]["schedule"] or {}
        at = at.astimezone(parse_zone(schedule.get("zone", "UTC")))
    return f"{at:%Y-%m-%d %H:%M:%S}"


def _of_job(job: Json) -> Refreshed:
    told: str = job["status"]
    words = {"FINISHED": "REFRESHED", "SKIPPED": "UP_TO_DATE"}
    ended = job["ended_at_ms"]
    return Refreshed(
        table=job["table"],
        status=words.get(told, told),
        job_id=job["job_id"],
        rows=job["rows"],
        duration_ms=None if ended is None else ended - job["started_at_ms"],
        error="" if told in words else job["error"] or f"it was {told.lower()}",
    )
