"""Aggregates and window functions in the expressions of one SELECT."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from sqlglot import exp

from dbt.adapters.spark_mt.query import expressions as exprs
from dbt.adapters.spark_mt.query import functions
from dbt.adapters.spark_mt.query.dialect import sql
from dbt.adapters.spark_mt.query.operators import NotUnderstoodError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from dbt.adapters.spark_mt.query.binder import Bound, ExpressionBinder, Subquery


_AROUND = (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)


_SETS = (exp.Cube, exp.Rollup, exp.GroupingSets)
_AFTERWARDS = ("rollup", "cube", "grouping_sets")
"""The arguments of GROUP BY with what follows the grouping expressions."""


def _aggregate_of(node: exp.Expr) -> exp.Anonymous | None:
    """Return the call of an aggregate function that a node is, FILTER and order included."""
    while isinstance(node, _AROUND):
        node = node.this
    called = isinstance(node, exp.Anonymous) and functions.is_aggregate(exprs.call_name(node))
    return node if called and isinstance(node, exp.Anonymous) else None


class Computation:
    """The aggregates and window functions in the expressions of one SELECT."""

    def __init__(self, attribute: Callable[[str], exprs.Attribute]) -> None:
        self._attribute = attribute
        self._has_group = False
        self._calls: dict[exp.Expr, exprs.AggregateCall] = {}
        self._windows: dict[exp.Expr, exprs.WindowCall] = {}
        self._named_windows: dict[str, exp.Window] = {}
        self.groups: tuple[exprs.Named, ...] = ()
        self.sets: tuple[tuple[int, ...], ...] | None = None
        self.subqueries: list[Subquery] = []

    @property
    def calls(self) -> tuple[exprs.AggregateCall, ...]:
        """The calls of aggregate functions."""
        return tuple(self._calls.values())

    @property
    def windows(self) -> tuple[exprs.WindowCall, ...]:
        """The calls of window functions."""
        return tuple(self._windows.values())

    @property
    def is_aggregate(self) -> bool:
        """Whether the SELECT combines rows."""
        return self._has_group or bool(self._calls)

    def grouped(
        self,
        select: exp.Select,
        items: Sequence[Bound],
        binder: ExpressionBinder,
        names: Mapping[str, Bound],
    ) -> list[exp.Expr]:
        """Read GROUP BY, and return the grouping expressions."""
        group = select.args.get("group")
        self._has_group = group is not None or select.args.get("having") is not None
        if group is None:
            return []
        if any(v for k, v in group.args.items() if k not in {"expressions", "all", *_AFTERWARDS}):
            raise NotUnderstoodError(
                reason="GROUPING_SETS", problem="it groups by several sets of columns"
            )
        if group.args.get("all"):
            return self._grouped_by_all(group, items, binder, names)
        listed, sets = _grouping(group)
        trees: list[exp.Expr] = []
        places: list[int] = []
        for expression in listed:
            bound = _group(expression, items, binder, names)
            if bound.subqueries:
                raise NotUnderstoodError(reason="SUBQUERY", problem="it groups by a subquery")
            if bound.tree not in trees:
                trees.append(bound.tree)
            places.append(trees.index(bound.tree))
        if sets is not None:
            self.sets = tuple(tuple(dict.fromkeys(places[i] for i in each)) for each in sets)
        self.groups = tuple(map(self._group_column, trees))
        return trees

    def _grouped_by_all(
        self,
        group: exp.Group,
        items: Sequence[Bound],
        binder: ExpressionBinder,
        names: Mapping[str, Bound],
    ) -> list[exp.Expr]:
        """Read GROUP BY ALL: a column of this name, or all items without an aggregate."""
        if group.expressions:
            raise NotUnderstoodError(reason="GROUP", problem="it groups by ALL and more")
        if binder.scope.first("all") is not None or "all" in names:
            chosen = [_group(exp.column("all"), items, binder, names)]
        else:
            chosen = [b for b in items if not any(map(_aggregate_of, b.tree.walk()))]
        if any(bound.subqueries for bound in chosen):
            raise NotUnderstoodError(reason="SUBQUERY", problem="it groups by a subquery")
        trees = list(dict.fromkeys(bound.tree for bound in chosen))
        self.groups = tuple(map(self._group_column, trees))
        return trees

    def _group_column(self, tree: exp.Expr) -> exprs.Named:
        expression = exprs.Expression(tree)
        key = expression.attribute
        if key and self.sets is None:
            name, _, number = key.rpartition("#")
            return exprs.Named(exprs.Attribute(int(number), name), expression)
        name = key.rpartition("#")[0] or exprs.call_name(tree) or "group"
        return exprs.Named(self._attribute(name), expression)

    def aggregated(self, bound: Bound) -> Bound:
        """Put attributes in the place of grouping expressions and aggregates."""
        groups = {g.expression.tree: g.attribute for g in self.groups}

        def changed(node: exp.Expr) -> exp.Expr:
            if node in groups:
                return groups[node].expression.tree
            call = _aggregate_of(node)
            if call is None or isinstance(_above(node), exp.Window):
                return node
            return self._called(node, call, bound).expression.tree

        return _changed(bound, changed)

    def _called(self, node: exp.Expr, call: exp.Anonymous, bound: Bound) -> exprs.Attribute:
        if node not in self._calls:
            keys = exprs.Expression(node).keys
            self.subqueries += [s for s in bound.subqueries if s.attribute.key in keys]
            attribute = self._attribute(exprs.call_name(call))
            self._calls[node.copy()] = _aggregate_call(attribute, node, call)
        return self._calls[node].attribute

    def name_windows(
        self, select: exp.Select, binder: ExpressionBinder, computation: Computation
    ) -> None:
        """Read the WINDOW clause."""
        for window in select.args.get("windows") or ():
            bare = window.copy()
            bare.set("this", exp.Null())
            bound = computation.aggregated(binder.bind(bare))
            if isinstance(bound.tree, exp.Window):
                self._named_windows[window.name.lower()] = bound.tree

    def windowed(self, bound: Bound) -> Bound:
        """Put attributes in the place of window functions."""

        def changed(node: exp.Expr) -> exp.Expr:
            if not isinstance(node, exp.Window):
                return node
            window = self._completed(node)
            if window not in self._windows:
                if any(s.attribute.key in exprs.Expression(window).keys for s in bound.subqueries):
                    raise NotUnderstoodError(reason="SUBQUERY", problem="a window uses a subquery")
                if any(isinstance(n, exp.Window) and n is not window for n in window.walk()):
                    raise NotUnderstoodError(
                        reason="WINDOW_FUNCTION", problem="a window function uses another"
                    )
                self._windows[window] = _window_call(self._attribute, window)
            return self._windows[window].attribute.expression.tree

        return _changed(bound, changed)

    def _completed(self, window: exp.Window) -> exp.Window:
        alias = window.args.get("alias")
        if alias is None:
            return window.copy()
        named = self._named_windows.get(alias.name.lower())
        if named is None:
            raise NotUnderstoodError(
                reason="WINDOW_FUNCTION", problem=f"it uses a window {alias.name} that it lacks"
            )
        copy = window.copy()
        copy.set("alias", None)
        for part in ("partition_by", "order", "spec"):
            if not copy.args.get(part) and named.args.get(part):
                value = named.args[part]
                copy.set(
                    part, [v.copy() for v in value] if isinstance(value, list) else value.copy()
                )
        return copy


def _changed(bound: Bound, change: Callable[[exp.Expr], exp.Expr]) -> Bound:
    tree = exprs.transformed(bound.tree.copy(), change)
    keys = exprs.Expression(tree).keys
    kept = tuple(s for s in bound.subqueries if s.attribute.key in keys)
    return replace(bound, tree=tree, subqueries=kept)


def _above(node: exp.Expr) -> exp.Expr | None:
    """Return the window of a call, past FILTER and IGNORE NULLS; None for none."""
    parent = node.parent
    while isinstance(parent, _AROUND):
        parent = parent.parent
    return parent if isinstance(parent, exp.Window) and node.arg_key == "this" else None


def _group(
    expression: exp.Expr,
    items: Sequence[Bound],
    binder: ExpressionBinder,
    names: Mapping[str, Bound],
) -> Bound:
    """Bind a grouping expression: by number, by a column, or by a column of the result."""
    expression = expression.unnest()
    if isinstance(expression, exp.Literal) and not expression.is_string:
        place = int(expression.name) - 1 if expression.name.isdigit() else -1
        if not 0 <= place < len(items):
            raise NotUnderstoodError(
                reason="GROUP", problem="it groups by a number that is no column"
            )
        return items[place]
    name = expression.name if isinstance(expression, exp.Column) else ""
    alias = (
        names.get(binder.scope.fold(name)) if name and not expression.args.get("table") else None
    )
    if alias is not None:
        try:
            here = binder.scope.find_here([name])
        except exprs.AmbiguousColumnError:
            here = None
        if here is None:
            return alias
    return binder.bind(expression)


def _grouping(group: exp.Group) -> tuple[list[exp.Expr], list[list[int]] | None]:
    """Return the grouping expressions, and the places of those of each grouping set."""
    listed: list[exp.Expr] = []
    written = [each for key in _AFTERWARDS for each in group.args.get(key) or ()]
    if written:  # GROUP BY a, b WITH ROLLUP; GROUP BY a, b GROUPING SETS ((a, b), (a))
        elements = [_added([each], listed) for each in group.expressions]
        is_plain = len(written) == 1 and not any(isinstance(e, _SETS) for e in group.expressions)
        if not is_plain or bool(written[0].expressions) != isinstance(written[0], exp.GroupingSets):
            raise NotUnderstoodError(
                reason="GROUPING_SETS", problem="it combines several grouping sets"
            )
        if isinstance(written[0], exp.GroupingSets):
            return listed, _sets_of(written[0], listed)
        return listed, list(_expanded(written[0], elements))
    if not any(isinstance(each, _SETS) for each in group.expressions):
        return group.expressions, None
    several = [
        _sets_of(each, listed) if isinstance(each, _SETS) else [_added([each], listed)]
        for each in group.expressions
    ]
    return listed, [[p for part in parts for p in part] for parts in product(*several)]


def _sets_of(element: exp.Expr, listed: list[exp.Expr]) -> list[list[int]]:
    """Return the grouping sets of a part of GROUP BY, whose expressions are added to a list."""
    if isinstance(element, exp.GroupingSets):
        return [each for inner in element.expressions for each in _sets_of(inner, listed)]
    if not isinstance(element, _SETS):
        return [_placed(element, listed)]
    if any(isinstance(inner.unnest(), _SETS) for inner in element.expressions):
        raise NotUnderstoodError(reason="GROUPING_SETS", problem="it nests grouping sets")
    return list(_expanded(element, [_placed(inner, listed) for inner in element.expressions]))


def _placed(element: exp.Expr, listed: list[exp.Expr]) -> list[int]:
    """Add the expressions of a grouping set to a list, and return their places."""
    inner = element.unnest() if isinstance(element, exp.Paren) else element
    return _added(inner.expressions if isinstance(inner, exp.Tuple) else [inner], listed)


def _added(parts: Sequence[exp.Expr], listed: list[exp.Expr]) -> list[int]:
    listed += parts
    return list(range(len(listed) - len(parts), len(listed)))


def _expanded(kind: exp.Expr, elements: list[list[int]]) -> Iterator[list[int]]:
    if isinstance(kind, exp.Rollup):
        for length in range(len(elements), -1, -1):
            yield [place for element in elements[:length] for place in element]
    else:
        for chosen in range(2 ** len(elements) - 1, -1, -1):
            yield [p for i, element in enumerate(elements) if chosen >> i & 1 for p in element]


def _aggregate_call(
    attribute: exprs.Attribute, node: exp.Expr, call: exp.Anonymous
) -> exprs.AggregateCall:
    arguments = call.expressions
    distinct = len(arguments) == 1 and isinstance(arguments[0], exp.Distinct)
    listed = arguments[0].expressions if distinct else arguments
    bare = [] if listed and isinstance(listed[0], exp.Star) else listed
    condition = None
    around = node
    plain = True
    while around is not call:
        if isinstance(around, exp.Filter):
            condition = exprs.Expression(around.expression.this.copy())
        else:
            plain = False
        around = around.this
    plain = plain and not any(isinstance(a, (*_AROUND, exp.Order)) for a in call.walk())
    name = exprs.call_name(call)
    wrapped = (
        isinstance(node.parent, exp.Anonymous)
        and exprs.call_name(node.parent) in functions.ORDER_FREE
    )
    ordered = any(isinstance(part, exp.WithinGroup) for part in node.walk())
    return exprs.AggregateCall(
        attribute,
        exprs.Expression(node.copy()),
        name,
        tuple(exprs.Expression(argument.copy()) for argument in bare),
        distinct,
        condition,
        plain,
        name not in functions.ORDER_DEPENDENT or wrapped or ordered,
    )


def _window_call(
    attribute: Callable[[str], exprs.Attribute], window: exp.Window
) -> exprs.WindowCall:
    call = window.this
    while isinstance(call, _AROUND):
        call = call.this
    order = window.args.get("order")
    spec = window.args.get("spec")
    return exprs.WindowCall(
        attribute(exprs.call_name(call) or "window"),
        exprs.Expression(window),
        exprs.call_name(call),
        tuple(exprs.Expression(e.copy()) for e in window.args.get("partition_by") or ()),
        tuple(exprs.Expression(e.copy()) for e in order.expressions) if order is not None else (),
        sql(spec) if spec is not None else "",
    )


def unknown_function(bounds: Iterable[Bound]) -> str:
    """Return a function that may be an aggregate; empty where there is none.

    Spark refuses a SELECT without GROUP BY that mixes an aggregate with a column outside of one.
    So a column outside of every unknown function proves that there is none.
    """
    unknown: list[str] = []
    for bound in bounds:
        for node in bound.tree.walk(prune=_is_unknown):
            if isinstance(node, exp.Column):
                return ""
            if _is_unknown(node):
                unknown.append(exprs.call_name(node))
    return unknown[0] if unknown else ""


def _is_unknown(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and exprs.call_name(node) not in functions.KNOWN
