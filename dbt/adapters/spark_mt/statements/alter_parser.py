"""Parser of ALTER MATERIALIZED TABLE, and replacements for forms that statements do not have.

The missing forms are those of Flink's and Spark's tables.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt import sql_tokens
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import quote, quote_text
from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition
from dbt.adapters.spark_mt.sql_tokens import TokenKind
from dbt.adapters.spark_mt.statements import clauses, lexer, nodes
from dbt.adapters.spark_mt.statements import values as clause_values

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.errors import StatementSyntaxError
    from dbt.adapters.spark_mt.statements.lexer import Cursor

    AlterStatement = (
        nodes.Suspend
        | nodes.Release
        | nodes.Resume
        | nodes.Refresh
        | nodes.SetClause
        | nodes.SetOptions
        | nodes.ResetOptions
        | nodes.AlterQuery
        | nodes.AddQuery
    )


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


_COLUMN_VERBS = frozenset({"ADD", "DROP", "MODIFY", "ALTER", "REPLACE", "CHANGE"})
_OTHERS = {
    "RENAME": "A new name is a new table: create it, then drop the old one.",
    "SWAP": "Create the replacement under the same name with CREATE OR REPLACE.",
    "UNSET": "An option goes back to its default with RESET ('key').",
    "CLUSTER": "Clustering is changed in place by CREATE OR ALTER.",
    "SET TBLPROPERTIES": "Options are set without a keyword: SET ('key' = 'value', …).",
    "RESET REFRESH_MODE": "The default is SET REFRESH_MODE = AUTOMATIC.",
}
_TYPED = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ"})
_WORDS = frozenset({"TRUE", "FALSE"})
_ALONE = {
    c.keyword: c
    for c in clauses.CLAUSES
    if c.alter in (clauses.Alter.ALONE, clauses.Alter.ALONE_OR_RESET)
}
_RESET = {c.keyword: c for c in clauses.CLAUSES if c.alter is clauses.Alter.ALONE_OR_RESET}
_WITH_QUERY = tuple(c for c in clauses.CLAUSES if c.alter is clauses.Alter.WITH_QUERY)
_BEFORE_QUERY = clauses.PartList(
    parts=(
        clauses.Part("options", ("WITH",), clause_values.read_options),
        clauses.Part("options", ("TBLPROPERTIES",), clause_values.read_options),
        *(part for clause in _WITH_QUERY for part in clauses.parts_of(clause, "SET")),
    ),
    orders=(("options", *(clause.field for clause in _WITH_QUERY)),),
)
_QUERY_BEGINS = ("SELECT", "WITH", "FROM", "VALUES", "TABLE", "(", "MAP", "REDUCE", ";")
_FOR_ALL = "Everything else is changed by CREATE OR ALTER with the whole definition."
ALTER_FORMS = (
    "SUSPEND",
    "RESUME",
    "REFRESH",
    "RELEASE",
    *(f"SET {keyword}" for keyword in _ALONE),
    *(f"RESET {keyword}" for keyword in _RESET),
    "SET (…)",
    "RESET (…)",
    " ".join(["[WITH (…)]", *(f"[SET {clause.keyword}]" for clause in _WITH_QUERY), "AS query"]),
    "ADD query",
)


def _definition(name: TableName, change: str, cost: str) -> str:
    show = f"SHOW CREATE OR ALTER MATERIALIZED TABLE {name.sql}"
    return f"Run the statement that {show} prints, {change}; {cost}."


def _added(name: TableName, item: str) -> str:
    change = f"with {item} in its column list"
    return _definition(name, change, "the rows that are there are checked, and none is computed")


def _alter_watermark(cursor: Cursor, name: TableName, verb: str, ahead: int) -> str:
    alter = f"ALTER MATERIALIZED TABLE {name.sql}"
    form = "RESET ('watermark')" if verb == "DROP" else f"SET ({watermark_option(cursor, ahead)})"
    return f"A watermark is an option: run {alter} {form}."


def _alter_distribution(_: Cursor, name: TableName, verb: str, __: int) -> str:
    clause = "without CLUSTER BY" if verb == "DROP" else "with CLUSTER BY (column, …)"
    change = f"{clause} after its column list"
    cost = "later writes and OPTIMIZE lay out the files by it"
    return "Materialized tables have no buckets. " + _definition(name, change, cost)


def _alter_constraint(cursor: Cursor, name: TableName, verb: str, ahead: int) -> str:
    if verb == "DROP":
        change = "without the constraint in its column list"
        return _definition(name, change, "no row is computed")
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


def _alter_advice(cursor: Cursor, name: TableName, read: str) -> str:
    """Return what to do in place of a form of which `read` has been read; empty if unknown."""
    verb = cursor.peek().keyword
    if read or verb not in _COLUMN_VERBS:
        return _OTHERS.get(read + verb, "")
    ahead = 2 if cursor.peek(1).text == "(" else 1
    advise = _SUBJECTS.get(cursor.peek(ahead).keyword, _alter_column)
    return advise(cursor, name, verb, ahead)


def watermark_option(cursor: Cursor, ahead: int) -> str:
    """Return the option for `WATERMARK FOR column AS column - INTERVAL …`, `ahead` tokens on."""
    column, delay = "ts", "10 SECONDS"
    if cursor.peek(ahead + 1).keyword == "FOR":
        column = cursor.peek(ahead + 2).text
    sign, word, number, unit = (cursor.peek(ahead + place) for place in (5, 6, 7, 8))
    if sign.text == "-" and word.keyword == "INTERVAL" and number.kind is TokenKind.STRING:
        count = sql_tokens.unescape(number.text)
        if _WHOLE_NUMBER.fullmatch(count) and _UNITS.fullmatch(unit.keyword):
            delay = f"{count.strip()} {unit}"
    return f"'watermark' = {quote_text(f'{column} DELAY OF INTERVAL {delay}')}"


def constraint_advice(cursor: Cursor, column: str = "") -> str:
    """Return what to write in place of a constraint that a column list does not have.

    `column` is the column whose type it follows; empty for an item of its own.
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
        column: The name of the column.
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


