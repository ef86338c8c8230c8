"""Terminal table of `spark-mt status`, from the fields of `manager/views.py`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from dbt.adapters.spark_mt.cli.output import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from dbt.adapters.spark_mt.client.rest import Json


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
    "kept by",
    "now",
    "refreshed",
    "next run",
)
_NUMBERS = ("rows", "failed")
_LONGEST_PROBLEM = 2000
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def status_table(
    manager: Json | None, tables: Sequence[Json], now_ms: int, *, most: int | None = None
) -> RenderableType:
    """Return everything that a person wants to know at a glance.

    Args:
        manager: The manager's own view; None without one.
        tables: Every table.
        now_ms: The current instant, milliseconds since the epoch, UTC.
        most: How many tables there is room for; the ones that are worst off are shown.
    """
    shown = list(tables) if most is None or len(tables) <= most else worst(tables)[:most]
    prefix = common_prefix([table["name"] for table in tables])
    parts: list[RenderableType] = [Text(headline(manager, tables, now_ms), style="bold")]
    if tables:
        parts.append(_table(shown, prefix, now_ms))
    if len(shown) < len(tables):
        parts.append(Text(f"… and {len(tables) - len(shown)} more, none of them worse", "dim"))
    parts += [_problem(table, prefix) for table in shown if _problem_of(table)]
    return Group(*parts)


def headline(manager: Json | None, tables: Sequence[Json], now_ms: int) -> str:
    """Return in one line who keeps how many tables fresh, and how many are not."""
    counts = Counter(table["freshness_status"] for table in tables)
    parts = [f"{counts[key]} {word}" for key, (word, _) in _STATUSES.items() if counts[key]]
    count = (
        "no tables" if not tables else "1 table" if len(tables) == 1 else f"{len(tables)} tables"
    )
    who = "no manager" if manager is None else _manager(manager, now_ms)
    return f"{who} · {': '.join([count, ', '.join(parts)]) if parts else count}"


def _manager(manager: Json, now_ms: int) -> str:
    role = str(manager["role"]).lower()
    since = span((now_ms - manager["started_at_ms"]) / 1000)
    leader = f", led by {manager['leader']}" if manager["role"] == "STANDBY" else ""
    who = f"process {manager['pid']} on {manager['host']}, {role} for {since}{leader}"
    return f"manager: {who}, tick {manager['tick_seconds']:.2g} s"


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


def span(seconds: float) -> str:
    """Return a length of time for people, in its two largest units."""
    left = max(0, int(seconds))
    parts = []
    for size, unit in _UNITS:
        if left >= size:
            parts.append(f"{left // size} {unit}")
            left %= size
    return " ".join(parts[:2]) or "0 s"


def _table(tables: Sequence[Json], prefix: str, now_ms: int) -> Table:
    title = f"in {prefix[:-1]}" if prefix else None
    drawn = Table(title=title, title_justify="left", title_style="dim", box=None, pad_edge=False)
    for column in _COLUMNS:
        drawn.add_column(column, overflow="fold", header_style="dim", no_wrap=column != "table")
    for column in _NUMBERS:
        drawn.add_column(column, justify="right", header_style="dim", no_wrap=True)
    for table in tables:
        drawn.add_row(*_row(table, prefix, now_ms))
    return drawn


def _row(table: Json, prefix: str, now_ms: int) -> list[Text]:
    word, style = _STATUSES.get(table["freshness_status"], (table["freshness_status"], ""))
    lag, rows, failures = table["lag_seconds"], table["rows"], table["failures"]
    return [
        Text(plain(table["name"].removeprefix(prefix)), "bold"),
        Text(word, style),
        Text("" if lag is None else span(lag)),
        Text(span(table["allowed_lag_seconds"] or table["freshness_seconds"])),
        Text(table["refresh_mode"].lower()),
        Text("/".join(part for part in (table["engine"], table["strategy"]) if part)),
        Text(plain(table["activity"])),
        Text(_since(table["last_refresh_at_ms"], now_ms)),
        Text(_until(table["next_run_at_ms"], now_ms)),
        Text("" if rows is None else f"{rows:,}"),
        Text(str(failures) if failures else "", "bold red"),
    ]


def _since(at_ms: int | None, now_ms: int) -> str:
    return "never" if at_ms is None else f"{span((now_ms - at_ms) / 1000)} ago"


def _until(at_ms: int | None, now_ms: int) -> str:
    if at_ms is None:
        return ""
    return "now" if at_ms <= now_ms else f"in {span((at_ms - now_ms) / 1000)}"


def _problem_of(table: Json) -> str:
    return str(table["problem"] or table["status_reason"])


def _problem(table: Json, prefix: str) -> Text:
    text = plain(_problem_of(table))
    cut = text if len(text) <= _LONGEST_PROBLEM else f"{text[: _LONGEST_PROBLEM - 1]}…"
    name = plain(table["name"].removeprefix(prefix))
    style = "red" if table["failures"] else "yellow"
    return Text.assemble("\n", (name, "bold"), ": ", (cut, style))
