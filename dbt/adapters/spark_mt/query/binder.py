"""Binder of expressions: names in a query mean columns in scope, by the rules of Spark.

A bound expression is over attributes, and its subqueries are taken out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from dbt.adapters.spark_mt.query import expressions as exprs
from dbt.adapters.spark_mt.query.functions import WITHOUT_PARENTHESES, is_aggregate
from dbt.adapters.spark_mt.query.operators import Apply, NotUnderstoodError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from dbt.adapters.spark_mt.query.expressions import Attribute
    from dbt.adapters.spark_mt.query.operators import Operator


FILE_METADATA = "_metadata"
"""The column of a table over files that describes the file of a row."""
OF_FILES = "METADATA"
_UNITS = frozenset(
    {"timestampdiff", "timestampadd", "datediff", "date_diff", "dateadd", "date_add"}
)
_TIME_WINDOWS = frozenset({"window", "session_window"})
_NAMING = frozenset({"struct"})
_NAMED_BY_ARGUMENTS = frozenset({"arrays_zip"})


def name_parts(column: exp.Column) -> list[str]:
    """Return the parts of a column's name as written."""
    return [part.name for part in column.parts]


def is_star(node: exp.Expr) -> bool:
    """Return whether a node is `*` or `t.*`."""
    return isinstance(node, exp.Star) or (
        isinstance(node, exp.Column) and isinstance(node.this, exp.Star)
    )


def stars_in(scope: exprs.Scope, node: exp.Expr) -> Iterator[exprs.ScopeColumn]:
    """Yield the columns that a `*` stands for."""
    star = node.this if isinstance(node, exp.Column) else node
    qualifier = [part.name for part in node.parts[:-1]] if isinstance(node, exp.Column) else []
    excluded = {scope.fold(each.name) for each in star.args.get("except_") or ()}
    for column in scope.star(qualifier):
        if scope.fold(column.name) not in excluded:
            yield column


@dataclass(frozen=True, slots=True)
class Subquery:
    """A subquery in an expression, and the attribute that stands for its value."""

    attribute: Attribute
    kind: exprs.SubqueryKind
    query: Operator
    operands: tuple[exprs.Expression, ...] = ()

    def over(self, rows: Operator) -> Operator:
        """Add the value to rows."""
        return Apply(rows, self.attribute, self.kind, self.query, self.operands)


