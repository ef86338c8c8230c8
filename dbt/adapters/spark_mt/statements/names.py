"""The names that statements give."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.identifier import TableName

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.statements.cursor import Cursor


def read_table_name(cursor: Cursor) -> TableName:
    """Read a name of one to three parts; later errors of the statement will tell it."""
    name = TableName.of(*read_parts(cursor, 3, "a table's name"))
    cursor.statement = f"{cursor.statement} {name}"
    return name


def read_parts(cursor: Cursor, most: int, what: str) -> tuple[str, ...]:
    """Read a dotted name of at most `most` parts.

    Raises:
        StatementSyntaxError: It has more parts, or one is no name.
    """
    parts = [cursor.name(what)]
    while cursor.at("."):
        if len(parts) == most:
            raise cursor.expected(what=f"the end of the name, which has at most {most} parts")
        cursor.next()
        parts.append(cursor.name(what))
    return tuple(parts)
