"""What commands print: tables for people, JSON for programs; errors go to standard error."""

from __future__ import annotations

import json
import sys
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console

_WIDE = 4000
"""Where nobody looks at a screen, rows keep to one line each."""


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
