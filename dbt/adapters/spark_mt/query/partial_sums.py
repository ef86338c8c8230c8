"""Division of a grouped query: the partial sums of each group, and the rest of the query over them.

The values that a table shows of a group may not be enough to add a change to them: a sum without
its number of values cannot become NULL again, and an average cannot be updated. The partial sums of
a group can: the number of its rows, and for each argument the number and the sum of its values.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.query.decorrelation import (
    call_of,
    fresh_ids,
    without_subqueries,
)
from dbt.adapters.spark_mt.query.expressions import AggregateCall, Attribute, Expression, Named
from dbt.adapters.spark_mt.query.operators import (
    Aggregate,
    Distinct,
    Filter,
    Operator,
    Project,
    Scan,
    Sort,
    Tree,
    scans,
    transform,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


ROWS = "rows"
"""The column of the partial sums with the number of rows of a group."""
_NOWHERE = TableName("")
_AVERAGES = frozenset({"avg", "mean"})
_COUNTS = frozenset({"count", "count_if"})
_KNOWN = _AVERAGES | _COUNTS | {"sum"}
_EXACT = ("TINYINT", "SMALLINT", "INT", "BIGINT", "DECIMAL")


@dataclass(frozen=True, slots=True)
class PartialSums:
    """A query as one over the partial sums of its groups.

    Args:
        sums: The query of the partial sums.
        keys: The columns of the partial sums that name a group.
        averages: The columns with sums of which the query shows averages.
        nodes: The operators over the partial sums.
        columns: The names of the query's result.
    """

    sums: Tree
    keys: tuple[str, ...]
    averages: frozenset[str]
    nodes: Operator
    columns: tuple[str, ...]

    @property
    def relations(self) -> dict[int, str]:
        """The relations of the partial sums, by the occurrence of their scans."""
        found = scans(self.sums.root)
        return {scan.occurrence: str(scan.relation) for scan in found if not scan.version}

    @property
    def shown_keys(self) -> tuple[str, ...]:
        """The columns of the result that show the keys of a group; none unless it shows all."""
        names = dict(zip((a.key for a in self.nodes.output), self.columns, strict=True))
        node = self.nodes
        while not isinstance(node, Scan):
            if isinstance(node, Project):
                columns = [(c.expression.attribute, c.attribute.key) for c in node.columns]
                names = {inner: names[key] for inner, key in columns if inner and key in names}
            (node,) = node.inputs
        found = {a.name: names[a.key] for a in node.output if a.key in names}
        return tuple(found[key] for key in self.keys) if found.keys() >= {*self.keys} else ()

    def over(self, relation: TableName) -> Tree:
        """Return the query over a relation with the partial sums."""
        placed = transform(self.nodes, lambda node: _at(node, relation))
        return Tree(placed, self.columns)

    def are_exact(self, types: Mapping[str, str]) -> bool:
        """Whether sums of these types do not depend on the order in which they are added.

        The average of decimal numbers is rounded otherwise than the quotient of their sum.

        Args:
            types: The types of the columns of the partial sums.
        """
        sums = {name: type_ for name, type_ in types.items() if name.startswith("sum_")}
        exact = all(type_.upper().startswith(_EXACT) for type_ in sums.values())
        return exact and not any(sums[name].upper().startswith("DECIMAL") for name in self.averages)


def partial_sums(tree: Tree) -> PartialSums | None:
    """Return a query as one over partial sums; None where it is no such query."""
    if tree.gaps:
        return None
    ids = fresh_ids(tree.root)
    root = transform(without_subqueries(tree.root, ids), _unsorted)
    node = root
    while isinstance(node, (Project, Filter)):
        node = node.input
    groups = _groups(node)
    if groups is None:
        return None
    division = _Division(ids)
    values = tuple((call, division.value(call)) for call in groups.calls)
    found = tuple((call, value) for call, value in values if value is not None)
    if len(found) < len(values):
        return None
    return division.divided(root, node, groups, found, tree.columns)


def _groups(node: Operator) -> Aggregate | None:
    """Return an operator as one of groups of equal expressions; None if it is none."""
    if isinstance(node, Distinct):
        return Aggregate(node.input, tuple(Named(a, a.expression) for a in node.output), ())
    if not isinstance(node, Aggregate) or node.sets is not None:
        return None
    sessions = any("session_window" in group.expression.calls for group in node.groups)
    return None if sessions else node


@dataclass
class _Division:
    """Collects the partial sums that calls need."""

    ids: Iterator[int]
    calls: dict[str, AggregateCall] = field(default_factory=dict)
    averages: set[str] = field(default_factory=set)

    def value(self, call: AggregateCall) -> exp.Expr | None:
        """Return the value of a call over the partial sums; None where there is none."""
        if not call.plain or call.distinct or call.name not in _KNOWN:
            return None
        if call.name == "count_if" or len(call.arguments) != 1:
            is_whole = call.condition is None and call.name in _COUNTS
            return self._count(call.name, call.arguments) if is_whole else None
        argument = _conditional(call)
        if call.name == "count":
            return self._count("count", (argument,))
        count, total = self._count("count", (argument,)), self._sum(argument)
        if call.name in _AVERAGES:
            self.averages.add(total.name)
            value: exp.Expr = exp.Div(this=_double(total), expression=_double(count))
        else:
            value = total
        some = exp.GT(this=count, expression=exp.Literal.number(0))
        return exp.Case(ifs=[exp.If(this=some, true=value)])

    def _count(self, name: str, arguments: tuple[Expression, ...]) -> exp.Expr:
        if not arguments:
            return self._added("count(*)", ROWS, "count", ())
        text = ", ".join(argument.sql for argument in arguments)
        return self._added(f"{name}({text})", "count", name, arguments)

    def _sum(self, argument: Expression) -> exp.Expr:
        return self._added(f"sum({argument.sql})", "sum", "sum", (argument,))

    def _added(
        self, text: str, column: str, name: str, arguments: tuple[Expression, ...]
    ) -> exp.Expr:
        if text not in self.calls:
            column = column if column == ROWS else f"{column}_{len(self.calls)}"
            attribute = Attribute(next(self.ids), column)
            call = AggregateCall(attribute, call_of(name, *arguments), name, arguments)
            self.calls[text] = call
        return exp.column(self.calls[text].attribute.name)

    def divided(
        self,
        root: Operator,
        replaced: Operator,
        node: Aggregate,
        values: Sequence[tuple[AggregateCall, exp.Expr]],
        columns: tuple[str, ...],
    ) -> PartialSums:
        """Return the query over the partial sums that `value` collected."""
        self._count("count", ())
        calls = tuple(self.calls.values())
        keys = [Attribute(next(self.ids), f"key_{n}") for n in range(len(node.groups))]
        shown = (
            *(Named(key, g.attribute.expression) for key, g in zip(keys, node.groups, strict=True)),
            *(Named(c.attribute, c.attribute.expression) for c in calls),
        )
        sums = Project(Aggregate(node.input, node.groups, calls), shown)
        names = tuple(each.attribute.name for each in shown)
        stored = Scan(0, _NOWHERE, tuple(Attribute(next(self.ids), name) for name in names))
        by_name = {a.name: a.expression.tree for a in stored.output}
        results = (
            *(
                Named(g.attribute, Expression(by_name[key.name]))
                for key, g in zip(keys, node.groups, strict=True)
            ),
            *(Named(c.attribute, Expression(v).over(by_name)) for c, v in values),
        )
        nodes = _replaced(root, replaced, Project(stored, results))
        key_names = tuple(key.name for key in keys)
        return PartialSums(Tree(sums, names), key_names, frozenset(self.averages), nodes, columns)


def _replaced(root: Operator, old: Operator, new: Operator) -> Operator:
    """Return a chain of operators with another one in the place of the last."""
    return new if root is old else root.over(_replaced(root.inputs[0], old, new))


def _double(tree: exp.Expr) -> exp.Expr:
    return exp.Cast(this=tree.copy(), to=exp.Var(this="DOUBLE"))


def _conditional(call: AggregateCall) -> Expression:
    """Return the argument of a call, NULL for rows that its FILTER leaves out."""
    (argument,) = call.arguments
    if call.condition is None:
        return argument
    branch = exp.If(this=call.condition.tree.copy(), true=argument.tree.copy())
    return Expression(exp.Case(ifs=[branch]))


def _unsorted(node: Operator) -> Operator:
    return node.input if isinstance(node, Sort) else node


def _at(node: Operator, relation: TableName) -> Operator:
    if isinstance(node, Scan):
        return Scan(node.occurrence, relation, node.output)
    return node
