"""`spark-mt refresh`: refreshes tables, through the manager or in this process."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dbt.adapters.spark_mt.cli import options, output
from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.definition import StoredTable
from dbt.adapters.spark_mt.definition.errors import (
    ManagerUnreachableError,
    MaterializedTableError,
    TableNotFoundError,
)
from dbt.adapters.spark_mt.definition.job import JobStatus
from dbt.adapters.spark_mt.definition.modes import RefreshStatus
from dbt.adapters.spark_mt.execution.errors import problem_of
from dbt.adapters.spark_mt.planning.lineage import upstream_first
from dbt.adapters.spark_mt.resolution.time_zones import parse_zone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dbt.adapters.spark_mt.api import MaterializedTables
    from dbt.adapters.spark_mt.cli.options import ManagerChoice, Place, SparkChoice
    from dbt.adapters.spark_mt.cli.session import Session
    from dbt.adapters.spark_mt.client.rest import Json, ManagerClient


FAILED = "FAILED"
SUBMITTED = "SUBMITTED"
"""The manager was asked, and the command did not wait."""
GONE = "GONE"
"""The registry knows a table that is there no more."""
_PATTERN = "yyyy-MM-dd HH:mm:ss"
_PRECISE_BELOW_S = 60.0
_FIRST_POLL_S, _LONGEST_PAUSE_S = 0.2, 2.0
_POLL_TIMEOUT_S, _SAY_EVERY_S, _SILENT_FOR_S = 10.0, 60.0, 600.0


@dataclass(frozen=True, slots=True)
class RefreshChoice:
    """What to refresh, and how.

    Args:
        names: Of tables.
        every: Whether all tables of the catalog that are ACTIVATED.
        scheduled: The scheduled time of a run that a scheduler starts.
        force: Whether to compute rows even if no source has moved.
        once: Whether to do it in this process, whoever else could.
        wait: Whether to wait for the manager's refreshes.
    """

    names: tuple[str, ...] = ()
    every: bool = False
    scheduled: datetime | None = None
    force: bool = False
    once: bool = False
    wait: bool = True

    @property
    def is_here(self) -> bool:
        """Whether it must be done in this process."""
        return self.once or self.force

    def check(self, url: str | None) -> None:
        """Check the choices against each other, and the URL of the manager that is named.

        Raises:
            UsageError: They do not go together.
        """
        problem = ""
        if bool(self.names) == self.every:
            problem = "name tables, or give --all"
        elif self.scheduled is not None and (self.force or self.every):
            problem = "--scheduled goes with names, and not with --force"
        elif self.is_here and (url is not None or not self.wait):
            problem = (
                "--once and --force refresh in this process; --url and --no-wait ask a manager"
            )
        if problem:
            raise click.UsageError(problem)


def _instant(ctx: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    """Read an instant as in ISO 8601, with or without an offset."""
    if value is None:
        return None
    text = value.strip()
    try:
        return datetime.fromisoformat(f"{text[:-1]}+00:00" if text[-1:] in {"z", "Z"} else text)
    except ValueError as error:
        message = f"{text!r} is no instant such as 2026-03-02T01:00:00"
        raise click.BadParameter(message, ctx, param) from error


_choice_options = options.grouped(
    "choice",
    RefreshChoice,
    click.argument("names", nargs=-1),
    click.option("--all", "every", is_flag=True, help="All tables of the catalog in their order."),
    click.option(
        "--scheduled",
        callback=_instant,
        metavar="TIMESTAMP",
        help="The scheduled time; without an offset it is in the table's time zone. A table with "
        "date formatters then gets the partitions of the period before it.",
    ),
    click.option("--force", is_flag=True, help="Compute rows even if no source has moved."),
    click.option("--once", is_flag=True, help="In this process, without asking a manager."),
    click.option("--wait/--no-wait", default=True, help="Wait for the manager's refreshes."),
)


@click.command(short_help="Bring tables up to date.")
@_choice_options
@options.spark_options
@options.manager_options
@options.json_option
def refresh(
    choice: RefreshChoice,
    spark: SparkChoice,
    manager: ManagerChoice,
    as_json: bool,  # noqa: FBT001 - click gives flags by name
) -> None:
    """Bring the tables NAMES up to date, or all that are ACTIVATED.

    With --all, each table comes after those that it reads. One that fails keeps no other from its
    turn; the command then ends with 1 and names it. Asks the manager; without one, or with --once
    or --force, it refreshes in a Spark session: all that cron or CI needs is

        spark-mt refresh --once --all
    """
    choice.check(manager.url)
    client = None if choice.is_here else options.manager_of(manager, spark)
    if client is not None:
        place = options.Place(Path()) if manager.url else options.place_of(spark)
        _report(through_manager(client, choice, place), as_json=as_json)
        return
    if not choice.wait:
        raise click.UsageError("--no-wait needs a manager, and none was found")  # noqa: EM101, TRY003 - click's error class takes a text
    from dbt.adapters.spark_mt.cli.session import open_session  # noqa: PLC0415 - loads PySpark

    with open_session(options.place_of(spark)) as session:
        _report(in_session(session, choice), as_json=as_json)


def _report(refreshes: Iterable[Refreshed], *, as_json: bool) -> None:
    """Print each refresh as soon as it has ended, and at last those that failed."""
    done = []
    for each in refreshes:
        if not as_json:
            click.echo(output.plain(each.line))
        for warning in each.warnings:
            click.echo(output.plain(f"{each.table}: {warning}"), err=True)
        done.append(each)
    if as_json:
        output.print_json([asdict(each) for each in done])
    failed = [(each.table, each.error) for each in done if each.error]
    if not as_json:
        click.echo(f"{len(done)} table{'' if len(done) == 1 else 's'}, {len(failed)} failed")
    output.end_with_failures(failed)


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
    def line(self) -> str:
        """The refresh in one line."""
        rows = "" if self.rows is None else f" {self.rows} rows"
        parts = f" in {', '.join(self.partitions)}" if self.partitions else ""
        took = ""
        if self.duration_ms is not None:
            seconds = self.duration_ms / 1000
            text = output.span(seconds) if seconds >= _PRECISE_BELOW_S else f"{seconds:.1f} s"
            took = f" ({text})"
        return f"{self.table}: {self.status}{rows}{parts}{took}"


def in_session(session: Session, choice: RefreshChoice) -> Iterator[Refreshed]:
    """Refresh tables in this process."""
    names = tuple(name.sql for name in _active_of(session)) if choice.every else choice.names
    for number, name in enumerate(names, 1):
        title = name.replace("`", "") if choice.every else name
        with output.shown(f"{number}/{len(names)} {title}", session.progress):
            done = _in_session(session.tables, name, title, choice)
        yield done


def _active_of(session: Session) -> tuple[TableName, ...]:
    """The ACTIVATED tables of the catalog, each after those that it reads."""
    environment = session.tables.environment
    environment.store.forget()
    known = environment.registry.tables(session.catalog)
    found = {each.name: (each.status, each.reads) for each in known}
    for name in environment.registry.known(session.catalog):
        table = None if name in found else environment.store.find(name)
        if isinstance(table, StoredTable):
            found[name] = (table.definition.status, tuple(sorted(table.positions or {})))
    names = {str(name): name for name in sorted(found, key=str)}
    order = upstream_first({text: found[name][1] for text, name in names.items()})
    active = RefreshStatus.ACTIVATED
    return tuple(names[text] for text in order if found[names[text]][0] is active)


def _in_session(
    tables: MaterializedTables, name: str, title: str, choice: RefreshChoice
) -> Refreshed:
    """Refresh one table; its failure is an outcome."""
    try:
        outcome = tables.refresh(name, scheduled_at=choice.scheduled, force=choice.force)
    except TableNotFoundError as error:
        if choice.every:
            return Refreshed(title, GONE)
        return Refreshed(title, FAILED, error=str(error))
    except Exception as error:  # noqa: BLE001 - reported, and the next table is refreshed
        return Refreshed(title, FAILED, error=problem_of(error))
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


def through_manager(
    client: ManagerClient, choice: RefreshChoice, place: Place
) -> Iterator[Refreshed]:
    """Ask a manager for the refreshes, and wait for each; names are those of `place`."""
    names = choice.names
    if choice.every:
        tables = client.tables()
        order = upstream_first({table["name"]: table["reads"] for table in tables})
        status = {table["name"]: table["status"] for table in tables}
        active = [name for name in order if status[name] == RefreshStatus.ACTIVATED.value]
        names = tuple(TableName.of(*name.split(".")).sql for name in active)
    for number, name in enumerate(names, 1):
        title = name.replace("`", "") if choice.every else name
        with output.shown(f"{number}/{len(names)} {title}", lambda: None):
            try:
                done = _through_manager(client, _full_name(name, place), title, choice)
            except MaterializedTableError as error:
                done = Refreshed(title, FAILED, error=str(error))
        yield done


def _full_name(text: str, place: Place) -> str:
    """Complete a name with the schema and the catalog of the profile, as a session does."""
    if not place.schema:
        return text
    from dbt.adapters.spark_mt.statements.parser import parse_name  # noqa: PLC0415 - loads sqlglot

    name = parse_name(text)
    return TableName(name.name, name.schema or place.schema, name.catalog or place.catalog).sql


def _ended_job(
    client: ManagerClient,
    job_id: str,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> Json:
    """Wait for the end of a refresh that a manager runs, also while the manager is silent.

    Raises:
        ManagerUnreachableError: The manager is gone, or has been silent for long.
    """
    asking = replace(client, timeout_s=min(client.timeout_s, _POLL_TIMEOUT_S))
    seconds = _FIRST_POLL_S
    since = said = None
    while True:
        began = clock()
        try:
            job = asking.job(job_id)
        except ManagerUnreachableError as error:
            since = began if since is None else since
            if not error.is_silent or clock() - since > _SILENT_FOR_S:
                raise
            if said is None or clock() - said >= _SAY_EVERY_S:
                said = clock()
                click.echo(
                    f"Waiting for the manager at {client.url}, which has not answered for "
                    f"{output.span(said - since)}. Ctrl-C ends the wait, and not the refresh "
                    f"{job_id}.",
                    err=True,
                )
            continue
        since = said = None
        if job["status"] != JobStatus.RUNNING.value:
            return job
        pause(seconds)
        seconds = min(seconds * 1.5, _LONGEST_PAUSE_S)


def _through_manager(
    client: ManagerClient, name: str, title: str, choice: RefreshChoice
) -> Refreshed:
    at, text = choice.scheduled, None
    if at is not None:
        if at.tzinfo is not None:  # the manager takes a time in the table's own zone
            schedule = client.table(name)["view"]["schedule"] or {}
            at = at.astimezone(parse_zone(schedule.get("zone", "UTC")))
        text = f"{at:%Y-%m-%d %H:%M:%S}"
    job_id = client.refresh(name, schedule_time=text, pattern=_PATTERN)
    if not choice.wait:
        return Refreshed(title, SUBMITTED, job_id)
    job = _ended_job(client, job_id)
    status: str = job["status"]
    good = {"FINISHED": "REFRESHED", "SKIPPED": "UP_TO_DATE"}
    ended = job["ended_at_ms"]
    return Refreshed(
        table=job["table"],
        status=good.get(status, status),
        job_id=job["job_id"],
        rows=job["rows"],
        duration_ms=None if ended is None else ended - job["started_at_ms"],
        error="" if status in good else job["error"] or f"it was {status.lower()}",
    )
