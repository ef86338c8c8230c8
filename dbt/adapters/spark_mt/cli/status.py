"""`spark-mt status`: status, lag and newest refresh of every table."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import click

from dbt.adapters.spark_mt.cli.options import grouped, json_option, manager_options, spark_options
from dbt.adapters.spark_mt.cli.output import console, print_json
from dbt.adapters.spark_mt.cli.profiles import place_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import Console, RenderableType

    from dbt.adapters.spark_mt.cli.options import ManagerChoice, SparkChoice
    from dbt.adapters.spark_mt.cli.tables import Session
    from dbt.adapters.spark_mt.client.rest import Json, ManagerClient


_ROWS_AROUND = 6
"""Lines of a terminal that tables do not get."""


@dataclass(frozen=True, slots=True)
class StatusChoice:
    """What to show, and how often.

    Args:
        names: Patterns with `*`; none for every table.
        watch: Whether to show it repeatedly; None to do so on a terminal.
        every: After how many seconds to look again.
        quick: Whether to leave the sources alone.
    """

    names: tuple[str, ...] = ()
    watch: bool | None = None
    every: float = 2.0
    quick: bool = False

    def fits(self, name: str) -> bool:
        """Whether a full name, or its end, fits one of the patterns."""
        parts = name.lower().split(".")
        ends = [".".join(parts[start:]) for start in range(len(parts))]
        return not self.names or any(
            fnmatchcase(end, pattern.lower()) for pattern in self.names for end in ends
        )


@dataclass(frozen=True, slots=True)
class Status:
    """What there is at one instant; `manager` is None without one."""

    manager: Json | None
    tables: Sequence[Json]


_choice_options = grouped(
    "choice",
    StatusChoice,
    click.argument("names", nargs=-1),
    click.option("--watch/--once", default=None, help="Repeat until Ctrl-C, or show it once."),
    click.option(
        "--every",
        type=click.FloatRange(min=0.2),
        default=2.0,
        show_default=True,
        help="Seconds between two looks.",
    ),
    click.option(
        "--quick", is_flag=True, help="Without a manager: do not look at sources to measure lags."
    ),
)


@click.command(short_help="Show how fresh every table is.")
@_choice_options
@spark_options
@manager_options
@json_option
def status(
    choice: StatusChoice,
    spark: SparkChoice,
    manager: ManagerChoice,
    as_json: bool,  # noqa: FBT001 - click gives flags by name
) -> None:
    """Show how fresh every table is, or those that fit NAMES (with * for any characters).

    Asks the manager; on a terminal it looks again until Ctrl-C. Without a manager it reads the
    registry in a Spark session and measures the lag of each table, which takes longer.
    """
    from dbt.adapters.spark_mt.cli.manager import manager_of  # noqa: PLC0415 - keeps --help fast

    client = manager_of(manager, spark)
    if client is not None:
        _follow(choice, lambda: _of_manager(client, choice), as_json=as_json, by_default=True)
        return
    click.echo("No manager found; reading the registry through Spark …", err=True)
    from dbt.adapters.spark_mt.cli.session import open_session  # noqa: PLC0415 - loads PySpark

    with open_session(place_of(spark)) as session:
        _follow(choice, lambda: _of_session(session, choice), as_json=as_json, by_default=False)


def _of_manager(client: ManagerClient, choice: StatusChoice) -> Status:
    return Status(client.about(), [t for t in client.tables() if choice.fits(t["name"])])


def _of_session(session: Session, choice: StatusChoice) -> Status:
    views = session.views(choice.fits, measure=not choice.quick)
    return Status(
        None, [{**asdict(view), "freshness_status": view.freshness_status.value} for view in views]
    )


def _follow(
    choice: StatusChoice, look: Callable[[], Status], *, as_json: bool, by_default: bool
) -> None:
    """Print once, or repeatedly until Ctrl-C."""
    on_terminal = sys.stdout.isatty() and not as_json
    watches = on_terminal and by_default if choice.watch is None else choice.watch
    if not watches:
        _print(look(), as_json=as_json)
        return
    try:
        if on_terminal:
            _live(look, choice.every)
        while True:
            _print(look(), as_json=as_json)
            time.sleep(choice.every)
    except KeyboardInterrupt:
        click.echo("", err=True)


def _print(found: Status, *, as_json: bool) -> None:
    if as_json:
        print_json({"manager": found.manager, "tables": found.tables})
        return
    from dbt.adapters.spark_mt.cli.status_table import status_table  # noqa: PLC0415 - loads rich

    console().print(status_table(found.manager, found.tables, _now_ms()))


def _live(look: Callable[[], Status], every: float) -> None:
    """Draw the table in place until Ctrl-C, also while the manager does not answer."""
    from rich.live import Live  # noqa: PLC0415 - only on a terminal

    from dbt.adapters.spark_mt.client.rest import ManagerUnreachableError  # noqa: PLC0415

    screen = console()
    last = look()
    with Live(_drawn(last, screen), console=screen, auto_refresh=False) as live:
        while True:
            live.refresh()
            time.sleep(every)
            try:
                last = look()
                live.update(_drawn(last, screen))
            except ManagerUnreachableError as error:
                live.update(_drawn(last, screen, str(error)))


def _drawn(found: Status, screen: Console, away: str = "") -> RenderableType:
    from rich.console import Group  # noqa: PLC0415 - only on a terminal
    from rich.text import Text  # noqa: PLC0415 - as above

    from dbt.adapters.spark_mt.cli.status_table import status_table  # noqa: PLC0415 - as above

    most = max(1, screen.height - _ROWS_AROUND)
    table = status_table(found.manager, found.tables, _now_ms(), most=most)
    return Group(Text(away, "bold red"), table) if away else table


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
