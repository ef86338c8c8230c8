"""`spark-mt status`: status, lag and newest refresh of every table, as a table for terminals."""

from __future__ import annotations

import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import click

from dbt.adapters.spark_mt.cli import options, output
from dbt.adapters.spark_mt.definition.errors import ManagerUnreachableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.console import Console, RenderableType

    from dbt.adapters.spark_mt.cli.options import ManagerChoice, SparkChoice
    from dbt.adapters.spark_mt.cli.session import Session
    from dbt.adapters.spark_mt.client.rest import Json, ManagerClient


_ROWS_AROUND = 6
"""Lines of a terminal that tables do not get."""
_LONGEST_PROBLEM = 2000
_STATUSES = {
    "LATE": ("LATE", "bold red"),
    "UNKNOWN": ("unknown", "yellow"),
    "MET": ("fresh", "green"),
    "NONE": ("suspended", "dim"),
}
"""How a freshness status is shown, the worst first."""
_COLUMNS = (
    "table",
    "freshness",
    "lag",
    "allowed",
    "mode",
    "engine",
    "now",
    "refreshed",
    "next run",
)
_NUMBERS = ("rows", "failed")


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


_choice_options = options.grouped(
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
@options.spark_options
@options.manager_options
@options.json_option
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
    client = options.manager_of(manager, spark)
    if client is not None:
        _follow(choice, lambda: _of_manager(client, choice), as_json=as_json, by_default=True)
        return
    click.echo("No manager found; reading the registry through Spark …", err=True)
    from dbt.adapters.spark_mt.cli.session import open_session  # noqa: PLC0415 - loads PySpark

    with open_session(options.place_of(spark)) as session:
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
        output.print_json({"manager": found.manager, "tables": found.tables})
        return
    output.console().print(status_table(found.manager, found.tables, _now_ms()))


def _live(look: Callable[[], Status], every: float) -> None:
    """Draw the table in place until Ctrl-C, also while the manager does not answer."""
    from rich.live import Live  # noqa: PLC0415 - only on a terminal

    screen = output.console()
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

    most = max(1, screen.height - _ROWS_AROUND)
    table = status_table(found.manager, found.tables, _now_ms(), most=most)
    return Group(Text(away, "bold red"), table) if away else table


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def status_table(
    manager: Json | None, tables: Sequence[Json], now_ms: int, *, most: int | None = None
) -> RenderableType:
    """Return everything that a person wants to know at a glance, from `manager/views.py`.

    Args:
        manager: The manager's own view; None without one.
        tables: Every table.
        now_ms: Milliseconds since the epoch, UTC.
        most: How many tables there is room for; the ones that are worst off are shown.
    """
    from rich.console import Group  # noqa: PLC0415 - keeps --help fast
    from rich.table import Table  # noqa: PLC0415 - as above
    from rich.text import Text  # noqa: PLC0415 - as above

    shown = list(tables) if most is None or len(tables) <= most else worst(tables)[:most]
    prefix = common_prefix([table["name"] for table in tables])
    parts: list[RenderableType] = [Text(headline(manager, tables, now_ms), style="bold")]
    if tables:
        title = f"in {prefix[:-1]}" if prefix else None
        drawn = Table(
            title=title, title_justify="left", title_style="dim", box=None, pad_edge=False
        )
        for column in _COLUMNS:
            drawn.add_column(column, overflow="fold", header_style="dim", no_wrap=column != "table")
        for column in _NUMBERS:
            drawn.add_column(column, justify="right", header_style="dim", no_wrap=True)
        for table in shown:
            drawn.add_row(*(Text(*cell) for cell in _cells(table, prefix, now_ms)))
        parts.append(drawn)
    if len(shown) < len(tables):
        parts.append(Text(f"… and {len(tables) - len(shown)} more, none of them worse", "dim"))
    for table in shown:
        verified = (table.get("verification") or {}).get("problem", "")
        if problem := output.plain(table["problem"] or table["status_reason"] or verified):
            fits = len(problem) <= _LONGEST_PROBLEM
            text = problem if fits else f"{problem[: _LONGEST_PROBLEM - 1]}…"
            name = output.plain(table["name"].removeprefix(prefix))
            style = "red" if table["failures"] else "yellow"
            parts.append(Text.assemble("\n", (name, "bold"), ": ", (text, style)))
    return Group(*parts)


def headline(manager: Json | None, tables: Sequence[Json], now_ms: int) -> str:
    """Return in one line who keeps how many tables fresh, and how many are not."""
    counts = Counter(table["freshness_status"] for table in tables)
    parts = [f"{counts[key]} {word}" for key, (word, _) in _STATUSES.items() if counts[key]]
    count = f"{len(tables) or 'no'} table{'' if len(tables) == 1 else 's'}"
    who = "no manager"
    if manager is not None:
        role = str(manager["role"]).lower()
        since = output.span((now_ms - manager["started_at_ms"]) / 1000)
        leader = f", led by {manager['leader']}" if manager["role"] == "STANDBY" else ""
        who = f"process {manager['pid']} on {manager['host']}, {role} for {since}{leader}"
        who = f"manager: {who}, tick {manager['tick_seconds']:.2g} s"
    return f"{who} · {': '.join([count, ', '.join(parts)]) if parts else count}"


def worst(tables: Sequence[Json]) -> list[Json]:
    """Return the tables by how badly they do, the worst first, else in their order."""
    ranks = {key: rank for rank, key in enumerate(_STATUSES)}
    return sorted(
        tables,
        key=lambda table: (not table["failures"], ranks.get(table["freshness_status"], len(ranks))),
    )


def common_prefix(names: Sequence[str]) -> str:
    """Return the catalog, or catalog and schema, that all names begin with, with its last dot."""
    split = [name.split(".")[:-1] for name in names]
    shared = []
    for parts in zip(*split, strict=False):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    return "".join(f"{part}." for part in shared)


def _cells(table: Json, prefix: str, now_ms: int) -> Iterator[tuple[str, str]]:
    """Yield text and style of each cell of a table's row."""
    lag, rows, failures = table["lag_seconds"], table["rows"], table["failures"]
    last, following = table["last_refresh_at_ms"], table["next_run_at_ms"]
    yield output.plain(table["name"].removeprefix(prefix)), "bold"
    yield _STATUSES.get(table["freshness_status"], (table["freshness_status"], ""))
    yield "" if lag is None else output.span(lag), ""
    yield output.span(table["allowed_lag_seconds"] or table["freshness_seconds"]), ""
    yield table["refresh_mode"].lower(), ""
    yield "/".join(part for part in (table["engine"], table["strategy"]) if part), ""
    yield output.plain(table["activity"]), ""
    yield "never" if last is None else f"{output.span((now_ms - last) / 1000)} ago", ""
    if following is None:
        yield "", ""
    else:
        yield "now" if following <= now_ms else f"in {output.span((following - now_ms) / 1000)}", ""
    yield "" if rows is None else f"{rows:,}", ""
    yield str(failures) if failures else "", "bold red"
