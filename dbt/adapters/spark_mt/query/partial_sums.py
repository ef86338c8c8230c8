"""Sums of groups to which a change can be added: those that a table shows, and partial sums.

The values that a table shows of a group may be enough to add a change to them. A sum without its
number of values is: without values it is 0 after the change, so any other sum has some. Only a sum
of 0 may have become NULL, where values went and none came. An average cannot be updated. The
partial sums of a group can: the number of its rows, and for each argument the number and the sum
of its values. Then the query is the rest of it over these sums.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from sqlglot import exp

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.query import expressions as exprs
from dbt.adapters.spark_mt.query import grouping_sets
from dbt.adapters.spark_mt.query import operators as ops
from dbt.adapters.spark_mt.query.boundary import guarded
from dbt.adapters.spark_mt.query.operator_sql import NotRenderedError, not_rendered
from dbt.adapters.spark_mt.query.subqueries import fresh_ids, without_subqueries
from dbt.adapters.spark_mt.query.types import DataType, parse_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from dbt.adapters.spark_mt.definition.columns import QueryContext

ROWS = "rows"
"""The column of the partial sums with the number of rows of a group."""
_NOWHERE = TableName("")
_AVERAGES = frozenset({"avg", "mean"})
_COUNTS = frozenset({"count", "count_if"})
_KNOWN = _AVERAGES | _COUNTS | {"sum"}
_EXTREMES = {"max": "max", "min": "min", "bool_or": "max", "any": "max", "some": "max"}
_EXTREMES |= {"bool_and": "min", "every": "min"}
_ANSI = "spark.sql.ansi.enabled"
_WIDEST = frozenset(DataType("DECIMAL", (38, scale)) for scale in range(39))
_EXACT = frozenset({"TINYINT", "SMALLINT", "INT", "BIGINT", "DECIMAL"})


def _none(_: str) -> tuple[str, ...]:
    return ()


def _no(_: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class CombinedSums:
    """Rows of groups after a change.

    Args:
        rows: The rows.
        unknown: The column that is true where a sum may be 0 or NULL; None where all are known.
    """

    rows: ops.Operator
    unknown: exprs.Attribute | None = None


@dataclass(frozen=True, slots=True)
class AddedSums:
    """The change of groups, each part with the columns of the result.

    Args:
        gained: The sums of the rows that came; None for none.
        lost: The opposite of the sums of the rows that went; None for none.
    """

    gained: ops.Operator | None
    lost: ops.Operator | None

    @property
    def parts(self) -> tuple[ops.Operator, ...]:
        """What is added."""
        return tuple(part for part in (self.gained, self.lost) if part is not None)


@dataclass(frozen=True, slots=True)
class _Marks:
    """What shows of some sums whether they may have become NULL.

    Args:
        sums: The columns with the sums.
        values: For each of them the column with what came, and the one with what went.
        calls: The sums of these columns.
    """

    sums: tuple[exprs.Attribute, ...]
    values: tuple[exprs.Attribute, ...]
    calls: tuple[exprs.AggregateCall, ...]

    @classmethod
    def of(
        cls, sums: tuple[exprs.Attribute, ...], attribute: Callable[[str], exprs.Attribute]
    ) -> _Marks:
        values = tuple(attribute(name) for _ in sums for name in ("gained", "lost"))
        calls = (exprs.call_of("sum", value.expression) for value in values)
        return cls(
            sums,
            values,
            tuple(
                exprs.AggregateCall(attribute("sum"), call, "sum", (value.expression,))
                for value, call in zip(values, calls, strict=True)
            ),
        )

    def on(
        self, part: ops.Operator, output: Sequence[exprs.Attribute], changes: AddedSums
    ) -> ops.Operator:
        """Return stored or changed rows with these columns.

        Args:
            part: The rows.
            output: The columns of the result, at the same places as those of the rows.
            changes: The changed rows.
        """
        if not self.sums:
            return part
        places = [output.index(each) for each in self.sums for _ in range(2)]
        sides = (changes.gained, changes.lost) * len(self.sums)
        columns = (
            exprs.Named(
                value,
                part.output[place].expression if part is side else exprs.Expression(exp.Null()),
            )
            for value, place, side in zip(self.values, places, sides, strict=True)
        )
        return ops.Project(part, (*exprs.passed_on(part.output), *columns))

    def unknown(
        self, totals: Sequence[exprs.Attribute], *, cancels: bool
    ) -> exprs.Expression | None:
        """Return whether one of the sums may be NULL: it is 0, values went and none came.

        Args:
            totals: The sums after the change.
            cancels: Whether what came may be gone again, so that it does not count.
        """
        found: list[exp.Expr] = []
        ends = [call.attribute.expression.tree for call in self.calls]
        for total, gained, lost in zip(totals, ends[::2], ends[1::2], strict=True):
            tree = total.expression.tree.copy()
            is_zero = exp.EQ(this=tree, expression=exp.Literal.number(0))
            none_came = exp.Is(this=gained.copy(), expression=exp.Null())
            some_went = exp.Not(this=exp.Is(this=lost.copy(), expression=exp.Null()))
            found.append(exp.and_(is_zero, some_went, *(() if cancels else (none_came,))))
        return exprs.Expression(exp.or_(*found)) if found else None


@dataclass(frozen=True, slots=True)
class AlgebraicResult:
    """A result whose rows are groups, and whose columns are groups and values that can be combined.

    Args:
        root: The last operator.
        aggregate: Groups its rows.
        calls: For each column of the result the call that it shows; None for a group.
        types: The types of the columns.
    """

    root: ops.Operator
    aggregate: ops.Aggregate
    calls: tuple[exprs.AggregateCall | None, ...]
    types: tuple[str, ...]

    @classmethod
    def of(
        cls, root: ops.Operator, types: Sequence[str], *, removes: bool
    ) -> AlgebraicResult | None:
        """Return a result as one of groups; None where its rows cannot be combined with a change.

        Args:
            root: The last operator.
            types: The types of its columns; none where they are not known.
            removes: Whether the change of the aggregate's input removes rows.
        """
        node, shown = ops.shown_below(root, ops.Project)
        if not isinstance(node, ops.Aggregate) or node.sets is not None:
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
                if removes and self._values(call) is None and not self.aggregate.groups:
                    return False
            elif removes or call.name not in _EXTREMES or not _is_plain(call):
                return False
        return True

    @property
    def rows(self) -> exprs.Attribute | None:
        """The column with the number of rows of a group."""
        for call, attribute in self._shown():
            if call.name == "count" and call.condition is None and _counts_rows(call):
                return attribute
        return None

    def _values(self, call: exprs.AggregateCall) -> exprs.Attribute | None:
        """Return the column with the number of values that a sum adds."""
        for other, attribute in self._shown():
            same = other.arguments == call.arguments or (
                _counts_rows(other) and all(_is_never_null(a.tree) for a in call.arguments)
            )
            if other.name == "count" and same and other.condition == call.condition:
                return attribute
        return None

    def _shown(self) -> list[tuple[exprs.AggregateCall, exprs.Attribute]]:
        pairs = zip(self.calls, self.root.output, strict=True)
        return [(call, attribute) for call, attribute in pairs if call is not None]

    @property
    def groups(self) -> tuple[exprs.Attribute, ...]:
        """The columns of the result that name a group."""
        pairs = zip(self.calls, self.root.output, strict=True)
        return tuple(attribute for call, attribute in pairs if call is None)

    @property
    def uncounted(self) -> tuple[exprs.Attribute, ...]:
        """The columns with sums whose number of values is not shown."""
        return tuple(
            attribute
            for call, attribute in self._shown()
            if call.name == "sum" and self._values(call) is None
        )

    def over(self, rows: ops.Operator) -> ops.Operator:
        """Return the result of other rows."""

        def replaced(node: ops.Operator) -> ops.Operator:
            if node is self.aggregate:
                return self.aggregate.over(rows)
            return node.over(*map(replaced, node.inputs))

        return replaced(self.root)

    def negative(self, rows: ops.Operator) -> ops.Operator:
        """Return the result of other rows, with the opposite of each value."""
        node = self.over(rows)
        columns = (
            exprs.Named(
                a, exprs.Expression(exp.Neg(this=a.expression.tree)) if call else a.expression
            )
            for call, a in zip(self.calls, self.root.output, strict=True)
        )
        return ops.Project(node, tuple(columns))

    def combined(
        self,
        stored: ops.Operator,
        changes: AddedSums,
        attribute: Callable[[str], exprs.Attribute],
        *,
        cancels: bool,
    ) -> CombinedSums:
        """Return one row for each group, of the stored row and of the change of the group.

        Args:
            stored: The stored rows.
            changes: What is added to them.
            attribute: Returns a new attribute.
            cancels: Whether a row may come and go in the change.
        """
        removes = changes.lost is not None
        groups = exprs.passed_on(self.groups)
        calls: dict[str, exprs.AggregateCall] = {}
        for call, shown in self._shown():
            name = _EXTREMES.get(call.name, "sum")
            total = exprs.call_of(name, shown.expression)
            calls[shown.key] = exprs.AggregateCall(
                attribute(name), total, name, (shown.expression,)
            )
        doubtful = self.uncounted if removes else ()
        marks = _Marks.of(doubtful, attribute)
        parts = tuple(
            marks.on(part, self.root.output, changes) for part in (stored, *changes.parts)
        )
        rows: ops.Operator = ops.Union(parts, (*self.root.output, *marks.values))
        rows = ops.Aggregate(rows, groups, (*calls.values(), *marks.calls))
        totals = {key: call.attribute for key, call in calls.items()}
        if removes and groups and self.rows is not None:
            left = totals[self.rows.key].expression.tree
            zero = exp.Literal.number(0)
            rows = ops.Filter(rows, exprs.Expression(exp.GT(this=left, expression=zero)))
        columns = []
        for shown, call_, type_ in zip(self.root.output, self.calls, self.types, strict=True):
            tree = totals[shown.key].expression.tree if call_ else shown.expression.tree
            if call_ is not None and call_.name == "sum":
                tree = exp.Cast(this=tree, to=exp.Var(this=parse_type(type_).ddl))
                count = self._values(call_) if removes else None
                if count is not None:
                    tree = _unless_empty(tree, totals[count.key].expression.tree)
            elif call_ is not None and call_.name in _COUNTS:
                tree = exp.Cast(this=tree, to=exp.Var(this="BIGINT"))
            columns.append(exprs.Named(shown, exprs.Expression(tree)))
        unknown = marks.unknown([totals[each.key] for each in doubtful], cancels=cancels)
        if unknown is None:
            return CombinedSums(ops.Project(rows, tuple(columns)))
        doubt = exprs.Named(attribute("unknown"), unknown)
        return CombinedSums(ops.Project(rows, (*columns, doubt)), doubt.attribute)


def _unless_empty(tree: exp.Expr, count: exp.Expr) -> exp.Expr:
    some = exp.GT(this=count, expression=exp.Literal.number(0))
    return exp.Case(ifs=[exp.If(this=some, true=tree)])


def _is_plain(call: exprs.AggregateCall) -> bool:
    return call.plain and not call.distinct


def _counts_rows(call: exprs.AggregateCall) -> bool:
    return all(_is_never_null(argument.tree) for argument in call.arguments)


@guarded(_none)
def summable_types(types: Iterable[str], context: QueryContext) -> tuple[str, ...]:
    """Return types, empty for those whose sum does not show whether it was too large.

    Without ANSI mode the sum of decimal numbers is NULL if it has more than 38 digits, and nothing
    can be added to that. A sum with fewer digits has room for 10,000,000,000 values.
    """
    if dict(context.confs).get(_ANSI, "true").lower() == "true":
        return tuple(types)
    return tuple("" if parse_type(type_) in _WIDEST else type_ for type_ in types)


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

    sums: ops.Tree
    keys: tuple[str, ...]
    averages: frozenset[str]
    nodes: ops.Operator
    columns: tuple[str, ...]

    @property
    @guarded(not_rendered, NotRenderedError)
    def relations(self) -> dict[int, str]:
        """The relations of the partial sums, by the occurrence of their scans."""
        found = ops.scans(self.sums.root)
        return {scan.occurrence: str(scan.relation) for scan in found if not scan.version}

    @property
    @guarded(_none)
    def shown_keys(self) -> tuple[str, ...]:
        """The columns of the result that show the keys of a group; none unless it shows all."""
        names = dict(zip((a.key for a in self.nodes.output), self.columns, strict=True))
        node = self.nodes
        while not isinstance(node, ops.Scan):
            if isinstance(node, ops.Project):
                columns = [(c.expression.attribute, c.attribute.key) for c in node.columns]
                names = {inner: names[key] for inner, key in columns if inner and key in names}
            (node,) = node.inputs
        found = {a.name: names[a.key] for a in node.output if a.key in names}
        return tuple(found[key] for key in self.keys) if found.keys() >= {*self.keys} else ()

    @guarded(not_rendered, NotRenderedError)
    def over(self, relation: TableName) -> ops.Tree:
        """Return the query over a relation with the partial sums.

        Raises:
            NotRenderedError: There is none.
        """

        def placed(node: ops.Operator) -> ops.Operator:
            return replace(node, relation=relation) if isinstance(node, ops.Scan) else node

        return ops.Tree(ops.transform(self.nodes, placed), self.columns)

    @guarded(_no)
    def are_exact(self, types: Mapping[str, str]) -> bool:
        """Whether sums of these types do not depend on the order in which they are added.

        The average of decimal numbers is rounded otherwise than the quotient of their sum.

        Args:
            types: The types of the columns of the partial sums, as `summable_types` returns them.
        """
        sums = {name: type_ for name, type_ in types.items() if name.startswith("sum_")}
        decimal = any(sums[name].upper().startswith("DECIMAL") for name in self.averages)
        return not decimal and all(map(_is_exact, sums.values()))


@lru_cache(maxsize=32)
def partial_sums(tree: ops.Tree) -> PartialSums | None:
    """Return a query as one over partial sums; None where it is no such query."""
    if tree.gaps:
        return None
    ids = fresh_ids(tree.root)
    joined = without_subqueries(tree.root, ids)
    root = ops.without_sorts(grouping_sets.expanded(joined, ids, lambda _: True))
    node = root
    while isinstance(node, (ops.Project, ops.Filter)):
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


def _groups(node: ops.Operator) -> ops.Aggregate | None:
    """Return an operator as one of groups of equal expressions; None if it is none."""
    if isinstance(node, ops.Distinct):
        return ops.Aggregate(node.input, exprs.passed_on(node.output), ())
    if not isinstance(node, ops.Aggregate) or node.sets is not None:
        return None
    sessions = any("session_window" in group.expression.calls for group in node.groups)
    return None if sessions else node


@dataclass
class _Division:
    """Collects the partial sums that calls need."""

    ids: Iterator[int]
    calls: dict[exprs.Expression, exprs.AggregateCall] = field(default_factory=dict)
    averages: set[str] = field(default_factory=set)

    def value(self, call: exprs.AggregateCall) -> exp.Expr | None:
        """Return the value of a call over the partial sums; None where there is none."""
        if not _is_plain(call) or call.name not in _KNOWN:
            return None
        if call.name == "count_if" or len(call.arguments) != 1:
            is_whole = call.condition is None and call.name in _COUNTS
            return self._column(call.name, *call.arguments) if is_whole else None
        argument = _conditional(call)
        if call.name in _AVERAGES:
            return self._average(argument.tree)
        count = self._column("count", argument)
        is_count = call.name == "count"
        return count if is_count else _unless_empty(self._column("sum", argument), count)

    def _average(self, argument: exp.Expr) -> exp.Expr:
        """Return an average. Spark adds its values as DOUBLE: a sum of BIGINT would overflow.

        Only a sum that never has values shows the type of the values. Every sum needs the count of
        its values too, also this one: a group without values has NULL, not 0.
        """
        never = exprs.Expression(exp.Case(ifs=[exp.If(this=exp.false(), true=argument.copy())]))
        whole = exprs.Expression(exp.Cast(this=argument.copy(), to=exp.Var(this="DECIMAL(20, 0)")))
        self._column("count", never)
        self.averages.add(self._column("sum", never).name)
        count, total = self._column("count", whole), self._column("sum", whole)
        return _unless_empty(exp.Div(this=_double(total), expression=_double(count)), count)

    def _column(self, name: str, *arguments: exprs.Expression) -> exp.Expr:
        """Return the column with a sum or a count, which is added if it is not there yet."""
        call = exprs.call_of(name, *arguments)
        if call not in self.calls:
            kind = "sum" if name == "sum" else "count"
            column = f"{kind}_{len(self.calls)}" if arguments else ROWS
            attribute = exprs.Attribute(next(self.ids), column)
            self.calls[call] = exprs.AggregateCall(attribute, call, name, arguments)
        return exp.column(self.calls[call].attribute.name)

    def divided(
        self,
        root: ops.Operator,
        replaced: ops.Operator,
        node: ops.Aggregate,
        values: Sequence[tuple[exprs.AggregateCall, exp.Expr]],
        columns: tuple[str, ...],
    ) -> PartialSums:
        """Return the query over the partial sums that `value` collected."""
        self._column("count")
        calls = tuple(self.calls.values())
        keys = [exprs.Attribute(next(self.ids), f"key_{n}") for n in range(len(node.groups))]
        shown = (
            *(
                exprs.Named(key, g.attribute.expression)
                for key, g in zip(keys, node.groups, strict=True)
            ),
            *exprs.passed_on(c.attribute for c in calls),
        )
        sums = ops.Project(ops.Aggregate(node.input, node.groups, calls), shown)
        names = tuple(each.attribute.name for each in shown)
        stored = ops.Scan(
            0, _NOWHERE, tuple(exprs.Attribute(next(self.ids), name) for name in names)
        )
        by_name = {a.name: a.expression.tree for a in stored.output}
        results = (
            *(
                exprs.Named(g.attribute, exprs.Expression(by_name[key.name]))
                for key, g in zip(keys, node.groups, strict=True)
            ),
            *(exprs.Named(c.attribute, exprs.Expression(v).over(by_name)) for c, v in values),
        )
        nodes = _replaced(root, replaced, ops.Project(stored, results))
        key_names = tuple(key.name for key in keys)
        return PartialSums(
            ops.Tree(sums, names), key_names, frozenset(self.averages), nodes, columns
        )


def _replaced(root: ops.Operator, old: ops.Operator, new: ops.Operator) -> ops.Operator:
    """Return a chain of operators with another one in the place of the last."""
    return new if root is old else root.over(_replaced(root.inputs[0], old, new))


def _double(tree: exp.Expr) -> exp.Expr:
    return exp.Cast(this=tree.copy(), to=exp.Var(this="DOUBLE"))


def _conditional(call: exprs.AggregateCall) -> exprs.Expression:
    """Return the argument of a call, NULL for rows that its FILTER leaves out."""
    (argument,) = call.arguments
    if call.condition is None:
        return argument
    branch = exp.If(this=call.condition.tree.copy(), true=argument.tree.copy())
    return exprs.Expression(exp.Case(ifs=[branch]))
