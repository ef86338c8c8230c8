"""From a statement's node to its text: canonical, one clause a line, `parse(render(x)) == x`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition.columns import Check
from dbt.adapters.spark_mt.definition.identifier import quote, quote_text
from dbt.adapters.spark_mt.statements import nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from dbt.adapters.spark_mt.definition.columns import ColumnSpec, Constraint
    from dbt.adapters.spark_mt.definition.definition import AskedDefinition, Pairs
    from dbt.adapters.spark_mt.statements.nodes import Statement


def render(statement: Statement) -> str:
    """Return a statement's text, without a semicolon; the query stands there byte for byte."""
    return _RENDERERS[type(statement)](statement)


def render_create(statement: nodes.CreateTable, notes: Mapping[str, str]) -> str:
    """Return a CREATE statement with comments; SHOW CREATE explains with them what applies.

    Args:
        statement: The statement; parsing the text gives it back.
        notes: A comment's text by clause (`COMMENT`, `PARTITIONED BY`, `CLUSTER BY`, `WITH`,
            `FRESHNESS`, `REFRESH_MODE`, `START_MODE`, `STATE_RETENTION`). It stands behind the
            clause, or in its place where the statement leaves it out.

    Raises:
        ValueError: A note is about no clause.
    """
    unknown = sorted(set(notes) - set(CLAUSES))
    if unknown:
        raise ValueError(f"notes about no clause: {unknown}")  # noqa: TRY003, EM102 - for programmers
    asked = statement.asked
    lines = [_create_head(statement) + _column_list(asked)]
    for clause, text_of in CLAUSES.items():
        line = f"{text_of(asked)} {_comment(notes.get(clause, ''))}".strip()
        lines += [line] if line else []
    return "\n".join([*lines, "AS", asked.query])


def _create_head(statement: nodes.CreateTable) -> str:
    guard = "IF NOT EXISTS " if statement.if_not_exists else ""
    return f"{statement.form.value} MATERIALIZED TABLE {guard}{statement.name.sql}"


def _comment(note: str) -> str:
    if not note:
        return ""
    inner = note.replace("*/", "* /").replace("/*", "/ *")
    return f"/* {inner} */"


def _column_list(asked: AskedDefinition) -> str:
    items = [_column(column) for column in asked.columns]
    items += [_constraint(constraint) for constraint in asked.constraints]
    return " " + _lines(items) if items else ""


def _column(column: ColumnSpec) -> str:
    parts = [quote(column.name), column.type or ""]
    parts += ["NOT NULL"] if column.not_null else []
    parts += [f"COMMENT {quote_text(column.comment)}"] if column.comment is not None else []
    return " ".join(part for part in parts if part)


def _constraint(constraint: Constraint) -> str:
    name = f"CONSTRAINT {quote(constraint.name)} " if constraint.name is not None else ""
    if isinstance(constraint, Check):
        return f"{name}CHECK ({constraint.expression})"
    return f"{name}PRIMARY KEY {_names(constraint.columns)} NOT ENFORCED"


def _lines(items: Iterable[str]) -> str:
    return "(\n  " + ",\n  ".join(items) + "\n)"


def _names(names: Iterable[str]) -> str:
    return f"({', '.join(quote(name) for name in names)})"


def _options(options: Pairs) -> str:
    return _lines(f"{quote_text(key)} = {quote_text(value)}" for key, value in options)


def _if_given(keyword: str, value: Any, write: Callable[[Any], str]) -> str:  # noqa: ANN401 - of any clause
    return f"{keyword} {write(value)}" if value else ""


CLAUSES: dict[str, Callable[[AskedDefinition], str]] = {
    "COMMENT": lambda a: "" if a.comment is None else f"COMMENT {quote_text(a.comment)}",
    "PARTITIONED BY": lambda a: _if_given("PARTITIONED BY", a.partitioned_by, _names),
    "CLUSTER BY": lambda a: _if_given("CLUSTER BY", a.clustered_by, _names),
    "WITH": lambda a: _if_given("WITH", a.options, _options),
    "FRESHNESS": lambda a: _if_given("FRESHNESS =", a.freshness, lambda v: v.sql),
    "REFRESH_MODE": lambda a: _if_given("REFRESH_MODE =", a.refresh_mode, lambda v: v.value),
    "START_MODE": lambda a: _if_given("START_MODE =", a.start_mode, lambda v: v.sql),
    "STATE_RETENTION": lambda a: _if_given("STATE_RETENTION =", a.state_retention, lambda v: v.sql),
}


def _alter(node: Any, form: str) -> str:  # noqa: ANN401 - every node of ALTER has a name
    return f"ALTER MATERIALIZED TABLE {node.name.sql} {form}"


def _alter_query(node: nodes.AlterQuery) -> str:
    clauses = [
        _if_given("WITH", node.options, _options),
        _if_given("SET START_MODE =", node.start_mode, lambda v: v.sql),
        _if_given("SET STATE_RETENTION =", node.state_retention, lambda v: v.sql),
    ]
    given = [clause for clause in clauses if clause]
    return "\n".join([_alter(node, "").rstrip(), *given, "AS", node.query])


def _partition(node: nodes.Refresh) -> str:
    values = (f"{quote(v.column)} = {v.literal or 'NULL'}" for v in node.partition)
    return f"REFRESH PARTITION ({', '.join(values)})" if node.partition else "REFRESH"


def _set_freshness(node: nodes.SetFreshness) -> str:
    return f"SET FRESHNESS = {node.freshness.sql}" if node.freshness else "RESET FRESHNESS"


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
    nodes.Resume: lambda n: _alter(n, f"RESUME {_if_given('WITH', n.options, _options)}".strip()),
    nodes.Refresh: lambda n: _alter(n, _partition(n)),
    nodes.SetFreshness: lambda n: _alter(n, _set_freshness(n)),
    nodes.SetRefreshMode: lambda n: _alter(n, f"SET REFRESH_MODE = {n.refresh_mode.value}"),
    nodes.SetOptions: lambda n: _alter(n, f"SET {_options(n.options)}"),
    nodes.ResetOptions: lambda n: _alter(n, f"RESET ({', '.join(map(quote_text, n.keys))})"),
    nodes.SetComment: lambda n: _alter(n, f"SET COMMENT {quote_text(n.comment)}"),
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
