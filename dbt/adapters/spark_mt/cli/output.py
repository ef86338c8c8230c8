"""Output of commands: tables for people, JSON for programs, progress on a terminal.

Errors go to standard error.
"""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from datetime import date, datetime
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rich.console import Console

    from dbt.adapters.spark_mt.spark.launch.session import StageProgress


_WIDE = 4000
"""The width of output that is no terminal: each row is one line."""
_POLL_EVERY_S = 0.5
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def console(*, to_stderr: bool = False) -> Console:
    """A place to print on that takes every text as it is: no markup, no emoji."""
    from rich.console import Console  # noqa: PLC0415 - only when there is something to print

    file = sys.stderr if to_stderr else sys.stdout
    width = None if file.isatty() else _WIDE
    return Console(file=file, markup=False, emoji=False, highlight=False, width=width)


def print_rows(columns: Sequence[str], rows: Iterable[Sequence[object]], *, cut: bool) -> None:
    """Print the rows of a statement as a table."""
    from rich.table import Table  # noqa: PLC0415 - as above

    table = Table(*map(plain, columns), header_style="bold")
    for row in rows:
        table.add_row(*map(plain, row))
    console().print(table)
    if cut:
        click.echo("There are more rows; --limit shows them.", err=True)


def plain(value: object) -> str:
    """A value as text that does nothing to a terminal."""
    text = _text(value)
    return "".join(
        c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text
    )


def _text(value: object) -> str:
    match value:
        case None:
            text = "NULL"
        case bool():
            text = str(value).lower()
        case bytes() | bytearray():
            text = value.hex()
        case dict():
            text = ", ".join(f"{_text(k)}: {_text(v)}" for k, v in value.items())
        case list() | tuple():
            text = "; ".join(map(_text, value))
        case _:
            text = str(value)
    return text


def span(seconds: float) -> str:
    """Return a length of time for people, in its two largest units."""
    left = max(0, int(seconds))
    parts = []
    for size, unit in _UNITS:
        if left >= size:
            parts.append(f"{left // size} {unit}")
            left %= size
    return " ".join(parts[:2]) or "0 s"


def print_json(value: object) -> None:
    """Print a value as one JSON document in one line."""
    click.echo(json.dumps(value, default=_jsonable, ensure_ascii=False))


def _jsonable(value: object) -> Any:  # noqa: ANN401 - what `json.dumps` takes
    """What JSON has no form for: instants as in ISO 8601, bytes in hex, all else as text."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    return value.hex() if isinstance(value, bytes | bytearray) else str(value)


def print_error(error: BaseException) -> None:
    """Print what went wrong on standard error, without a stack."""
    condition, separator, rest = plain(error).partition("]")
    head = click.style(condition + separator, fg="red", bold=True) if separator else condition
    click.echo(head + rest, err=True)


def end_with_failures(failed: Iterable[tuple[str, str]]) -> None:
    """Print tables with what failed on standard error, and end with 1 if there are any."""
    status = 0
    for table, problem in failed:
        click.echo(click.style(f"{plain(table)} failed:", fg="red", bold=True), err=True)
        click.echo(plain(problem), err=True)
        status = 1
    if status:
        click.get_current_context().exit(status)


@contextmanager
def shown(title: str, look: Callable[[], StageProgress | None]) -> Iterator[None]:
    """Show a bar while the block runs; nothing where standard error is no terminal.

    Args:
        title: What is shown as running.
        look: Tells how far it is; called from another thread.
    """
    if not sys.stderr.isatty():
        yield
        return
    from rich.progress import (  # noqa: PLC0415 - only on a terminal
        BarColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    ended = Event()
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[tasks]}", markup=False),
        TimeElapsedColumn(),
        console=console(to_stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task(plain(title), total=None, tasks="")

        def follow() -> None:
            while not ended.wait(_POLL_EVERY_S):
                found = look()
                if found is None:
                    bar.update(task, total=None, completed=0, tasks="")
                else:
                    tasks = f"{found.ended} of {found.tasks} tasks"
                    bar.update(task, total=found.tasks, completed=found.ended, tasks=tasks)

        thread = Thread(target=follow, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
