"""Replacements for forms of Flink's and Spark's tables that statements do not have."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.columns import quote, quote_text
from dbt.adapters.spark_mt.statements.lexer import TokenKind, unescape

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.statements.lexer import Cursor


_KEY = "PRIMARY KEY (column, …) NOT ENFORCED"
_CHECK = "CHECK (condition)"
_REFERENCES = "References between tables are checked by a dbt test (relationships)."
_WHOLE_NUMBER = re.compile(r"\s*[0-9]{1,9}\s*")
_UNITS = re.compile(r"(?:SECOND|MINUTE|HOUR|DAY|WEEK)S?")
_ROLES = {
    "PRIMARY": "key",
    "UNIQUE": "key",
    "CHECK": "check",
    "FOREIGN": "reference",
    "REFERENCES": "reference",
}
"""What kind of constraint begins with a word."""


def _definition(name: TableName, change: str, cost: str) -> str:
    show = f"SHOW CREATE OR ALTER MATERIALIZED TABLE {name.sql}"
    return f"Run the statement that {show} prints, {change}; {cost}."


def _added(name: TableName, item: str) -> str:
    change = f"with {item} in its column list"
    return _definition(name, change, "the rows that are there are checked, and none is computed")


def _dropped(name: TableName) -> str:
    change = "without the constraint in its column list"
    return _definition(name, change, "no row is computed")


def _alter_watermark(cursor: Cursor, name: TableName, verb: str, ahead: int) -> str:
    alter = f"ALTER MATERIALIZED TABLE {name.sql}"
    if verb == "DROP":
        return f"A watermark is an option: run {alter} RESET ('watermark')."
    option = watermark_option(cursor, ahead)
    return f"A watermark is an option: run {alter} SET ({option})."


def _alter_distribution(_: Cursor, name: TableName, verb: str, __: int) -> str:
    clause = "without CLUSTER BY" if verb == "DROP" else "with CLUSTER BY (column, …)"
    change = f"{clause} after its column list"
    cost = "later writes and OPTIMIZE lay out the files by it"
    return "Materialized tables have no buckets. " + _definition(name, change, cost)


def _alter_constraint(cursor: Cursor, name: TableName, verb: str, ahead: int) -> str:
    if verb == "DROP":
        return _dropped(name)
    return {
        "key": _added(name, _KEY),
        "check": _added(name, _CHECK),
        "reference": _REFERENCES,
    }.get(_role(cursor, ahead), _added(name, f"{_KEY} or {_CHECK}"))


def _alter_column(cursor: Cursor, name: TableName, verb: str, _: int) -> str:
    if _mentions(cursor, "NOT", "NULL") or _mentions(cursor, "COMMENT"):
        change = "with NOT NULL and COMMENT after the types of its column list"
        return _definition(name, change, "a new NOT NULL is checked, and no row is computed")
    if verb == "ADD":
        return "Columns come from the query: append them there with CREATE OR ALTER or ALTER … AS."
    if verb == "DROP":
        return "Columns come from the query: leave them out with CREATE OR REPLACE, which rebuilds."
    widening = f"ALTER MATERIALIZED TABLE {name.sql} SET ('schema.type-widening' = 'true')"
    return (
        f"Columns come from the query. For a wider type run {widening} and cast the column there "
        "with ALTER … AS; any other change needs CREATE OR REPLACE, which rebuilds."
    )


_SUBJECTS: dict[str, Callable[[Cursor, TableName, str, int], str]] = {
    "WATERMARK": _alter_watermark,
    "DISTRIBUTION": _alter_distribution,
    "DISTRIBUTED": _alter_distribution,
    "CONSTRAINT": _alter_constraint,
    **dict.fromkeys(_ROLES, _alter_constraint),
}
_COLUMN_VERBS = frozenset({"ADD", "DROP", "MODIFY", "ALTER", "REPLACE", "CHANGE"})
_OTHERS = {
    "RENAME": "A new name is a new table: create it, then drop the old one.",
    "SWAP": "Create the replacement under the same name with CREATE OR REPLACE.",
    "UNSET": "An option goes back to its default with RESET ('key').",
    "CLUSTER": "Clustering is changed in place by CREATE OR ALTER.",
    "SET TBLPROPERTIES": "Options are set without a keyword: SET ('key' = 'value', …).",
    "RESET REFRESH_MODE": "The default is SET REFRESH_MODE = AUTOMATIC.",
}


def alter_advice(cursor: Cursor, name: TableName, read: str) -> str:
    """Return what to do in place of a form that ALTER MATERIALIZED TABLE does not have.

    Args:
        cursor: At the form, after `read`.
        name: The table.
        read: What of the form has been read: nothing, `SET ` or `RESET `.

    Returns:
        A sentence; empty where nothing is known of the form.
    """
    verb = cursor.peek().keyword
    if read or verb not in _COLUMN_VERBS:
        return _OTHERS.get(read + verb, "")
    ahead = 2 if cursor.peek(1).text == "(" else 1
    advise = _SUBJECTS.get(cursor.peek(ahead).keyword, _alter_column)
    return advise(cursor, name, verb, ahead)


def watermark_option(cursor: Cursor, ahead: int) -> str:
    """Return the option that says what `WATERMARK FOR column AS column - INTERVAL …` says.

    Args:
        cursor: The statement.
        ahead: How many tokens ahead the word WATERMARK is.
    """
    column, delay = "ts", "10 SECONDS"
    if cursor.peek(ahead + 1).keyword == "FOR":
        column = cursor.peek(ahead + 2).text
    sign, word, number, unit = (cursor.peek(ahead + place) for place in (5, 6, 7, 8))
    if sign.text == "-" and word.keyword == "INTERVAL" and number.kind is TokenKind.STRING:
        count = unescape(number.text)
        if _WHOLE_NUMBER.fullmatch(count) and _UNITS.fullmatch(unit.keyword):
            delay = f"{count.strip()} {unit}"
    return f"'watermark' = {quote_text(f'{column} DELAY OF INTERVAL {delay}')}"


def constraint_advice(cursor: Cursor, column: str = "") -> str:
    """Return what to write in place of a constraint that a column list does not have.

    Args:
        cursor: At the constraint.
        column: The column whose type it follows; empty for an item of its own.
    """
    role = _role(cursor, 0)
    if role == "reference":
        return _REFERENCES
    if role == "check":
        return f"Write it as an item of its own in the column list: {_CHECK}."
    key = _KEY.replace("column, …", quote(column)) if column else _KEY
    return (
        f"Declare a key as an item of its own in the column list: {key}. A dbt test (unique) "
        "checks uniqueness without a key."
    )


def computed_advice(keyword: str, expression: str, column: str) -> str:
    """Return what to write in place of an option after a column's type.

    Args:
        keyword: The option: AS, GENERATED, DEFAULT …
        expression: The value that it gives; empty where it gives none.
        column: The column.
    """
    name = quote(column)
    if not expression:
        return "After its type a column takes NOT NULL and COMMENT only."
    value = f"coalesce({name}, {expression})" if keyword == "DEFAULT" else expression
    return f"Compute the value in the query: SELECT …, {value} AS {name}."


def _role(cursor: Cursor, ahead: int) -> str:
    """Return what kind of constraint is `ahead`, whether it is named or not."""
    if cursor.peek(ahead).keyword == "CONSTRAINT":
        ahead += 2
    return _ROLES.get(cursor.peek(ahead).keyword, "")


def _mentions(cursor: Cursor, *keywords: str) -> bool:
    """Whether these words follow each other in the rest of the statement."""
    ahead = 0
    while cursor.peek(ahead).kind is not TokenKind.END:
        if all(cursor.peek(ahead + i).keyword == word for i, word in enumerate(keywords)):
            return True
        ahead += 1
    return False
