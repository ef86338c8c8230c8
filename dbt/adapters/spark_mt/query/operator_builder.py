"""Operator tree of a query's text: clauses in the order in which Spark evaluates them.

CTEs and persistent views are inlined. A tree with a name that cannot be resolved is not rendered.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from sqlglot import exp

from dbt.adapters.spark_mt.definition.columns import distinct_names
from dbt.adapters.spark_mt.query import expressions as exprs
from dbt.adapters.spark_mt.query import operators as ops
from dbt.adapters.spark_mt.query import relations
from dbt.adapters.spark_mt.query.binder import (
    Bound,
    ExpressionBinder,
    alias_of,
    is_star,
    name_of,
    stars_in,
)
from dbt.adapters.spark_mt.query.boundary import UNEXPECTED, guarded
from dbt.adapters.spark_mt.query.computation import Computation, unknown_function
from dbt.adapters.spark_mt.query.confs import unread_confs
from dbt.adapters.spark_mt.query.subqueries import filtered
from dbt.adapters.spark_mt.query.syntax import Fidelity, UnreadableError, read_query
from dbt.adapters.spark_mt.query.text import shape_of, watermarks_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from dbt.adapters.spark_mt.definition.columns import QueryContext, SourceColumns
    from dbt.adapters.spark_mt.definition.definition import ResolvedDefinition
    from dbt.adapters.spark_mt.query.analyzer import AnalyzedQuery, ViewQuery

_CLAUSES = frozenset(
    {"expressions", "from_", "joins", "laterals", "where", "with_", "hint", "group", "having"}
    | {"qualify", "windows", "distinct", "order", "sort", "cluster", "distribute", "limit"}
    | {"offset", "this", "expression", "alias", "side", "wrapped", "by_name"}
)
Types = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
"""Full names of relations, by the name and the version at a fixed one, with columns and types."""
MAY_AGGREGATE = "UNKNOWN_FUNCTION"
"""The reason code of a SELECT with nothing but functions that are not known."""


def _not_understood(problem: str) -> ops.Tree:
    """Return the tree of a query of which nothing is understood."""
    return ops.Tree(ops.Opaque(UNEXPECTED, problem), (), ((UNEXPECTED, problem),))


@guarded(_not_understood)
def definition_tree(definition: ResolvedDefinition, analyzed: AnalyzedQuery) -> ops.Tree:
    """Return the operator tree of a definition's query, over its recorded columns.

    The columns of its result are numbered where two have the same name.
    """
    recorded = {each.source.lower() for each in definition.source_columns}
    now = (*analyzed.source_columns, *analyzed.more_columns)
    more = tuple(each for each in now if each.source.lower() not in recorded)
    lookups = frozenset(str(name).lower() for name in analyzed.lookups)
    types = tuple((each.source, tuple((f.name, f.type) for f in each.columns)) for each in now)
    tree = _tree(
        definition.expanded_query,
        definition.context,
        definition.query_columns,
        sources=(*more, *definition.source_columns),
        views=analyzed.views,
        lookups=lookups,
        types=types,
    )
    names = distinct_names(tree.columns)
    return tree if names == tree.columns else replace(tree, columns=names)


@guarded(_not_understood)
def operator_tree(
    query: str,
    context: QueryContext,
    columns: tuple[str, ...] = (),
    *,
    sources: Iterable[SourceColumns] = (),
    views: Iterable[ViewQuery] = (),
    lookups: Collection[str] = (),
    types: Types = (),
) -> ops.Tree:
    """Return the operator tree of a query.

    Args:
        query: Its text without lookup clauses, best the expanded one.
        context: Completes its names, and has the confs by which names are compared.
        columns: The names of its result, which expressions without an alias need.
        sources: The columns of the relations that it and its views name.
        views: The views through which it reads.
        lookups: Full names, in lower case, of tables that are looked up at the processing time.
        types: The types of the columns of relations, where they are known.
    """
    confs = dict(context.confs)
    facts = relations.Facts(
        confs,
        {each.source.lower(): tuple(f.name for f in each.columns) for each in sources},
        {str(view.name).lower(): view for view in views},
        frozenset(lookups),
    )
    builder = _Builder(facts)
    result = builder.text(query, relations.Text(context.catalog, context.schema, {}))
    if unread := ", ".join(unread_confs(confs)):
        part = ops.Opaque("CONF", f"Spark may read it otherwise with {unread}", (result.node,))
        result = replace(result, node=part)
    tree = builder.tree(result, columns)
    return replace(tree, types=_types_of(tree.root, types))


def _types_of(root: ops.Operator, types: Types) -> Mapping[str, str]:
    """Return the types of the columns of scans, by the keys of their attributes."""
    known = {
        (source.lower(), name.lower()): type_ for source, listed in types for name, type_ in listed
    }
    return {
        attribute.key: known.get((scan.text.lower(), attribute.name.lower()), "")
        for scan in ops.scans(root)
        for attribute in scan.output
    }


_tree = lru_cache(maxsize=32)(operator_tree)
"""Trees are values, and a statement needs the tree of one query several times."""


def _none_listed(_: str) -> dict[str, str]:
    return {}


@guarded(_none_listed)
def relations_to_list(tree: ops.Tree) -> dict[str, str]:
    """Return the relations whose columns a tree lacks, as text after FROM.

    They are by their names, those at a version by the name and the version.
    """
    return {
        scan.text: replace(scan, stream=False).sql
        for scan in ops.scans(tree.root)
        if not scan.output
    }


@dataclass(frozen=True, slots=True)
class _Parts:
    """The expressions of a SELECT: names and items, places in the result and ORDER BY."""

    items: list[tuple[str, Bound]]
    order: list[tuple[int, Bound]]
    having: Bound | None
    qualify: Bound | None

    def changed(self, change: Callable[[Bound], Bound]) -> _Parts:
        return _Parts(
            [(name, change(bound)) for name, bound in self.items],
            [(place, change(bound)) for place, bound in self.order],
            change(self.having) if self.having is not None else None,
            change(self.qualify) if self.qualify is not None else None,
        )


class _Builder:
    def __init__(self, facts: relations.Facts) -> None:
        self._facts = facts
        self._relations = relations.Relations(facts, self.query, self.text, self._binder)

    def tree(self, result: relations.Result, columns: tuple[str, ...]) -> ops.Tree:
        """Give the columns of a result the names of the query's result."""
        names = tuple(column.name for column in result.columns)
        output = tuple(column.attribute for column in result.columns)
        root = result.node
        if not ops.opaque_parts(root):
            if len(columns or names) != len(names) or any(
                ours and self._facts.fold(ours) != self._facts.fold(theirs)
                for ours, theirs in zip(names, columns, strict=False)
            ):
                self._facts.gaps.add("COLUMNS", "its result has other columns than its text shows")
            if root.output != output:
                root = ops.Project(root, exprs.passed_on(output))
            self._check(root)
        for part in ops.opaque_parts(root):
            self._facts.gaps.add(part.reason, part.problem)
        return ops.Tree(root, columns or names, tuple(self._facts.gaps.found))

    def text(self, query: str, text: relations.Text) -> relations.Result:
        """Return the relation that a text describes."""
        readable, clauses = watermarks_of(query)
        try:
            tree, fidelity = read_query(readable)
        except UnreadableError as no:
            return relations.Result(ops.Opaque(no.reason, no.problem), ())
        if not relations.place_watermarks(tree, clauses):
            problem = "it has a WATERMARK in a place where it is not expected"
            return relations.Result(ops.Opaque("SYNTAX", problem), ())
        refs = {ref.start: ref for ref in shape_of(query).relations}
        result = self.query(tree, relations.Place(replace(text, refs=refs)))
        problem = "its text has syntax that cannot be written again"
        if fidelity is not Fidelity.LOST:
            if fidelity is Fidelity.REARRANGED:
                self._facts.gaps.add("SYNTAX", problem)
            return result
        return replace(result, node=ops.Opaque("SYNTAX", problem, (result.node,)))

    def _check(self, node: ops.Operator, outer: frozenset[str] = frozenset()) -> None:
        """Make sure that each expression uses attributes of its operator's inputs."""
        visible = outer | {a.key for each in node.inputs for a in each.output}
        for expression in node.expressions:
            if unbound := expression.keys - visible:
                self._facts.gaps.add("UNBOUND", f"{min(unbound)} is not a column of its input")
        for each in node.inputs:
            self._check(each, visible if each is not node.inputs[0] else outer)

    def query(self, node: exp.Expr, place: relations.Place) -> relations.Result:
        try:
            return self._query(node, place)
        except ops.NotUnderstoodError as no:
            return relations.Result(ops.Opaque(no.reason, no.problem, no.parts), ())

    def _query(self, node: exp.Expr, place: relations.Place) -> relations.Result:
        place = self._with_ctes(node, place)
        _check_clauses(node)
        if isinstance(node, exp.Select) and not node.expressions:
            raise ops.NotUnderstoodError(
                reason="SELECT_KIND", problem="it selects a column named ALL"
            )
        if isinstance(node, exp.Select):
            return self._select(node, place)
        if isinstance(node, exp.SetOperation):
            result = self._set_operation(node, place)
        elif isinstance(node, exp.Subquery) and isinstance(node.this, exp.Query):
            result = self._query(node.this, place)
        elif isinstance(node, exp.Subquery):
            rows, scope = self._relations.relation(node, place)
            result = relations.Result(rows, scope.star())
        else:
            raise ops.NotUnderstoodError(reason="OPERATOR", problem=f"it uses {node.key.upper()}")
        return self._ordered(node, result, place)

    def _with_ctes(self, node: exp.Expr, place: relations.Place) -> relations.Place:
        with_ = node.args.get("with_")
        if not isinstance(with_, exp.With):
            return place
        if with_.args.get("recursive"):
            raise ops.NotUnderstoodError(reason="RECURSIVE", problem="it is recursive")
        known = dict(place.ctes)
        for cte in with_.expressions:
            names = tuple(c.name for c in cte.args["alias"].columns)
            known[cte.alias.lower()] = relations.Cte(cte.this, names, place.text, dict(known))
        return replace(place, ctes=known)

    def _ordered(
        self, node: exp.Expr, result: relations.Result, place: relations.Place
    ) -> relations.Result:
        """Apply ORDER BY and LIMIT of a set operation, which see its result only."""
        binder = self._binder(exprs.Scope(self._facts.fold, result.columns, place.outer), place)
        rows = result.node
        order = node.args.get("order")
        if order is not None:
            listed = order.expressions
            if _is_all(listed) and binder.scope.first("all") is None:
                by = [_directed(Bound(listed[0]), c.attribute) for c in result.columns]
            else:
                bound = (binder.bind(_by_place(e, result)) for e in listed)
                by = [exprs.Expression(each.tree) for each in bound]
            rows = ops.Sort(rows, tuple(by))
        return replace(result, node=_limited(node, rows))

    def _set_operation(self, node: exp.SetOperation, place: relations.Place) -> relations.Result:
        left, right = (self.query(side, place) for side in (node.this, node.expression))
        is_known = not (ops.opaque_parts(left.node) or ops.opaque_parts(right.node))
        if node.args.get("by_name") and is_known:
            right = self._by_name(left, right)
        if len(left.columns) != len(right.columns) and is_known:
            self._facts.gaps.add("SET_OPERATION", "its set operations have different columns")
        columns = tuple(
            exprs.ScopeColumn(c.name, self._facts.attribute(c.name)) for c in left.columns
        )
        attributes = tuple(column.attribute for column in columns)
        sides = tuple(relations.projected(side) for side in (left, right))
        if isinstance(node, exp.Union):
            rows: ops.Operator = ops.Union(sides, attributes)
            if node.args.get("distinct"):
                rows = ops.Distinct(rows)
        else:
            all_rows = not node.args.get("distinct")
            intersect = isinstance(node, exp.Intersect)
            rows = ops.SetOperation(sides[0], sides[1], intersect, all_rows, attributes)
        return relations.Result(rows, columns)

    def _by_name(self, left: relations.Result, right: relations.Result) -> relations.Result:
        there = {self._facts.fold(c.name): c for c in right.columns}
        names = [self._facts.fold(c.name) for c in left.columns]
        if len(there) != len(right.columns) or set(names) != set(there):
            raise ops.NotUnderstoodError(
                reason="UNION_BY_NAME",
                problem="it unites different columns by name",
                parts=(left.node, right.node),
            )
        return replace(right, columns=tuple(there[name] for name in names))

    def _select(self, select: exp.Select, place: relations.Place) -> relations.Result:
        rows, scope = self._relations.from_(select, place)
        where = select.args.get("where")
        binder = self._binder(scope, place)
        if where is not None:
            _refuse_windows(where.this)
            rows = filtered(rows, binder.bind(where.this))
        binder.name_time_windows(select.args.get("group"))
        items = self._items(select, scope, binder)
        names = {self._facts.fold(name): bound for name, bound in reversed(items) if name}
        computation = Computation(self._facts.attribute)
        grouped = computation.grouped(select, [bound for _, bound in items], binder, names)
        having, qualify = (
            binder.over_result(clause.this, names, grouped) if clause is not None else None
            for clause in (select.args.get("having"), select.args.get("qualify"))
        )
        order = self._order(select, binder, items, names)
        parts = _Parts(items, order, having, qualify).changed(computation.aggregated)
        if computation.is_aggregate:
            for each in computation.subqueries:
                rows = each.over(rows)
            rows = ops.Aggregate(rows, computation.groups, computation.calls, computation.sets)
        if parts.having is not None:
            rows = filtered(rows, parts.having)
        windows = Computation(self._facts.attribute)
        windows.name_windows(select, binder, computation)
        parts = parts.changed(windows.windowed)
        rows = ops.Window(rows, windows.windows) if windows.windows else rows
        if parts.qualify is not None:
            rows = filtered(rows, parts.qualify)
        result = self._result(select, rows, parts)
        return result if computation.is_aggregate else _doubted(result, items)

    def _result(self, select: exp.Select, rows: ops.Operator, parts: _Parts) -> relations.Result:
        """Compute the items of a SELECT, and apply DISTINCT, ORDER BY and LIMIT."""
        distinct = select.args.get("distinct")
        rows, items = self._generated(rows, parts.items)
        named = self._named(items)
        keys = {each.attribute.key for each in named}
        order = [
            exprs.Expression(bound.tree) if place < 0 else _directed(bound, named[place].attribute)
            for place, bound in parts.order
        ]
        if any(each.keys - keys for each in order):
            if distinct:
                problem = "it sorts distinct rows by a column that it does not select"
                self._facts.gaps.add("ORDER", problem)
            if any(bound.subqueries for _, bound in parts.order):
                problem = "it sorts by a subquery"
                raise ops.NotUnderstoodError(reason="SUBQUERY", problem=problem, parts=(rows,))
            values = exprs.values_of(named)
            rows = ops.Sort(rows, tuple(each.over(values) for each in order))
            order = []
        for _, bound in items:
            rows = bound.over(rows)
        rows = ops.Project(rows, tuple(named))
        rows = ops.Distinct(rows) if distinct else rows
        rows = ops.Sort(rows, tuple(order)) if order else rows
        if select.args.get("sort") or select.args.get("cluster"):
            rows = ops.Sort(rows, (), local=True)
        columns = (
            exprs.ScopeColumn(n, each.attribute) for (n, _), each in zip(items, named, strict=True)
        )
        return relations.Result(_limited(select, rows), tuple(columns))

    def _binder(self, scope: exprs.Scope, place: relations.Place) -> ExpressionBinder:
        def subquery(query: exp.Expr) -> ops.Operator:
            return relations.projected(self.query(query, replace(place, outer=scope)))

        return ExpressionBinder(scope, self._facts.gaps, subquery, self._facts.attribute)

    def _items(
        self, select: exp.Select, scope: exprs.Scope, binder: ExpressionBinder
    ) -> list[tuple[str, Bound]]:
        """Bind what a SELECT lists, with the name of each column."""
        items: list[tuple[str, Bound]] = []
        aliases: dict[str, Bound] = {}
        for item in select.expressions:
            if is_star(item):
                found = list(stars_in(scope, item))
                if not found or binder.is_struct(item):
                    self._facts.gaps.add("STAR", "it lists columns with * that are not known")
                items += [(c.name, Bound(c.attribute.expression.tree)) for c in found]
                continue
            if isinstance(item, exp.QueryTransform):
                raise ops.NotUnderstoodError(
                    reason="SCRIPT", problem="it uses TRANSFORM with a script"
                )
            inner = item.this if isinstance(item, exp.Aliases) else item.unalias()
            bound = binder.bind(inner, aliases)
            if isinstance(item, exp.Aliases):
                bound = replace(bound, names=tuple(e.name for e in item.expressions))
            name = alias_of(item) or name_of(item)
            items.append((name, bound))
            if alias_of(item):
                aliases.setdefault(self._facts.fold(name), bound)
        return items

    def _order(
        self,
        select: exp.Select,
        binder: ExpressionBinder,
        items: Sequence[tuple[str, Bound]],
        names: Mapping[str, Bound],
    ) -> list[tuple[int, Bound]]:
        """Bind ORDER BY: the place of a column of the result, or -1 and an expression."""
        order = select.args.get("order")
        written = order.expressions if order is not None else []
        _check_order(written, items)
        found: list[tuple[int, Bound]] = []
        listed = [self._facts.fold(name) for name, _ in items]
        if _is_all(written):
            column = exp.column("all")
            if "all" not in listed and binder.scope.first("all") is None:
                return [(place, Bound(written[0])) for place in range(len(items))]
            written = [written[0].copy()]
            written[0].set("this", column)
        for ordered in written:
            by = ordered.this.unnest()
            number = _number(by)
            plain = (
                isinstance(by, exp.Column) and not by.table and self._facts.fold(by.name) in listed
            )
            if number is not None and 0 < number <= len(items):
                found.append((number - 1, Bound(ordered)))
            elif plain:
                found.append((listed.index(self._facts.fold(by.name)), Bound(ordered)))
            else:
                found.append((-1, binder.over_result(ordered, names)))
        return found

    def _named(self, items: Sequence[tuple[str, Bound]]) -> list[exprs.Named]:
        """Give each item an attribute; a column that is passed on keeps its own."""
        named: list[exprs.Named] = []
        used: set[str] = set()
        for name, bound in items:
            expression = exprs.Expression(bound.tree)
            key = expression.attribute
            passed = bool(key) and key not in used and key.rpartition("#")[0] == name
            if passed:
                attribute = exprs.Attribute(int(key.rpartition("#")[2]), name)
            else:
                attribute = self._facts.attribute(name)
            used.add(attribute.key)
            named.append(exprs.Named(attribute, expression))
        return named

    def _generated(
        self, rows: ops.Operator, items: Sequence[tuple[str, Bound]]
    ) -> tuple[ops.Operator, list[tuple[str, Bound]]]:
        """Move the generator of a SELECT below its projection."""
        result: list[tuple[str, Bound]] = []
        for name, bound in items:
            call = relations.generator_of(bound.tree)
            if call is None:
                if any(relations.generator_of(node) for node in bound.tree.walk()):
                    raise ops.NotUnderstoodError(
                        reason="GENERATOR", problem="it computes with a generator", parts=(rows,)
                    )
                result.append((name, bound))
                continue
            names = bound.names or ((name,) if name else self._facts.default_names(call))
            generated = tuple(map(self._facts.attribute, names))
            outer = call.endswith("_outer")
            rows = bound.over(rows)
            rows = ops.Generate(rows, exprs.Expression(bound.tree), outer, generated)
            result += [(a.name, Bound(a.expression.tree)) for a in generated]
        return rows, result


