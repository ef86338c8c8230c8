"""SQL of an operator tree over any relations in the place of its scans."""

from __future__ import annotations

from functools import singledispatchmethod
from typing import TYPE_CHECKING, NoReturn

from sqlglot import exp

from dbt.adapters.spark_mt.definition.columns import quote
from dbt.adapters.spark_mt.query import operators as ops
from dbt.adapters.spark_mt.query.bags import BagColumn, difference_query
from dbt.adapters.spark_mt.query.boundary import guarded
from dbt.adapters.spark_mt.query.expressions import Expression, SubqueryKind, substituted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


_ONE = "1 AS `1#0`"
"""The column of rows without columns."""


class NotRenderedError(Exception):
    """An operator has no SQL; the message has the reason."""


def render(
    node: ops.Operator,
    inputs: Mapping[int, str] | None = None,
    shared: Mapping[int, str] | None = None,
) -> str:
    """Return the SQL of an operator; its columns have the keys of the attributes as names.

    Args:
        node: The operator.
        inputs: The SQL of relations, by the occurrence of a scan. Each is a name or a query in
            parentheses, and has the columns of the table by their names. Scans without one read
            their table.
        shared: The relations with the shared rows, by their numbers.

    Raises:
        NotRenderedError: It contains an opaque part.
    """
    return _Renderer(inputs or {}, shared or {}).rendered(node)


def not_rendered(problem: str) -> NoReturn:
    """Refuse to render what could not be understood."""
    raise NotRenderedError(problem)


@guarded(not_rendered, NotRenderedError)
def render_query(tree: ops.Tree, inputs: Mapping[int, str] | None = None) -> str:
    """Return the SQL of a whole query, with the names of its result.

    Raises:
        NotRenderedError: The tree has gaps.
    """
    if tree.gaps:
        raise NotRenderedError("; ".join(problem for _, problem in tree.gaps))
    columns = [a.expression for a in tree.root.output]
    return named(columns, tree.columns, render(tree.root, inputs))


def named(columns: Iterable[Expression], names: Iterable[str], rows: str) -> str:
    """Return a query for some columns of other rows, with other names."""
    pairs = zip(columns, names, strict=True)
    listed = ", ".join(f"{column.sql} AS {quote(name)}" for column, name in pairs)
    return f"SELECT {listed} FROM (\n{rows}\n)"


