"""CREATE [OR ALTER | OR REPLACE] MATERIALIZED TABLE."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition.definition import AskedDefinition
from dbt.adapters.spark_mt.statements.clause_list import Clause, ClauseList, read_clauses
from dbt.adapters.spark_mt.statements.column_list import ColumnList, read_column_list
from dbt.adapters.spark_mt.statements.errors import IfNotExistsFormError, TemporaryTableError
from dbt.adapters.spark_mt.statements.names import read_table_name
from dbt.adapters.spark_mt.statements.nodes import CreateForm, CreateTable
from dbt.adapters.spark_mt.statements.query import read_query
from dbt.adapters.spark_mt.statements.values import (
    read_column_names,
    read_freshness,
    read_options,
    read_refresh_mode,
    read_start_mode,
    read_state_retention,
)

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.statements.cursor import Cursor

_HEAD = (
    Clause("items", ("(",), read_column_list, title="(column, …)", keep=True),
    Clause("comment", ("COMMENT",), lambda cursor: cursor.string("a comment")),
    Clause("partitioned_by", ("PARTITIONED", "BY"), read_column_names),
    Clause("clustered_by", ("CLUSTER", "BY"), read_column_names),
    Clause("options", ("WITH",), read_options),
    Clause("options", ("TBLPROPERTIES",), read_options),
)
_REFRESH = (
    Clause("freshness", ("FRESHNESS",), read_freshness),
    Clause("refresh_mode", ("REFRESH_MODE",), read_refresh_mode),
)
_EVOLUTION = (
    Clause("start_mode", ("START_MODE",), read_start_mode),
    Clause("state_retention", ("STATE_RETENTION",), read_state_retention),
)


def _fields(*groups: tuple[Clause, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(clause.field for group in groups for clause in group))


# The seeds put either pair behind WITH and never combine them (semantics 2).
CREATE_CLAUSES = ClauseList(
    clauses=(*_HEAD, *_REFRESH, *_EVOLUTION),
    orders=(_fields(_HEAD, _REFRESH, _EVOLUTION), _fields(_HEAD, _EVOLUTION, _REFRESH)),
)


def read_create(cursor: Cursor) -> CreateTable:
    """Read the statement from CREATE on.

    Raises:
        StatementSyntaxError: It does not follow the grammar.
    """
    form = _read_form(cursor)
    if_not_exists = _read_if_not_exists(cursor, form)
    name = read_table_name(cursor)
    values: dict[str, Any] = read_clauses(cursor, CREATE_CLAUSES)
    items = values.pop("items", ColumnList((), ()))
    query, offset = read_query(cursor)
    asked = AskedDefinition(query, columns=items.columns, constraints=items.constraints, **values)
    return CreateTable(form, name, asked, if_not_exists, offset)


def _read_form(cursor: Cursor) -> CreateForm:
    cursor.expect("CREATE")
    form = CreateForm.CREATE
    if cursor.accept("OR"):
        form = CreateForm(f"CREATE OR {cursor.choice('CREATE OR …', ('ALTER', 'REPLACE'))}")
    cursor.statement = f"{form.value} MATERIALIZED TABLE"
    if cursor.at("GLOBAL") or cursor.at("TEMPORARY") or cursor.at("TEMP"):
        raise cursor.error(TemporaryTableError)
    cursor.expect("MATERIALIZED", "TABLE")
    return form


def _read_if_not_exists(cursor: Cursor, form: CreateForm) -> bool:
    token = cursor.peek()
    given = cursor.accept("IF", "NOT", "EXISTS")
    if given and form is not CreateForm.CREATE:
        raise cursor.error(IfNotExistsFormError, token, form=form.value)
    return given