def _doubted(result: relations.Result, items: Sequence[tuple[str, Bound]]) -> relations.Result:
    """Mark the result of a SELECT that may be one row for all rows."""
    name = unknown_function(bound for _, bound in items)
    if not name:
        return result
    problem = f"it may aggregate all rows ({name}())"
    part = ops.Opaque(MAY_AGGREGATE, problem, (result.node,), is_complete=True)
    return replace(result, node=part)


def _check_clauses(node: exp.Expr) -> None:
    names = [clause for clause, value in node.args.items() if value and clause not in _CLAUSES]
    if names:
        name = names[0].upper().strip("_")
        raise ops.NotUnderstoodError(reason="SELECT_KIND", problem=f"it uses {name}")
    distinct = node.args.get("distinct")
    if isinstance(distinct, exp.Distinct) and distinct.args.get("on"):
        raise ops.NotUnderstoodError(reason="DISTINCT", problem="it uses DISTINCT ON")


def _refuse_windows(condition: exp.Expr) -> None:
    """Refuse window functions in WHERE and ON, which see rows before they are grouped."""
    for node in condition.walk(prune=lambda n: isinstance(n, exp.Query)):
        if isinstance(node, exp.Window):
            raise ops.NotUnderstoodError(
                reason="WINDOW_FUNCTION", problem="it filters by a window function"
            )


