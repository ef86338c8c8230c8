"""Splits a text into statements, and asks what they would do. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.service.errors import NotPlannableError
from dbt.adapters.spark_mt.statements.lexical import skip_blank
from dbt.adapters.spark_mt.statements.nodes import PLANNED, CreateTable, Explain
from dbt.adapters.spark_mt.statements.routing import parse_statement

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.execution.alterations import Alteration

_NEXT = re.compile(r"['\"`;]|--|/\*")
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`", re.DOTALL)
_RAW = re.compile(r"'[^']*'|\"[^\"]*\"")
_RAW_BEFORE = re.compile(r"(?<![\w])[rR]$")
_SHOWN = 80
_SCRIPT = re.compile(r"BEGIN\b", re.IGNORECASE)


def statements_of(text: str) -> tuple[str, ...]:
    """Return the statements of a text, separated by semicolons; those without words are left out.

    Semicolons in literals, names and comments separate nothing. A script, which starts with BEGIN,
    is one statement to the end of the text.
    """
    found = []
    start = 0
    while start < len(text):
        first = skip_blank(text, start)
        end = len(text) if _SCRIPT.match(text, first) else _end(text, first)
        if first < end:
            found.append(text[start:end].strip())
        start = end + 1
    return tuple(found)


def _end(text: str, offset: int) -> int:
    """Where the statement ends that goes on at `offset`: at its semicolon, or with the text."""
    while match := _NEXT.search(text, offset):
        at = match.start()
        if match[0] == ";":
            return at
        if match[0] in {"--", "/*"}:
            offset = skip_blank(text, at)
            continue
        is_raw = _RAW_BEFORE.search(text, max(0, at - 2), at) is not None
        quoted = (_RAW if is_raw else _QUOTED).match(text, at)
        offset = quoted.end() if quoted else len(text)
    return len(text)


def planned(statement: str) -> CreateTable | Alteration:
    """Return the statement whose effect can be told without carrying it out.

    Args:
        statement: CREATE or ALTER of a definition; EXPLAIN before it changes nothing.

    Raises:
        StatementSyntaxError: It is ours and does not follow the grammar.
        NotPlannableError: It is another statement.
    """
    parsed = parse_statement(statement)
    inner = parsed.statement if isinstance(parsed, Explain) else parsed
    if not isinstance(inner, PLANNED):
        raise NotPlannableError(statement=statement.strip().partition("\n")[0][:_SHOWN])
    return inner
