"""Renderer of statements: `parse(render(statement)) == statement`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition.columns import Check, quote, quote_text
from dbt.adapters.spark_mt.statements import clauses, nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dbt.adapters.spark_mt.definition.columns import ColumnSpec, Constraint


def render(statement: nodes.Statement) -> str:
    """Return a statement's text, one clause a line, without a semicolon: `parse(render(x)) == x`.

    The query is kept byte for byte.
    """
    return _RENDERERS[type(statement)](statement)


def render_create(statement: nodes.CreateTable, notes: Mapping[str, str]) -> str:
    """Return a CREATE statement with comments; SHOW CREATE explains with them what applies.

    Args:
        statement: The statement; parsing the text gives it back.
        notes: A comment's text by the keyword of a clause. It follows the clause, or takes its
            place if the statement leaves it out.

    Raises:
        ValueError: A note is about no clause.
    """
    unknown = sorted(set(notes) - {clause.keyword for clause in clauses.CLAUSES})
    if unknown:
        raise ValueError(f"notes about no clause: {unknown}")  # noqa: TRY003, EM102 - for programmers
    declared = statement.declared
    guard = "IF NOT EXISTS " if statement.if_not_exists else ""
    head = f"{statement.form.value} MATERIALIZED TABLE {guard}{statement.name.sql}"
    items = [*map(_column, declared.columns), *map(_constraint, declared.constraints)]
    lines = [f"{head} {clauses.lines_text(items)}" if items else head]
    for clause in clauses.CLAUSES:
        note = notes.get(clause.keyword, "").replace("*/", "* /").replace("/*", "/ *")
        comment = f"/* {note} */" if note else ""
        line = f"{clause.text(clause.declared(declared))} {comment}".strip()
        lines += [line] if line else []
    return "\n".join([*lines, "AS", declared.query])


def _column(column: ColumnSpec) -> str:
    parts = [quote(column.name), column.type or ""]
    parts += ["NOT NULL"] if column.not_null else []
    parts += [f"COMMENT {quote_text(column.comment)}"] if column.comment is not None else []
    return " ".join(part for part in parts if part)


def _constraint(constraint: Constraint) -> str:
    name = f"CONSTRAINT {quote(constraint.name)} " if constraint.name is not None else ""
    if isinstance(constraint, Check):
        return f"{name}CHECK ({constraint.expression})"
    return f"{name}PRIMARY KEY {clauses.names_text(constraint.columns)} NOT ENFORCED"


def _alter_query(node: nodes.AlterQuery) -> str:
    texts = (clause.text(clause.declared(node.declared)) for clause in clauses.CLAUSES)
    given = [f"SET {text}" for text in texts if text]
    options = [f"WITH {clauses.options_text(node.options)}"] if node.options else []
    return "\n".join([*options, *given, "AS", node.declared.query])


def _adopt(node: nodes.Adopt) -> str:
    head, _, rest = render_create(
        nodes.CreateTable(nodes.CreateForm.CREATE, node.name, node.declared), {}
    ).partition(node.name.sql)
    terms = " IF EQUAL" if node.if_equal else ""
    if node.as_of is not None:
        terms = f" AS OF TIMESTAMP {quote_text(node.as_of.isoformat(' '))}"
    return f"{head.replace('CREATE', 'ADOPT', 1)}{node.name.sql}{terms}{rest}"


def _check(node: nodes.CheckTable) -> str:
    within = (
        "" if node.within is None else f" WITHIN {clauses.BY_FIELD['freshness'].sql(node.within)}"
    )
    return f"CHECK MATERIALIZED TABLE {node.name.sql} {node.kind.value}{within}"


def _set_clause(node: nodes.SetClause) -> str:
    clause = clauses.BY_FIELD[node.field]
    return f"RESET {clause.keyword}" if node.value is None else f"SET {clause.text(node.value)}"


def _refresh(node: nodes.Refresh) -> str:
    values = (f"{quote(v.column)} = {v.literal or 'NULL'}" for v in node.partition)
    return f"REFRESH PARTITION ({', '.join(values)})" if node.partition else "REFRESH"


def _show_tables(node: nodes.ShowTables) -> str:
    schema = " FROM " + ".".join(quote(part) for part in node.schema) if node.schema else ""
    negation = " NOT" if node.negated else ""
    like = f"{negation} LIKE {quote_text(node.pattern)}" if node.pattern is not None else ""
    return f"SHOW MATERIALIZED TABLES{schema}{like}"


def _alter(form: Callable[[Any], str], blank: str = " ") -> Callable[[Any], str]:
    return lambda node: f"ALTER MATERIALIZED TABLE {node.name.sql}{blank}{form(node)}"


_RENDERERS: dict[type, Callable[[Any], str]] = {
    nodes.CreateTable: lambda n: render_create(n, {}),
    nodes.Adopt: _adopt,
    nodes.CheckTable: _check,
    nodes.Release: _alter(lambda _: "RELEASE"),
    nodes.Suspend: _alter(lambda _: "SUSPEND"),
    nodes.Resume: _alter(
        lambda n: f"RESUME WITH {clauses.options_text(n.options)}" if n.options else "RESUME"
    ),
    nodes.Refresh: _alter(_refresh),
    nodes.SetClause: _alter(_set_clause),
    nodes.SetOptions: _alter(lambda n: f"SET {clauses.options_text(n.options)}"),
    nodes.ResetOptions: _alter(lambda n: f"RESET ({', '.join(map(quote_text, n.keys))})"),
    nodes.AlterQuery: _alter(_alter_query, "\n"),
    nodes.AddQuery: _alter(lambda n: f"ADD\n{n.query}"),
    nodes.DropTable: lambda n: (
        f"DROP MATERIALIZED TABLE {'IF EXISTS ' if n.if_exists else ''}{n.name.sql}"
    ),
    nodes.ShowTables: _show_tables,
    nodes.ShowCreate: lambda n: (
        f"SHOW CREATE {'OR ALTER ' if n.or_alter else ''}MATERIALIZED TABLE {n.name.sql}"
    ),
    nodes.DescribeTable: lambda n: (
        f"DESC{' EXTENDED' if n.extended else ''} MATERIALIZED TABLE {n.name.sql}"
    ),
    nodes.DescribeJob: lambda n: f"DESC JOB {quote_text(n.job_id)}",
    nodes.ShowJobs: lambda _: "SHOW JOBS",
    nodes.Explain: lambda n: f"EXPLAIN {render(n.statement)}",
}