@dataclass(frozen=True, slots=True)
class Bound:
    """An expression over attributes.

    Args:
        tree: The expression.
        subqueries: The subqueries whose attributes it uses.
        names: For a generator: the names of its columns.
    """

    tree: exp.Expr
    subqueries: tuple[Subquery, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def keys(self) -> frozenset[str]:
        """The keys of the attributes that it uses."""
        return exprs.Expression(self.tree).keys

    def over(self, rows: Operator) -> Operator:
        """Add the values of its subqueries to rows."""
        for each in self.subqueries:
            rows = each.over(rows)
        return rows


class ExpressionBinder:
    """Resolver of the names in the expressions of one SELECT.

    Args:
        scope: The columns that can be named.
        gaps: Takes what cannot be resolved.
        subquery: Makes the operators of a subquery.
        attribute: Makes a new attribute.
    """

    def __init__(
        self,
        scope: exprs.Scope,
        gaps: exprs.Gaps,
        subquery: Callable[[exp.Expr], Operator],
        attribute: Callable[[str], Attribute],
    ) -> None:
        self.scope = scope
        self._gaps = gaps
        self._subquery = subquery
        self._attribute = attribute
        self._time_windows: dict[str, exp.Expr] = {}
        self._unresolved: dict[str, Attribute] = {}

    def name_time_windows(self, group: exp.Expr | None) -> None:
        """Bind `window` to the time window that the query groups by."""
        for each in group.expressions if group is not None else ():
            if exprs.call_name(each) in _TIME_WINDOWS:
                self._time_windows[exprs.call_name(each)] = self.bind(each).tree

    def bind(self, node: exp.Expr, aliases: Mapping[str, Bound] | None = None) -> Bound:
        """Resolve an expression.

        Args:
            node: The expression.
            aliases: Columns of the same SELECT that it may use, after those of the relations.
        """

        def find(column: exp.Column, found: list[Subquery]) -> exp.Expr | None:
            here = self._here(column)
            return here if here is not None else self._alias(column, aliases or {}, found)

        return self._bound(node, find)

    def over_result(
        self, node: exp.Expr, names: Mapping[str, Bound], groups: Sequence[exp.Expr] | None = None
    ) -> Bound:
        """Resolve an expression of HAVING, QUALIFY or ORDER BY, which see the result as well.

        Args:
            node: The expression.
            names: The columns of the result.
            groups: For HAVING and QUALIFY: the grouping expressions, which come first; None for
                ORDER BY, where columns of the result come first.
        """

        def find(column: exp.Column, found: list[Subquery]) -> exp.Expr | None:
            here = self._here(column)
            if _in_aggregate(column) and here is not None:
                return here
            if here is not None and groups is not None and (here in groups or not groups):
                return here
            named = self._alias(column, names, found)
            return named if named is not None else here

        return self._bound(node, find)

    def is_struct(self, star: exp.Expr) -> bool:
        """Return whether `name.*` lists the fields of a column."""
        return isinstance(star, exp.Column) and not any(True for _ in stars_in(self.scope, star))

    def _bound(
        self, node: exp.Expr, find: Callable[[exp.Column, list[Subquery]], exp.Expr | None]
    ) -> Bound:
        found: list[Subquery] = []

        def changed(part: exp.Expr) -> exp.Expr:
            subquery = self._subquery_of(part, lambda each: self._bound(each, find))
            if subquery is not None:
                found.append(subquery)
                return subquery.attribute.expression.tree
            if isinstance(part, exp.Column) and not is_star(part):
                value = find(part, found)
                return value if value is not None else self._outer(part)
            if isinstance(part, exp.Anonymous):
                self._prepare(part)
            elif isinstance(part, exp.Tuple) and any(map(name_of, part.expressions)):
                call = exp.Anonymous(this="struct", expressions=part.expressions)
                self._prepare(call)
                return exprs.transformed(call, changed)
            return part

        return Bound(exprs.transformed(node.copy(), changed), tuple(found))

    def _subquery_of(self, node: exp.Expr, bind: Callable[[exp.Expr], Bound]) -> Subquery | None:
        if isinstance(node, exp.Exists) and isinstance(node.this, exp.Query):
            return Subquery(
                self._attribute("exists"), exprs.SubqueryKind.EXISTS, self._subquery(node.this)
            )
        if isinstance(node, exp.In) and node.args.get("query") is not None:
            operand = node.this.unnest()
            values = operand.expressions if isinstance(operand, exp.Tuple) else [operand]
            bound = [bind(value) for value in values]
            if any(each.subqueries for each in bound):
                raise NotUnderstoodError(reason="SUBQUERY", problem="it compares subqueries by IN")
            operands = tuple(exprs.Expression(each.tree) for each in bound)
            query = self._subquery(node.args["query"])
            return Subquery(self._attribute("in"), exprs.SubqueryKind.IN, query, operands)
        if isinstance(node, exp.Query):
            return Subquery(
                self._attribute("scalar"), exprs.SubqueryKind.SCALAR, self._subquery(node)
            )
        return None

    def _here(self, column: exp.Column) -> exp.Expr | None:
        try:
            found = self.scope.find_here(name_parts(column))
        except exprs.AmbiguousColumnError as error:
            self._gaps.add("AMBIGUOUS_COLUMN", f"{error} means several columns")
            return None
        if found is not None:
            return _with_fields(found[0].expression.tree, found[1])
        name, *fields = name_parts(column)
        window = self._time_windows.get(name.lower())
        return _with_fields(window.copy(), fields) if window is not None else None

    def _alias(
        self, column: exp.Column, aliases: Mapping[str, Bound], found: list[Subquery]
    ) -> exp.Expr | None:
        parts = name_parts(column)
        bound = aliases.get(self.scope.fold(parts[0]))
        if bound is None:
            return None
        if bound.subqueries or exprs.Expression(bound.tree).is_random:
            self._gaps.add("ALIAS", f"it uses the column {parts[0]} of its own result")
        found += bound.subqueries
        value: exp.Expr = exp.Paren(this=bound.tree.copy())
        if isinstance(bound.tree, (exp.Column, exp.Anonymous, exp.Literal)):
            value = bound.tree.copy()
        return _with_fields(value, parts[1:])

    def _outer(self, column: exp.Column) -> exp.Expr:
        parts = name_parts(column)
        try:
            found = self.scope.outer.find(parts) if self.scope.outer is not None else None
        except exprs.AmbiguousColumnError:
            found = None
        if found is not None:
            return _with_fields(found[0].expression.tree, found[1])
        if len(parts) == 1 and parts[0].lower() in WITHOUT_PARENTHESES:
            return exp.Anonymous(this=parts[0].lower())
        if any(part.lower() == FILE_METADATA for part in parts[:4]):
            problem = f"it reads {'.'.join(parts)}, and files change without a row changing"
            self._gaps.add(OF_FILES, problem)
        else:
            self._gaps.add("UNRESOLVED_COLUMN", f"{'.'.join(parts)} cannot be resolved")
        name = self.scope.fold(".".join(parts))
        if name not in self._unresolved:
            self._unresolved[name] = self._attribute(parts[-1])
        return self._unresolved[name].expression.tree

    def _prepare(self, call: exp.Anonymous) -> None:
        """Expand `*` in a call, and give names where a function takes these from its arguments."""
        name = exprs.call_name(call)
        if name == "identifier":
            problem = "it names a column or a function by IDENTIFIER(…); write the name"
            raise NotUnderstoodError(reason="IDENTIFIER", problem=problem)
        if name in _NAMED_BY_ARGUMENTS:
            self._gaps.add("ARGUMENT_NAMES", f"{name}() names its result by its arguments")
        arguments: list[exp.Expr] = []
        for place, argument in enumerate(call.expressions):
            if is_star(argument) and not (name == "count" and isinstance(argument, exp.Star)):
                columns = [(c.name, c.attribute) for c in stars_in(self.scope, argument)]
                if not columns:
                    self._gaps.add("STAR", "it uses * where its columns are not known")
                arguments += [
                    exp.alias_(a.expression.tree, n, quoted=True)
                    if name in _NAMING
                    else a.expression.tree
                    for n, a in columns
                ]
            elif name in _NAMING and name_of(argument):
                arguments.append(exp.alias_(argument, name_of(argument), quoted=True))
            elif place == 0 and name in _UNITS and len(call.expressions) == 3:
                arguments.append(exp.Var(this=argument.name))
            else:
                arguments.append(argument)
        call.set("expressions", arguments)


def _with_fields(value: exp.Expr, fields: Iterable[str]) -> exp.Expr:
    for name in fields:
        value = exp.Dot(this=value, expression=exp.to_identifier(name, quoted=True))
    return value


def name_of(item: exp.Expr) -> str:
    """Return the name that Spark gives to an expression without an alias, where that is simple."""
    item = item.unnest()
    if isinstance(item, exp.Column) and not is_star(item):
        return item.name
    if isinstance(item, exp.Dot) and isinstance(item.expression, exp.Identifier):
        return item.expression.name
    return ""


def alias_of(item: exp.Expr) -> str:
    """Return the alias of an item; empty where it has none."""
    return item.alias if isinstance(item, exp.Alias) else ""


def _in_aggregate(node: exp.Expr) -> bool:
    parent = node.parent
    while parent is not None:
        if isinstance(parent, exp.Anonymous) and is_aggregate(exprs.call_name(parent)):
            return True
        parent = parent.parent
    return False
