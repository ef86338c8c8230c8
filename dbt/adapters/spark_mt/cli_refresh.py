"""`spark-mt refresh`: brings tables up to date, through the manager or without one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import click

from dbt.adapters.spark_mt.cli_options import (
    grouped,
    json_option,
    manager_options,
    spark_options,
)
from dbt.adapters.spark_mt.cli_output import plain, print_json
from dbt.adapters.spark_mt.cli_profiles import place_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dbt.adapters.spark_mt.cli_options import ManagerChoice, SparkChoice
    from dbt.adapters.spark_mt.cli_refreshing import Refreshed


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
        """Check the choices against each other.

        Args:
            url: Of the manager that is to be asked.

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


_choice_options = grouped(
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
@spark_options
@manager_options
@json_option
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
    from dbt.adapters.spark_mt.cli_manager import manager_of  # noqa: PLC0415 - keeps --help fast

    client = None if choice.is_here else manager_of(manager, spark)
    if client is not None:
        from dbt.adapters.spark_mt.cli_refreshing import through_manager  # noqa: PLC0415 - late

        _report(through_manager(client, choice), as_json=as_json)
        return
    if not choice.wait:
        raise click.UsageError("--no-wait needs a manager, and none was found")  # noqa: EM101, TRY003 - click's error class takes a text
    from dbt.adapters.spark_mt.cli_refreshing import in_session  # noqa: PLC0415 - loads the engine
    from dbt.adapters.spark_mt.cli_spark import open_tables  # noqa: PLC0415 - loads PySpark

    with open_tables(place_of(spark)) as tables:
        _report(in_session(tables, choice), as_json=as_json)


def _report(refreshes: Iterable[Refreshed], *, as_json: bool) -> None:
    """Print each refresh as soon as it has ended, and at last those that failed."""
    done = list(_printed(refreshes, as_json=as_json))
    if as_json:
        print_json([each.as_dict() for each in done])
    failed = [each for each in done if each.has_failed]
    if not as_json:
        click.echo(f"{len(done)} table{'' if len(done) == 1 else 's'}, {len(failed)} failed")
    for each in failed:
        click.echo(click.style(f"{each.table} failed:", fg="red", bold=True), err=True)
        click.echo(plain(each.error), err=True)
    if failed:
        click.get_current_context().exit(1)


def _printed(refreshes: Iterable[Refreshed], *, as_json: bool) -> Iterator[Refreshed]:
    for each in refreshes:
        if not as_json:
            click.echo(plain(each.line))
        for warning in each.warnings:
            click.echo(plain(f"{each.table}: {warning}"), err=True)
        yield each
