"""Where in a statement something stands, for people."""

from __future__ import annotations

import re
from dataclasses import dataclass

_LINE_END = re.compile(r"\r\n|\n|\r")
_WIDTH = 100


@dataclass(frozen=True, slots=True)
class Place:
    """A stretch of a statement: line and column count from 1, columns in characters.

    Args:
        excerpt: The line with the stretch underlined, cut where it is very long.
    """

    line: int
    column: int
    excerpt: str


def place(sql: str, start: int, end: int) -> Place:
    """Locate the characters from `start` to before `end`."""
    line, line_start, next_start = 1, 0, len(sql)
    for match in _LINE_END.finditer(sql):
        if match.end() > start:
            next_start = match.start()
            break
        line, line_start = line + 1, match.end()
    column = start - line_start
    text = sql[line_start : max(next_start, line_start)]
    length = max(1, min(end, next_start) - start)
    return Place(line, column + 1, _underlined(text, column, length, str(line)))


def _underlined(text: str, column: int, length: int, number: str) -> str:
    first = max(0, min(column - _WIDTH // 2, len(text) - _WIDTH))
    last = first + _WIDTH
    shown = ("…" if first else "") + text[first:last] + ("…" if last < len(text) else "")
    shown = "".join(char if char.isprintable() else " " for char in shown)
    indent = column - first + (1 if first else 0)
    marks = "^" * max(1, min(length, last - column))
    return f"  {number} | {shown}\n  {' ' * len(number)} | {' ' * indent}{marks}"