def _read_partition(cursor: Cursor) -> tuple[nodes.PartitionValue, ...]:
    found = cursor.items(lambda c: (c.peek(), _read_value(c)))
    clause_values.refuse_duplicates(
        cursor, [(value.column, token) for token, value in found], "column"
    )
    return tuple(value for _, value in found)


def _read_value(cursor: Cursor) -> nodes.PartitionValue:
    token = cursor.peek()
    column = cursor.name("a partition column's name")
    if not cursor.accept("="):
        raise cursor.missing_equals(token, "'value'")
    if cursor.accept("NULL"):
        return nodes.PartitionValue(column, None)
    return nodes.PartitionValue(column, _read_literal(cursor))


def _read_literal(cursor: Cursor) -> str:
    first = cursor.peek()
    if first.keyword in _WORDS:
        return cursor.next().text
    if first.keyword in _TYPED:
        cursor.next()
    if first.keyword in _TYPED or first.kind is TokenKind.STRING:
        cursor.string("a value")
        return cursor.text_between(first, cursor.previous)
    if first.text in ("-", "+"):
        cursor.next()
    dot = cursor.peek()
    if dot.text == "." and cursor.peek(1).start == dot.end:
        cursor.next()
    if cursor.peek().kind is not TokenKind.NUMBER:
        raise cursor.expected(what="a literal: a text in quotes, a number, DATE '…', NULL, TRUE …")
    return cursor.text_between(first, cursor.next())


def read_alter(cursor: Cursor) -> AlterStatement:
    """Read the statement from ALTER on.

    Raises:
        StatementSyntaxError: It does not follow the grammar.
    """
    cursor.statement = "ALTER MATERIALIZED TABLE"
    cursor.expect("ALTER")
    lexer.refuse_temporary(cursor)
    cursor.expect("MATERIALIZED", "TABLE")
    name = lexer.read_table_name(cursor)
    if cursor.at("AS") or any(cursor.at(*part.words) for part in _BEFORE_QUERY.parts):
        values: dict[str, Any] = clauses.read_clauses(cursor, _BEFORE_QUERY)
        options = values.pop("options", ())
        return nodes.AlterQuery(
            name, DeclaredDefinition(clause_values.read_query(cursor), **values), options
        )
    word = cursor.peek()
    read = _FORMS.get(word.keyword)
    if read is None or (word.keyword == "ADD" and not _at_added_query(cursor)):
        raise _unsupported(cursor, name, "")
    cursor.next()
    statement = read(cursor, name)
    lexer.expect_end(cursor)
    return statement


def _at_added_query(cursor: Cursor) -> bool:
    depth = 1
    while cursor.peek(depth).text == "(":
        depth += 1
    first = cursor.peek(depth)
    return first.kind is TokenKind.END or first.keyword in _QUERY_BEGINS


def _read_resume(cursor: Cursor, name: TableName) -> nodes.Resume:
    with_options = cursor.accept("WITH") or cursor.accept("TBLPROPERTIES")
    return nodes.Resume(name, clause_values.read_options(cursor) if with_options else ())


def _read_set(cursor: Cursor, name: TableName) -> AlterStatement:
    if cursor.at("("):
        return nodes.SetOptions(name, clause_values.read_options(cursor))
    clause = _ALONE.get(cursor.peek().keyword)
    if clause is None:
        raise _unsupported(cursor, name, "SET ")
    cursor.next()
    return nodes.SetClause(name, clause.field, clause.read_value(cursor))


def _read_reset(cursor: Cursor, name: TableName) -> AlterStatement:
    if clause := _RESET.get(cursor.peek().keyword):
        cursor.next()
        return nodes.SetClause(name, clause.field, None)
    if cursor.at("("):
        return nodes.ResetOptions(name, clause_values.read_keys(cursor))
    raise _unsupported(cursor, name, "RESET ")


def _unsupported(cursor: Cursor, name: TableName, read: str) -> StatementSyntaxError:
    """Return the error about a form of which `read` has been read."""
    instead = _alter_advice(cursor, name, read)
    words = [cursor.peek()]
    if instead and not read:
        words += [word for word in (cursor.peek(1),) if word.kind is TokenKind.WORD]
    return cursor.error(
        conditions.UNSUPPORTED_ALTER,
        form=read + " ".join(map(str, words)),
        forms=", ".join(ALTER_FORMS),
        suggestion="" if instead else lexer.did_you_mean(read + cursor.peek().keyword, ALTER_FORMS),
        instead=instead or _FOR_ALL,
    )


_FORMS: dict[str, Callable[[Cursor, TableName], AlterStatement]] = {
    "SUSPEND": lambda _, name: nodes.Suspend(name),
    "RELEASE": lambda _, name: nodes.Release(name),
    "RESUME": _read_resume,
    "REFRESH": lambda cursor, name: nodes.Refresh(
        name, _read_partition(cursor) if cursor.accept("PARTITION") else ()
    ),
    "SET": _read_set,
    "RESET": _read_reset,
    "ADD": lambda cursor, name: nodes.AddQuery(name, clause_values.read_query(cursor)),
}