class _Renderer:
    def __init__(self, inputs: Mapping[int, str], shared: Mapping[int, str]) -> None:
        self._inputs = inputs
        self._shared = shared

    @singledispatchmethod
    def rendered(self, node: ops.Operator) -> str:
        raise NotRenderedError(type(node).__name__)

    @rendered.register
    def _(self, node: ops.Opaque) -> str:
        raise NotRenderedError(node.problem)

    @rendered.register
    def _(self, node: ops.Scan) -> str:
        columns = ", ".join(f"{quote(a.name)} AS {a.sql}" for a in node.output)
        relation = self._inputs.get(node.occurrence, node.sql)
        return f"SELECT {columns or _ONE} FROM {relation}"

    @rendered.register
    def _(self, node: ops.Values) -> str:
        if not node.output:
            return f"SELECT {_ONE}"
        return _columns_of(node.text, node)

    @rendered.register
    def _(self, node: ops.Shared) -> str:
        return _columns_of(self._shared[node.number], node)

    @rendered.register
    def _(self, node: ops.Difference) -> str:
        columns = [BagColumn(a.sql, exact=False) for a in node.output]
        text = difference_query(columns, self.rendered(node.left), self.rendered(node.right))
        return _columns_of(f"(\n{text}\n)", node)

    @rendered.register
    def _(self, node: ops.Filter) -> str:
        rows, values = self._opened(node.input)
        return f"SELECT * FROM {rows} WHERE {_sql(node.condition, values)}"

    @rendered.register
    def _(self, node: ops.Project) -> str:
        rows, values = self._opened(node.input)
        columns = ", ".join(
            f"{_sql(c.expression, values)} AS {c.attribute.sql}" for c in node.columns
        )
        return f"SELECT {columns or _ONE} FROM {rows}"

    @rendered.register
    def _(self, node: ops.Apply) -> str:
        rows, values = self._opened(node)
        added = ", ".join(f"{value.sql()} AS {quote(key)}" for key, value in values.items())
        return f"SELECT *, {added} FROM {rows}"

    @rendered.register
    def _(self, node: ops.Generate) -> str:
        rows, values = self._opened(node.input)
        already = any(name.endswith("_outer") for name in node.generator.calls)
        outer = "OUTER " if node.outer and not already else ""
        names = ", ".join(a.sql for a in node.generated)
        call = _sql(node.generator, values)
        return f"SELECT * FROM {rows} LATERAL VIEW {outer}{call} _ AS {names}"

    @rendered.register
    def _(self, node: ops.Join) -> str:
        parts = [key.sql for key in node.keys]
        parts += [f"({node.condition.sql})"] if node.condition is not None else []
        kind = ops.JoinKind.INNER if node.kind is ops.JoinKind.CROSS and parts else node.kind
        on = f" ON {' AND '.join(parts)}" if parts else ""
        if not parts and kind is not ops.JoinKind.CROSS:
            on = " ON true"
        return (
            f"SELECT * FROM {self._nested(node.left)} {kind.value} {self._nested(node.right)}{on}"
        )

    @rendered.register
    def _(self, node: ops.Aggregate) -> str:
        # NOT applies to IN only in one expression with it: a value is never computed before.
        rows, values = self._opened(node.input)
        columns = [f"{g.expression.sql} AS {g.attribute.sql}" for g in node.groups]
        columns += [f"{_sql(c.expression, values)} AS {c.attribute.sql}" for c in node.calls]
        groups = [_group(g.expression) for g in node.groups]
        by = f" GROUP BY {', '.join(groups)}" if groups else ""
        if node.sets is not None:
            sets = ", ".join(f"({', '.join(groups[i] for i in each)})" for each in node.sets)
            by = f" GROUP BY GROUPING SETS ({sets})"
        return f"SELECT {', '.join(columns) or _ONE} FROM {rows}{by}"

    @rendered.register
    def _(self, node: ops.Window) -> str:
        calls = ", ".join(f"{c.expression.sql} AS {c.attribute.sql}" for c in node.calls)
        return f"SELECT *, {calls} FROM {self._nested(node.input)}"

    @rendered.register
    def _(self, node: ops.Distinct) -> str:
        return f"SELECT DISTINCT * FROM {self._nested(node.input)}"

    @rendered.register
    def _(self, node: ops.Union) -> str:
        return self._united(node, "UNION ALL")

    @rendered.register
    def _(self, node: ops.SetOperation) -> str:
        kind = "INTERSECT" if node.intersect else "EXCEPT"
        return self._united(node, f"{kind} ALL" if node.all_rows else kind)

    @rendered.register
    def _(self, node: ops.Sort) -> str:
        by = ", ".join(e.sql for e in node.order)
        kind = "SORT BY" if node.local else "ORDER BY"
        return f"SELECT * FROM {self._nested(node.input)}" + (f" {kind} {by}" if by else "")

    @rendered.register
    def _(self, node: ops.Limit) -> str:
        sorted_ = isinstance(node.input, ops.Sort) and not node.input.local
        rows = self.rendered(node.input) if sorted_ else f"SELECT * FROM {self._nested(node.input)}"
        count = f" LIMIT {node.count.sql}" if node.count is not None else ""
        offset = f" OFFSET {node.offset.sql}" if node.offset is not None else ""
        return f"{rows}{count}{offset}"

    def _nested(self, node: ops.Operator) -> str:
        return f"(\n{self.rendered(node)}\n)"

    def _opened(self, node: ops.Operator) -> tuple[str, dict[str, exp.Expr]]:
        """Return the text after FROM, and the SQL of the subqueries of `Apply`, by key."""
        values: dict[str, exp.Expr] = {}
        while isinstance(node, ops.Apply):
            query = self._nested(node.query)
            if node.kind is SubqueryKind.IN:
                query = f"({', '.join(o.sql for o in node.operands)}) IN {query}"
            elif node.kind is SubqueryKind.EXISTS:
                query = f"EXISTS {query}"
            values[node.attribute.key] = exp.Paren(this=exp.Var(this=query))
            node = node.input
        return self._nested(node), values

    def _united(self, node: ops.Operator, between: str) -> str:
        """Rename the columns of the first side, which name the result."""
        first, *others = node.inputs
        pairs = zip(first.output, node.output, strict=True)
        columns = ", ".join(f"{ours.sql} AS {theirs.sql}" for ours, theirs in pairs)
        texts = [f"SELECT {columns} FROM {self._nested(first)}"]
        texts += [f"SELECT * FROM {self._nested(side)}" for side in others]
        return f"\n{between}\n".join(texts)


def _columns_of(relation: str, node: ops.Operator) -> str:
    return f"SELECT * FROM {relation} AS _({', '.join(a.sql for a in node.output)})"


def _sql(expression: Expression, values: Mapping[str, exp.Expr]) -> str:
    return Expression(substituted(expression.tree, values)).sql if values else expression.sql


def _group(expression: Expression) -> str:
    """Return a grouping expression; a bare number would be the place of a column."""
    number = isinstance(expression.tree.unnest(), exp.Literal)
    return f"coalesce({expression.sql})" if number else expression.sql
