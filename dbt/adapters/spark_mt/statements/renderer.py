"""Canonical text of a statement, one clause a line: `parse(render(x)) == x`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition.columns import Check, quote, quote_text
from dbt.adapters.spark_mt.statements import nodes
from dbt.adapters.spark_mt.statements.clauses import BY_FIELD, CLAUSES, names_text, options_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dbt.adapters.spark_mt.definition.columns import ColumnSpec, Constraint
    from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition
    from dbt.adapters.spark_mt.statements.nodes import Statement


def render(statement: Statement) -> str:
    """Return a statement's text, without a semicolon; the query is kept byte for byte."""
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
    unknown = sorted(set(notes) - {clause.keyword for clause in CLAUSES})
    if unknown:
        raise ValueError(f"notes about no clause: {unknown}")  # noqa: TRY003, EM102 - for programmers
    declared = statement.declared
    lines = [_create_head(statement) + _column_list(declared)]
    for clause in CLAUSES:
        note = _comment(notes.get(clause.keyword, ""))
        line = f"{clause.text(clause.declared(declared))} {note}".strip()
        lines += [line] if line else []
    return "\n".join([*lines, "AS", declared.query])


def _create_head(statement: nodes.CreateTable) -> str:
    guard = "IF NOT EXISTS " if statement.if_not_exists else ""
    return f"{statement.form.value} MATERIALIZED TABLE {guard}{statement.name.sql}"


def _comment(note: str) -> str:
    if not note:
        return ""
    inner = note.replace("*/", "* /").replace("/*", "/ *")
    return f"/* {inner} */"


def _column_list(declared: DeclaredDefinition) -> str:
    items = [_column(column) for column in declared.columns]
    items += [_constraint(constraint) for constraint in declared.constraints]
    return " (\n  " + ",\n  ".join(items) + "\n)" if items else ""


def _column(column: ColumnSpec) -> str:
    parts = [quote(column.name), column.type or ""]
    parts += ["NOT NULL"] if column.not_null else []
    parts += [f"COMMENT {quote_text(column.comment)}"] if column.comment is not None else []
    return " ".join(part for part in parts if part)


def _constraint(constraint: Constraint) -> str:
    name = f"CONSTRAINT {quote(constraint.name)} " if constraint.name is not None else ""
    if isinstance(constraint, Check):
        return f"{name}CHECK ({constraint.expression})"
    return f"{name}PRIMARY KEY {names_text(constraint.columns)} NOT ENFORCED"


def _alter(node: Any, form: str) -> str:  # noqa: ANN401 - every node of ALTER has a name
    return f"ALTER MATERIALIZED TABLE {node.name.sql} {form}"


def _set_clause(node: nodes.SetClause) -> str:
    clause = BY_FIELD[node.field]
    if node.value is None:
        return f"RESET {clause.keyword}"
    return f"SET {clause.text(node.value)}"


def _alter_query(node: nodes.AlterQuery) -> str:
    texts = (clause.text(clause.declared(node.declared)) for clause in CLAUSES)
    given = [f"SET {text}" for text in texts if text]
    options = [f"WITH {options_text(node.options)}"] if node.options else []
    return "\n".join([_alter(node, "").rstrip(), *options, *given, "AS", node.declared.query])


def _partition(node: nodes.Refresh) -> str:
    values = (f"{quote(v.column)} = {v.literal or 'NULL'}" for v in node.partition)
    return f"REFRESH PARTITION ({', '.join(values)})" if node.partition else "REFRESH"


def _show_tables(node: nodes.ShowTables) -> str:
    schema = " FROM " + ".".join(quote(part) for part in node.schema) if node.schema else ""
    negation = " NOT" if node.negated else ""
    like = f"{negation} LIKE {quote_text(node.pattern)}" if node.pattern is not None else ""
    return f"SHOW MATERIALIZED TABLES{schema}{like}"


def _show_create(node: nodes.ShowCreate) -> str:
    return f"SHOW CREATE {'OR ALTER ' if node.or_alter else ''}MATERIALIZED TABLE {node.name.sql}"


_RENDERERS: dict[type, Callable[[Any], str]] = {
    nodes.CreateTable: lambda n: render_create(n, {}),
    nodes.Suspend: lambda n: _alter(n, "SUSPEND"),
    nodes.Resume: lambda n: _alter(
        n, f"RESUME WITH {options_text(n.options)}" if n.options else "RESUME"
    ),
    nodes.Refresh: lambda n: _alter(n, _partition(n)),
    nodes.SetClause: lambda n: _alter(n, _set_clause(n)),
    nodes.SetOptions: lambda n: _alter(n, f"SET {options_text(n.options)}"),
    nodes.ResetOptions: lambda n: _alter(n, f"RESET ({', '.join(map(quote_text, n.keys))})"),
    nodes.AlterQuery: _alter_query,
    nodes.AddQuery: lambda n: _alter(n, f"ADD\n{n.query}"),
    nodes.DropTable: lambda n: (
        f"DROP MATERIALIZED TABLE {'IF EXISTS ' if n.if_exists else ''}{n.name.sql}"
    ),
    nodes.ShowTables: _show_tables,
    nodes.ShowCreate: _show_create,
    nodes.DescribeTable: lambda n: (
        f"DESC{' EXTENDED' if n.extended else ''} MATERIALIZED TABLE {n.name.sql}"
    ),
    nodes.DescribeJob: lambda n: f"DESC JOB {quote_text(n.job_id)}",
    nodes.ShowJobs: lambda _: "SHOW JOBS",
    nodes.Explain: lambda n: f"EXPLAIN {render(n.statement)}",
}