def _limited(node: exp.Expr, rows: ops.Operator) -> ops.Operator:
    limit, offset = node.args.get("limit"), node.args.get("offset")
    if isinstance(limit, exp.Fetch):
        raise ops.NotUnderstoodError(reason="FETCH", problem="it uses FETCH", parts=(rows,))
    count = limit.expression if limit is not None else None
    if isinstance(count, exp.Var) and count.name.upper() == "ALL":
        count = None
    skipped = offset.expression if offset is not None else None
    if count is None and skipped is None:
        return rows
    return ops.Limit(
        rows,
        exprs.Expression(count) if count is not None else None,
        exprs.Expression(skipped) if skipped is not None else None,
    )


def _number(node: exp.Expr) -> int | None:
    """Return the place that a number in ORDER BY means."""
    if isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit():
        return int(node.name)
    return None


def _by_place(ordered: exp.Expr, result: relations.Result) -> exp.Expr:
    """Put a column in the place of its number."""
    place = _number(ordered.this.unnest())
    if place is None or not 0 < place <= len(result.columns):
        return ordered
    copy = ordered.copy()
    copy.set("this", exp.column(exp.to_identifier(result.columns[place - 1].name, quoted=True)))
    return copy


def _directed(bound: Bound, column: exprs.Attribute) -> exprs.Expression:
    """Return a direction of ORDER BY for a column of the result."""
    ordered = bound.tree.copy()
    ordered.set("this", column.expression.tree)
    return exprs.Expression(ordered)


def _is_all(order: Sequence[exp.Expr]) -> bool:
    """Return whether ORDER BY has ALL and nothing else; a column of this name comes first."""
    by = order[0].this if len(order) == 1 else None
    return isinstance(by, exp.Var) and by.name.upper() == "ALL"


def _check_order(order: Sequence[exp.Expr], items: Sequence[tuple[str, Bound]]) -> None:
    """Refuse to count the columns of a result in which one item is several of them."""
    if order and any(
        relations.generator_of(bound.tree) and len(bound.names) != 1 and not name
        for name, bound in items
    ):
        problem = "it sorts the several columns of a generator"
        raise ops.NotUnderstoodError(reason="GENERATOR", problem=problem)
