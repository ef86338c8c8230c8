"""`spark-mt refresh`: refreshes tables, through the manager or in this process."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import click

from dbt.adapters.spark_mt.cli.options import (
    RefreshChoice,
    grouped,
    json_option,
    manager_options,
    spark_options,
)
from dbt.adapters.spark_mt.cli.output import plain, print_json
from dbt.adapters.spark_mt.cli.profiles import place_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dbt.adapters.spark_mt.cli.options import ManagerChoice, SparkChoice
    from dbt.adapters.spark_mt.cli.tables import Refreshed


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
    from dbt.adapters.spark_mt.cli.manager import manager_of  # noqa: PLC0415 - keeps --help fast

    client = None if choice.is_here else manager_of(manager, spark)
    if client is not None:
        from dbt.adapters.spark_mt.cli.tables import through_manager  # noqa: PLC0415 - late

        _report(through_manager(client, choice), as_json=as_json)
        return
    if not choice.wait:
        raise click.UsageError("--no-wait needs a manager, and none was found")  # noqa: EM101, TRY003 - click's error class takes a text
    from dbt.adapters.spark_mt.cli.session import open_session  # noqa: PLC0415 - loads PySpark
    from dbt.adapters.spark_mt.cli.tables import in_session  # noqa: PLC0415 - loads the engine

    with open_session(place_of(spark)) as session:
        _report(in_session(session, choice), as_json=as_json)


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
