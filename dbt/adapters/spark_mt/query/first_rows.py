"""First rows of a sorted result, and how many rows an operator can have."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING

from sqlglot import exp

from dbt.adapters.spark_mt.query import operators as ops
from dbt.adapters.spark_mt.query.expressions import Attribute, Expression, Named

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MOST_FIRST = 10_000
"""Up to how many first rows: all of them are sorted at every refresh."""


@dataclass(frozen=True, slots=True)
class TopRows:
    """The last operators of a query with ORDER BY … LIMIT n.

    The stored result has no more than the first rows, so the rows after them are not known. None of
    them comes before the last stored row. A stored result with fewer than n rows has all rows.
    Candidates are the stored rows that stay and the rows that are added.

    If the result shows all that it is sorted by, its rows are the first n candidates, unless fewer
    than n of them are at or before the place of the last stored row.

    Otherwise the rows at the place of the last stored row have an order that is not known. Then as
    many candidates must be up to this place as there were stored rows, and no row at this place may
    be added or removed.

    Args:
        input: What is sorted.
        order: The expressions to sort by, over the columns of the result, up to the first one that
            uses another column.
        limit: The number of rows.
        hidden: The other expressions to sort by, without their directions, over the columns of the
            input of `input`, which is a projection.
    """

    input: ops.Operator
    order: tuple[Expression, ...]
    limit: Expression
    hidden: tuple[Expression, ...] = ()

    @classmethod
    def of(cls, root: ops.Operator) -> TopRows | None:
        """Return those of a tree; None where it has other ones, or too many rows."""
        if not isinstance(root, ops.Limit) or root.count is None or root.offset is not None:
            return None
        number = _number(root.count)
        found = _sorted(root.input)
        if number is None or number > MOST_FIRST or found is None:
            return None
        rows, order, written = found
        shown = ops.keys_in(rows)
        known = tuple(takewhile(lambda each: each.keys <= shown, order))
        hidden = tuple(Expression(each.tree.this) for each in written[len(known) :])
        return cls(rows, known, root.count, hidden)

    @property
    def is_whole(self) -> bool:
        """Whether the result shows all that it is sorted by."""
        return not self.hidden

    def sorted(self, ids: Iterator[int]) -> ops.Operator:
        """Return all rows in their order, with one more column for each hidden expression.

        Args:
            ids: Gives attributes an identity that the tree does not have yet.
        """
        rows = self.input
        if isinstance(rows, ops.Project):
            more = (Named(Attribute(next(ids), "order"), each) for each in self.hidden)
            rows = replace(rows, columns=(*rows.columns, *more))
        return ops.Sort(rows, self.order)

    def first(self, candidates: ops.Operator) -> ops.Operator:
        """Return the first rows of candidates."""
        rows = ops.Sort(candidates, self.order) if self.order else candidates
        return ops.Limit(rows, self.limit, None)

    def unknown(self, stored: str, candidates: str, changed: str = "") -> str:
        """Return a query that has a row where the first candidates may not be the result.

        Args:
            stored: A query: the stored rows of before, with the columns of the operator.
            candidates: A query: the candidates, with the same columns.
            changed: A query: the rows that are added or removed, with the same columns; only needed
                where the result does not show all that it is sorted by.
        """
        kinds = {"stored": stored, "candidate": candidates}
        kinds |= {} if self.is_whole else {"changed": changed}
        rows = "\nUNION ALL\n".join(
            f"SELECT *, '{kind}' AS `__mt_kind` FROM (\n{text}\n)" for kind, text in kinds.items()
        )
        order = ", ".join(each.sql for each in self.order)
        place = f"rank() OVER (ORDER BY {order})" if order else "1"
        stored_rows = "count_if(`__mt_kind` = 'stored')"
        last = "max(IF(`__mt_kind` = 'stored', `__mt_place`, 0))"
        return (
            "SELECT 1 AS `unknown` FROM (\n"
            f"SELECT `__mt_kind`, `__mt_place`, {stored_rows} OVER () AS `__mt_count`,"
            f" {last} OVER () AS `__mt_last` FROM (\n"
            f"SELECT `__mt_kind`, {place} AS `__mt_place` FROM (\n{rows}\n)\n)\n)\n"
            f"GROUP BY `__mt_count`, `__mt_last` HAVING {self._is_unknown()}"
        )

    def _is_unknown(self) -> str:
        """Return the condition on the numbers of rows by their kinds and places."""
        limit = self.limit.sql
        upto = "count_if(`__mt_kind` = 'candidate' AND `__mt_place` <= `__mt_last`)"
        if self.is_whole:
            return f"`__mt_count` >= {limit} AND {upto} < {limit}"
        at = "count_if(`__mt_kind` = 'changed' AND `__mt_place` = `__mt_last`)"
        every = "count_if(`__mt_kind` = 'candidate')"
        full = f"`__mt_count` >= {limit}"
        return f"IF({full}, {upto} <> {limit} OR {at} > 0, {every} > {limit})"


def _number(count: Expression) -> int | None:
    """Return a number that is written as one."""
    tree = count.tree
    return int(tree.name) if isinstance(tree, exp.Literal) and tree.is_int else None


def _sorted(
    node: ops.Operator,
) -> tuple[ops.Operator, tuple[Expression, ...], tuple[Expression, ...]] | None:
    """Return sorted rows without their order, the order over their columns, and as it is written.

    A projection may follow the sort: an expression to sort by may be one of its columns.
    """
    project = node if isinstance(node, ops.Project) else None
    chain: list[ops.Apply] = []
    node = project.input if project is not None else node
    while project is not None and isinstance(node, ops.Apply):
        chain.append(node)
        node = node.input
    if not isinstance(node, ops.Sort) or node.local or not node.order:
        return None
    if project is None:
        return node.input, node.order, node.order
    rows = node.input
    for each in reversed(chain):
        rows = each.over(rows, each.query)
    named = {c.expression.tree: c.attribute.expression.tree for c in reversed(project.columns)}
    values = {tree: shown for tree, shown in named.items() if not isinstance(tree, exp.Literal)}
    return project.over(rows), tuple(_shown(each, values) for each in node.order), node.order


def _shown(ordered: Expression, values: Mapping[exp.Expr, exp.Expr]) -> Expression:
    """Return an expression to sort by, with the columns of the result that it computes."""

    def changed(node: exp.Expr) -> exp.Expr:
        return values[node].copy() if node in values else node

    return Expression(ordered.tree.copy().transform(changed, copy=False))


def without_needless_limits(root: ops.Operator) -> ops.Operator:
    """Return a tree without each LIMIT that its input cannot exceed."""

    def changed(node: ops.Operator) -> ops.Operator:
        if not isinstance(node, ops.Limit) or node.count is None or node.offset is not None:
            return node
        most, number = most_rows(node.input), _number(node.count)
        return node.input if most is not None and number is not None and most <= number else node

    return ops.transform(root, changed)


def most_rows(node: ops.Operator) -> int | None:
    """Return how many rows an operator has at most; None where there is no bound."""
    most = None
    match node:
        case ops.Aggregate(groups=(), sets=None) | ops.Values(text=""):
            most = 1
        case ops.Limit(input=rows, count=count):
            bounds = (most_rows(rows), _number(count) if count is not None else None)
            most = min((each for each in bounds if each is not None), default=None)
        case ops.Join():
            most = _most_pairs(node)
        case ops.Union(branches=branches):
            counts = [each for each in map(most_rows, branches) if each is not None]
            most = sum(counts) if len(counts) == len(branches) else None
        case (
            ops.Project() | ops.Filter() | ops.Sort() | ops.Distinct() | ops.Window() | ops.Apply()
        ):
            most = most_rows(node.inputs[0])
        case _:
            pass
    return most


def _most_pairs(node: ops.Join) -> int | None:
    left = most_rows(node.left)
    if node.kind in {ops.JoinKind.SEMI, ops.JoinKind.ANTI}:
        return left
    right = most_rows(node.right)
    if left is None or right is None:
        return None
    return left * right if node.kind in ops.INNER_JOINS else left * right + left + right
