"""Algebraic aggregates: the stored values of a group, combined with those of its change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from dbt.adapters.spark_mt.query.decorrelation import call_of
from dbt.adapters.spark_mt.query.expressions import AggregateCall, Attribute, Expression, Named
from dbt.adapters.spark_mt.query.operators import (
    Aggregate,
    Filter,
    Operator,
    Project,
    Union,
)
from dbt.adapters.spark_mt.query.types import parse_type

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_COUNTS = frozenset({"count", "count_if"})
_EXTREMES = {"max": "max", "min": "min", "bool_or": "max", "any": "max", "some": "max"}
_EXTREMES |= {"bool_and": "min", "every": "min"}
_EXACT = frozenset({"TINYINT", "SMALLINT", "INT", "BIGINT", "DECIMAL"})


@dataclass(frozen=True, slots=True)
class AlgebraicResult:
    """A result whose rows are groups, and whose columns are groups and values that can be combined.

    Args:
        root: The last operator.
        aggregate: Groups its rows.
        calls: For each column of the result the call that it shows; None for a group.
        types: The types of the columns.
    """

    root: Operator
    aggregate: Aggregate
    calls: tuple[AggregateCall | None, ...]
    types: tuple[str, ...]

    @classmethod
    def of(cls, root: Operator, types: Sequence[str], *, removes: bool) -> AlgebraicResult | None:
        """Return a result as one of groups; None where its rows cannot be combined with a change.

        Args:
            root: The last operator.
            types: The types of its columns; none where they are not known.
            removes: Whether the change of the aggregate's input removes rows.
        """
        shown = [attribute.key for attribute in root.output]
        node = root
        while isinstance(node, Project):
            trees = {c.attribute.key: c.expression.attribute for c in node.columns}
            shown = [trees.get(key, "") for key in shown]
            node = node.input
        if not isinstance(node, Aggregate) or node.sets is not None:
            return None
        groups = {g.attribute.key for g in node.groups}
        calls = {c.attribute.key: c for c in node.calls}
        if not groups <= set(shown) or not set(shown) <= groups | calls.keys():
            return None
        if any("session_window" in g.expression.calls for g in node.groups):
            return None
        found = tuple(calls.get(key) for key in shown)
        result = cls(root, node, found, tuple(types) or ("",) * len(shown))
        return result if result._is_combinable(removes=removes) else None

    def _is_combinable(self, *, removes: bool) -> bool:
        if removes and self.aggregate.groups and self.rows is None:
            return False
        for call, type_ in zip(self.calls, self.types, strict=True):
            if call is None or (call.name in _COUNTS and _is_plain(call)):
                continue
            if call.name == "sum" and _is_plain(call) and _is_exact(type_):
                if removes and self._values(call) is None:
                    return False
            elif removes or call.name not in _EXTREMES or not _is_plain(call):
                return False
        return True

    @property
    def rows(self) -> Attribute | None:
        """The column with the number of rows of a group."""
        for call, attribute in self._shown():
            if call.name == "count" and call.condition is None and _counts_rows(call):
                return attribute
        return None

    def _values(self, call: AggregateCall) -> Attribute | None:
        """Return the column with the number of values that a sum adds."""
        for other, attribute in self._shown():
            same = other.arguments == call.arguments or (
                _counts_rows(other) and all(_is_never_null(a.tree) for a in call.arguments)
            )
            if other.name == "count" and same and other.condition == call.condition:
                return attribute
        return None

    def _shown(self) -> list[tuple[AggregateCall, Attribute]]:
        pairs = zip(self.calls, self.root.output, strict=True)
        return [(call, attribute) for call, attribute in pairs if call is not None]

    @property
    def groups(self) -> tuple[Attribute, ...]:
        """The columns of the result that name a group."""
        pairs = zip(self.calls, self.root.output, strict=True)
        return tuple(attribute for call, attribute in pairs if call is None)

    def over(self, rows: Operator) -> Operator:
        """Return the result of other rows."""

        def replaced(node: Operator) -> Operator:
            if node is self.aggregate:
                return self.aggregate.over(rows)
            return node.over(*map(replaced, node.inputs))

        return replaced(self.root)

    def negative(self, rows: Operator) -> Operator:
        """Return the result of other rows, with the opposite of each value."""
        node = self.over(rows)
        columns = (
            Named(a, Expression(exp.Neg(this=a.expression.tree)) if call else a.expression)
            for call, a in zip(self.calls, self.root.output, strict=True)
        )
        return Project(node, tuple(columns))

    def combined(
        self, parts: Sequence[Operator], attribute: Callable[[str], Attribute], *, removes: bool
    ) -> Operator:
        """Return one row for each group, of the stored row and of the change of the group.

        Args:
            parts: Rows with the columns of the result: the stored ones and the changes.
            attribute: Returns a new attribute.
            removes: Whether a group may have no rows any more.
        """
        groups = tuple(Named(a, a.expression) for a in self.groups)
        calls: dict[str, AggregateCall] = {}
        for call, shown in self._shown():
            name = _EXTREMES.get(call.name, "sum")
            total = call_of(name, shown.expression)
            calls[shown.key] = AggregateCall(attribute(name), total, name, (shown.expression,))
        rows: Operator = Union(tuple(parts), self.root.output)
        rows = Aggregate(rows, groups, tuple(calls.values()))
        totals = {key: call.attribute for key, call in calls.items()}
        if removes and groups and self.rows is not None:
            left = totals[self.rows.key].expression.tree
            zero = exp.Literal.number(0)
            rows = Filter(rows, Expression(exp.GT(this=left, expression=zero)))
        columns = []
        for shown, call_, type_ in zip(self.root.output, self.calls, self.types, strict=True):
            tree = totals[shown.key].expression.tree if call_ else shown.expression.tree
            if call_ is not None and call_.name == "sum":
                tree = exp.Cast(this=tree, to=exp.Var(this=parse_type(type_).ddl))
                count = self._values(call_) if removes else None
                tree = _unless_empty(tree, totals[count.key]) if count is not None else tree
            elif call_ is not None and call_.name in _COUNTS:
                tree = exp.Cast(this=tree, to=exp.Var(this="BIGINT"))
            columns.append(Named(shown, Expression(tree)))
        return Project(rows, tuple(columns))


def _unless_empty(tree: exp.Expr, count: Attribute) -> exp.Expr:
    some = exp.GT(this=count.expression.tree, expression=exp.Literal.number(0))
    return exp.Case(ifs=[exp.If(this=some, true=tree)])


def _is_plain(call: AggregateCall) -> bool:
    return call.plain and not call.distinct


def _counts_rows(call: AggregateCall) -> bool:
    return all(_is_never_null(argument.tree) for argument in call.arguments)


def _is_exact(type_: str) -> bool:
    return bool(type_) and parse_type(type_).name in _EXACT


def _is_never_null(tree: exp.Expr) -> bool:
    tree = tree.unnest()
    if isinstance(tree, exp.Case):
        branches = [branch.args["true"] for branch in tree.args["ifs"]]
        default = tree.args.get("default")
        return default is not None and all(map(_is_never_null, [*branches, default]))
    if isinstance(tree, exp.Anonymous) and str(tree.this).lower() == "coalesce":
        return any(map(_is_never_null, tree.expressions))
    return isinstance(tree, (exp.Literal, exp.Boolean))
