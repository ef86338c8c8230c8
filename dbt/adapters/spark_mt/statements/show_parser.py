"""DROP, and the statements that only read: SHOW, DESC and EXPLAIN."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.statements.alter_parser import read_alter
from dbt.adapters.spark_mt.statements.create_parser import read_create
from dbt.adapters.spark_mt.statements.errors import UnsupportedExplainError
from dbt.adapters.spark_mt.statements.names import read_parts, read_table_name
from dbt.adapters.spark_mt.statements.nodes import (
    AlterQuery,
    DescribeJob,
    DescribeTable,
    DropTable,
    Explain,
    ShowCreate,
    ShowJobs,
    ShowTables,
)
from dbt.adapters.spark_mt.statements.query import expect_end
from dbt.adapters.spark_mt.statements.tokens import TokenKind

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.statements.cursor import Cursor


def read_drop(cursor: Cursor) -> DropTable:
    """Read `DROP MATERIALIZED TABLE [IF EXISTS] name`."""
    cursor.statement = "DROP MATERIALIZED TABLE"
    cursor.expect("DROP", "MATERIALIZED", "TABLE")
    if_exists = cursor.accept("IF", "EXISTS")
    name = read_table_name(cursor)
    expect_end(cursor)
    return DropTable(name, if_exists)


def read_show(cursor: Cursor) -> ShowTables | ShowCreate | ShowJobs:
    """Read the statement from SHOW on."""
    cursor.statement = "SHOW"
    cursor.expect("SHOW")
    if cursor.accept("JOBS"):
        expect_end(cursor)
        return ShowJobs()
    if cursor.accept("CREATE"):
        return _read_show_create(cursor)
    return _read_show_tables(cursor)


def read_describe(cursor: Cursor) -> DescribeTable | DescribeJob:
    """Read the statement from DESC on."""
    cursor.statement = cursor.next().keyword
    if cursor.accept("JOB"):
        job = DescribeJob(cursor.string("a job's id"))
        expect_end(cursor)
        return job
    extended = cursor.accept("EXTENDED")
    cursor.expect("MATERIALIZED", "TABLE")
    cursor.statement = f"{cursor.statement} MATERIALIZED TABLE"
    # A table may be called extended: then nothing, or a dot, stands behind it.
    if cursor.at("EXTENDED") and cursor.peek(1).kind in (TokenKind.WORD, TokenKind.QUOTED):
        cursor.next()
        extended = True
    name = read_table_name(cursor)
    expect_end(cursor)
    return DescribeTable(name, extended)


def read_explain(cursor: Cursor) -> Explain:
    """Read the statement from EXPLAIN on.

    Raises:
        StatementSyntaxError: What is explained changes no definition, or is wrong itself.
    """
    cursor.statement = "EXPLAIN"
    cursor.expect("EXPLAIN")
    if cursor.at("CREATE"):
        return Explain(read_create(cursor))
    token = cursor.peek()
    if cursor.at("ALTER"):
        statement = read_alter(cursor)
        if isinstance(statement, AlterQuery):
            return Explain(statement)
        cursor.statement = "EXPLAIN"
    what = "ALTER without AS query" if token.keyword == "ALTER" else token
    raise cursor.error(UnsupportedExplainError, token, what=what)


def _read_show_create(cursor: Cursor) -> ShowCreate:
    or_alter = cursor.accept("OR")
    if or_alter:
        cursor.expect("ALTER")
    cursor.statement = f"SHOW CREATE {'OR ALTER ' if or_alter else ''}MATERIALIZED TABLE"
    cursor.expect("MATERIALIZED", "TABLE")
    name = read_table_name(cursor)
    expect_end(cursor)
    return ShowCreate(name, or_alter)


def _read_show_tables(cursor: Cursor) -> ShowTables:
    cursor.statement = "SHOW MATERIALIZED TABLES"
    cursor.expect("MATERIALIZED", "TABLES")
    schema: tuple[str, ...] = ()
    if cursor.accept("FROM") or cursor.accept("IN"):
        schema = read_parts(cursor, 2, "a schema's name")
    negated = cursor.accept("NOT")
    pattern = None
    if negated or cursor.at("LIKE"):
        cursor.expect("LIKE")
        pattern = cursor.string("a pattern")
    expect_end(cursor)
    return ShowTables(schema, pattern, negated)
