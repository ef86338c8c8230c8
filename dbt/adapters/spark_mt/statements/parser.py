"""From a statement's text to its node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.statements.alter_parser import read_alter
from dbt.adapters.spark_mt.statements.create_parser import read_create
from dbt.adapters.spark_mt.statements.cursor import Cursor
from dbt.adapters.spark_mt.statements.show_parser import (
    read_describe,
    read_drop,
    read_explain,
    read_show,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbt.adapters.spark_mt.statements.nodes import Statement

_READERS: dict[str, Callable[[Cursor], Statement]] = {
    "CREATE": read_create,
    "ALTER": read_alter,
    "DROP": read_drop,
    "SHOW": read_show,
    "DESC": read_describe,
    "DESCRIBE": read_describe,
    "EXPLAIN": read_explain,
}


def parse(sql: str) -> Statement:
    """Read one statement about materialized tables (semantics 2).

    `routing.parse_statement` tells first whether a text is such a statement.

    Args:
        sql: The statement; comments before it and a semicolon behind it do not count.

    Raises:
        StatementSyntaxError: The text does not follow the grammar.
    """
    cursor = Cursor(sql)
    read = _READERS.get(cursor.peek().keyword)
    if read is None:
        raise cursor.expected(what=" or ".join(_READERS))
    return read(cursor)
