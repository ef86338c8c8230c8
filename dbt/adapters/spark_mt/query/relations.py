"""Relations after FROM: tables, CTEs, views, subqueries and their joins, with their columns."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.query import expressions as exprs
from dbt.adapters.spark_mt.query import operators as ops
from dbt.adapters.spark_mt.query.dialect import sql
from dbt.adapters.spark_mt.query.functions import GENERATORS, TABLE_FUNCTIONS
from dbt.adapters.spark_mt.query.syntax import UnreadableError, read_query

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from dbt.adapters.spark_mt.query.analyzer import ViewQuery
    from dbt.adapters.spark_mt.query.binder import ExpressionBinder
    from dbt.adapters.spark_mt.query.text import RelationRef, WatermarkClause


_UNPIVOT = "it uses UNPIVOT; write LATERAL VIEW stack(…)"
UNKNOWN = {"sample": ("SAMPLE", "it takes a sample"), "pivots": ("PIVOT", "it uses PIVOT")}
_KINDS = {
    "": ops.JoinKind.INNER,
    "INNER": ops.JoinKind.INNER,
    "CROSS": ops.JoinKind.CROSS,
    "LEFT": ops.JoinKind.LEFT,
    "RIGHT": ops.JoinKind.RIGHT,
    "FULL": ops.JoinKind.FULL,
    "SEMI": ops.JoinKind.SEMI,
    "ANTI": ops.JoinKind.ANTI,
}
_WATERMARK = "watermark"


@dataclass(frozen=True, slots=True)
class Text:
    """The text that is read: the query or a view.

    Args:
        context: The catalog and schema that complete names.
        refs: The places of relations, by the offset of the name.
        views: The views around it, outermost first.
    """

    catalog: str
    schema: str
    refs: Mapping[int, RelationRef]
    views: tuple[TableName, ...] = ()


@dataclass(frozen=True, slots=True)
class Cte:
    """A CTE: its query, the names of its columns, its text, and the CTEs that it sees."""

    query: exp.Expr
    names: tuple[str, ...]
    text: Text
    known: Mapping[str, Cte]


@dataclass(frozen=True, slots=True)
class Result:
    """A relation: its rows, and its columns by the names that a query gives them."""

    node: ops.Operator
    columns: tuple[exprs.ScopeColumn, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """Place of a part of a query: its text, the CTEs in scope and the query around it."""

    text: Text
    ctes: Mapping[str, Cte] = field(default_factory=dict)
    outer: exprs.Scope | None = None


@dataclass(slots=True)
class Facts:
    """Facts about a query besides its text, with the gaps that were found in its tree.

    Args:
        confs: The SQL confs of the query.
        sources: The columns of relations, by their full names in lower case; of one that is read at
            a version, by the name and the version.
        views: The views through which it reads, by their full names in lower case.
        lookups: Full names, in lower case, of tables that are looked up.
        gaps: Why the tree cannot be rendered.
    """

    confs: Mapping[str, str]
    sources: Mapping[str, tuple[str, ...]]
    views: Mapping[str, ViewQuery]
    lookups: frozenset[str]
    gaps: exprs.Gaps = field(default_factory=exprs.Gaps)
    _attributes: int = 0
    _occurrences: int = 0

    def fold(self, name: str) -> str:
        """Make two spellings of a name equal."""
        return name if self.confs.get("spark.sql.caseSensitive") == "true" else name.lower()

    def attribute(self, name: str) -> exprs.Attribute:
        """Return a new attribute."""
        self._attributes += 1
        return exprs.Attribute(self._attributes, name)

    def next_occurrence(self) -> int:
        """Return the number of the next scan."""
        self._occurrences += 1
        return self._occurrences - 1

    def default_names(self, call: str) -> tuple[str, ...]:
        """Return the names of a generator's columns if the query gives none."""
        self.gaps.add("GENERATOR", f"its text does not name the columns of {call}()")
        return ("col",)


class Relations:
    """Builder of the operators of FROM clauses.

    Args:
        facts: What is known of the query.
        query: Makes the operators of a query in a place.
        text: Makes the operators of the text of a view.
        binder: Makes what resolves the names in expressions.
    """

    def __init__(
        self,
        facts: Facts,
        query: Callable[[exp.Expr, Place], Result],
        text: Callable[[str, Text], Result],
        binder: Callable[[exprs.Scope, Place], ExpressionBinder],
    ) -> None:
        self._facts = facts
        self._query = query
        self._text = text
        self._binder = binder

    def from_(self, select: exp.Select, place: Place) -> tuple[ops.Operator, exprs.Scope]:
        """Return the rows of a FROM clause, and what expressions over them can name."""
        from_ = select.args.get("from_")
        scope = exprs.Scope(self._facts.fold, (), place.outer)
        if from_ is None:
            rows: ops.Operator = ops.Values("", ())
        else:
            rows, scope = self.relation(from_.this, place)
        return self._with_joins(rows, scope, select, place)

    def _with_joins(
        self, rows: ops.Operator, scope: exprs.Scope, node: exp.Expr, place: Place
    ) -> tuple[ops.Operator, exprs.Scope]:
        for join in node.args.get("joins") or ():
            rows, scope = self._joined(rows, scope, join, place)
        for lateral in node.args.get("laterals") or ():
            rows, scope = self._lateral(rows, scope, lateral, place)
        return rows, scope

    def relation(self, node: exp.Expr, place: Place) -> tuple[ops.Operator, exprs.Scope]:
        """Return what a relation after FROM gives, with its own joins."""
        result, qualifier = self._plain_relation(node, place)
        if (clause := node.meta.get(_WATERMARK)) is not None:
            result = self._with_watermark(result, qualifier, clause, place)
        alias = node.args.get("alias")
        scope = exprs.Scope(self._facts.fold, result.columns, place.outer)
        if alias is not None and alias.name:
            scope = scope.renamed(alias.name, [column.name for column in alias.columns])
        elif qualifier:
            columns = (replace(c, qualifier=qualifier) for c in scope.columns)
            scope = replace(scope, columns=tuple(columns))
        rows = result.node
        for arg, (code, problem) in UNKNOWN.items():
            if found := node.args.get(arg):
                unpivot = arg == "pivots" and found[0].args.get("unpivot")
                part = ops.Opaque(code, problem, (rows,), is_complete=True)
                rows = replace(part, problem=_UNPIVOT) if unpivot else part
                scope = replace(scope, columns=())
        return self._with_joins(rows, scope, node, place)

    def _with_watermark(
        self, result: Result, qualifier: tuple[str, ...], clause: WatermarkClause, place: Place
    ) -> Result:
        """Mark the column that a WATERMARK names; one that it computes is the last column."""
        try:
            item = read_query(f"SELECT {clause.column}")[0].selects[0]
        except UnreadableError as no:
            return Result(ops.Opaque(no.reason, no.problem, (result.node,)), ())
        named = tuple(replace(column, qualifier=qualifier) for column in result.columns)
        scope = exprs.Scope(self._facts.fold, named, place.outer)
        expression = exprs.Expression(self._binder(scope, place).bind(item.unalias()).tree)
        columns = exprs.passed_on(result.node.output)
        time = next((a for a in result.node.output if a.key == expression.attribute), None)
        if time is None or isinstance(item, exp.Alias):
            time = self._facts.attribute(item.alias_or_name)
            columns = (*columns, exprs.Named(time, expression))
            result = replace(result, columns=(*result.columns, exprs.ScopeColumn(time.name, time)))
        rows = ops.Project(result.node, columns, event_time=ops.EventTime(time, clause.delay))
        return replace(result, node=rows)

    def _plain_relation(self, node: exp.Expr, place: Place) -> tuple[Result, tuple[str, ...]]:
        """Return a relation without its alias and joins, and what qualifies its columns."""
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            return self._named_relation(node, place)
        if isinstance(node, exp.Table) and exprs.call_name(node.this) == "identifier":
            problem = "it names a relation by IDENTIFIER(…); write the name"
            result = Result(ops.Opaque("IDENTIFIER", problem), ())
        elif isinstance(node, exp.Table):
            name = node.this.name or node.this.key
            problem = f"it reads the table function {name}"
            alone = name.lower() in TABLE_FUNCTIONS
            result = Result(ops.Opaque("TABLE_FUNCTION", problem, is_complete=alone), ())
        elif isinstance(node, exp.Subquery) and isinstance(node.this, exp.Query):
            result = self._query(node.this, place)
        elif isinstance(node, exp.Subquery):
            rows, scope = self.relation(node.this, place)
            result = Result(rows, scope.columns)
        elif isinstance(node, exp.Values):
            result = self._values(node)
        else:
            result = Result(ops.Opaque("RELATION", f"it reads {node.key.upper()}"), ())
        return result, ()

    def _values(self, node: exp.Values) -> Result:
        first = node.expressions[0] if node.expressions else None
        width = len(first.expressions) if isinstance(first, exp.Tuple) else 1
        columns = tuple(self._facts.attribute(f"col{n + 1}") for n in range(width))
        bare = node.copy()
        bare.set("alias", None)
        return Result(
            ops.Values(sql(bare), columns), tuple(exprs.ScopeColumn(a.name, a) for a in columns)
        )

    def _named_relation(self, node: exp.Table, place: Place) -> tuple[Result, tuple[str, ...]]:
        cte = None if node.db else place.ctes.get(node.name.lower())
        if cte is not None:
            inner = Place(cte.text, cte.known)
            result = self._query(cte.query, inner)
            if cte.names:
                scope = exprs.Scope(self._facts.fold, result.columns)
                result = replace(result, columns=scope.renamed("", cte.names).columns)
            return result, (node.name,)
        parts = [part.name for part in node.parts]
        if len(parts) > 3:
            return Result(ops.Opaque("RELATION", f"it reads {'.'.join(parts)}"), ()), ()
        name = TableName.of(*parts).within(place.text.catalog, place.text.schema)
        version = " ".join(
            sql(node.args[arg]) for arg in ("version", "when") if node.args.get(arg) is not None
        )
        view = self._facts.views.get(str(name).lower())
        if view is not None and not version:
            return self._view(view, name, place), name.parts
        return self._scan(node, name, version, place), name.parts

    def _scan(self, node: exp.Table, name: TableName, version: str, place: Place) -> Result:
        full = str(name).lower()
        listed = self._facts.sources.get(f"{full} {version.lower()}".strip())
        if listed is None:
            self._facts.gaps.add("UNKNOWN_COLUMNS", f"the columns of {name} are not known")
        ref = place.text.refs.get(node.parts[0].meta.get("start", -1))
        scan = ops.Scan(
            self._facts.next_occurrence(),
            name,
            tuple(map(self._facts.attribute, listed or ())),
            node.alias,
            version,
            ref is not None and ref.streamed,
            full in self._facts.lookups and not place.text.views,
            place.text.views,
        )
        return Result(scan, tuple(exprs.ScopeColumn(a.name, a) for a in scan.output))

    def _view(self, view: ViewQuery, name: TableName, place: Place) -> Result:
        text = Text(view.catalog, view.schema, {}, (*place.text.views, view.name))
        if view.name in place.text.views:
            return Result(ops.Opaque("RECURSIVE", "it is recursive"), ())
        result = self._text(view.query, text)
        if dict(view.confs) != self._facts.confs and not ops.opaque_parts(result.node):
            self._facts.gaps.add("VIEW_CONFS", f"the view {name} is read with confs of its own")
        by_name = {self._facts.fold(c.name): c for c in result.columns}
        found = [by_name.get(self._facts.fold(n)) for n in view.output] if view.output else []
        if view.output and None not in found:
            columns = tuple(c for c in found if c is not None)
        else:
            columns = result.columns
        if view.columns and len(view.columns) == len(columns):
            scope = exprs.Scope(self._facts.fold, columns)
            columns = scope.renamed("", view.columns).columns
        elif not ops.opaque_parts(result.node):
            self._facts.gaps.add("VIEW_COLUMNS", f"the columns of the view {name} are not known")
        named = exprs.passed_on(c.attribute for c in columns)
        return Result(ops.Project(result.node, named, name), columns)

    def _joined(
        self, left: ops.Operator, scope: exprs.Scope, join: exp.Join, place: Place
    ) -> tuple[ops.Operator, exprs.Scope]:
        if isinstance(join.this, exp.Lateral):
            if join.side or join.args.get("on") is not None:
                raise ops.NotUnderstoodError(
                    reason="LATERAL", problem="it joins LATERAL with a condition", parts=(left,)
                )
            return self._lateral(left, scope, join.this, place)
        right, other = self.relation(join.this, place)
        kind = _kind(join)
        if kind is None:
            problem = f"it uses {' '.join((join.side, join.kind)).strip()} JOIN"
            raise ops.NotUnderstoodError(reason="JOIN", problem=problem, parts=(left, right))
        if join.method or join.args.get("using"):
            return self._using(ops.Join(left, right, kind), scope, other, join)
        joined = scope.joined(other)
        on = join.args.get("on")
        if on is None:
            kind = ops.JoinKind.CROSS if kind is ops.JoinKind.INNER else kind
            return ops.Join(left, right, kind), _after(kind, scope, joined)
        bound = self._binder(joined, place).bind(on)
        if bound.subqueries:
            raise ops.NotUnderstoodError(
                reason="SUBQUERY",
                problem="it joins by a subquery in the condition",
                parts=(left, right),
            )
        kind = ops.JoinKind.INNER if kind is ops.JoinKind.CROSS else kind
        keys, rest = exprs.EquiKey.split(
            exprs.Expression(bound.tree).conjuncts, ops.keys_in(left), ops.keys_in(right)
        )
        return ops.Join(left, right, kind, keys, rest), _after(kind, scope, joined)

    def _using(
        self, join: ops.Join, scope: exprs.Scope, other: exprs.Scope, written: exp.Join
    ) -> tuple[ops.Operator, exprs.Scope]:
        """Join by USING or NATURAL: of several columns of a name the first one is the key."""
        pairs: list[tuple[exprs.ScopeColumn, exprs.ScopeColumn]] = []
        for name in self._using_names(join, scope, other, written):
            found, there = scope.first(name), other.first(name)
            if found is None or there is None:
                self._facts.gaps.add("UNRESOLVED_COLUMN", f"{name} cannot be resolved")
            else:
                pairs.append((found, there))
        keys = tuple(
            exprs.EquiKey(a.attribute.expression, b.attribute.expression) for a, b in pairs
        )
        kind = ops.JoinKind.INNER if join.kind is ops.JoinKind.CROSS and keys else join.kind
        kind = ops.JoinKind.CROSS if kind is ops.JoinKind.INNER and not keys else kind
        joined = replace(join, kind=kind, keys=keys)
        if kind in {ops.JoinKind.SEMI, ops.JoinKind.ANTI}:
            return joined, scope.with_first([a for a, _ in pairs])
        if kind is ops.JoinKind.RIGHT:
            return joined, scope.using(other, pairs, [b for _, b in pairs])
        if kind is not ops.JoinKind.FULL:
            return joined, scope.using(other, pairs, [a for a, _ in pairs])
        merged = []
        for a, b in pairs:
            value = exprs.call_of("coalesce", a.attribute.expression, b.attribute.expression)
            merged.append(exprs.Named(self._facts.attribute(a.name), value))
        rows = ops.Project(joined, (*merged, *exprs.passed_on(joined.output)))
        columns = [exprs.ScopeColumn(each.attribute.name, each.attribute) for each in merged]
        return rows, scope.using(other, pairs, columns)

    def _using_names(
        self, join: ops.Join, scope: exprs.Scope, other: exprs.Scope, written: exp.Join
    ) -> Sequence[str]:
        """Return the names of USING, or those that both sides of a NATURAL JOIN have."""
        if ops.opaque_parts(join):
            method = f"{written.method.upper()} JOIN".strip() if written.method else "USING"
            problem = f"it uses {method}"
            raise ops.NotUnderstoodError(reason="NATURAL", problem=problem, parts=join.inputs)
        names = [i.name for i in written.args.get("using") or ()]
        if written.method.upper() == "NATURAL":
            theirs = {self._facts.fold(c.name) for c in other.star()}
            visible = {self._facts.fold(c.name): c.name for c in reversed(scope.star())}
            ours = dict.fromkeys(self._facts.fold(c.name) for c in scope.star())
            names = [visible[name] for name in ours if name in theirs]
            self._check_natural(join, scope, other, theirs)
        elif written.method:
            problem = f"it uses {written.method.upper()} JOIN"
            raise ops.NotUnderstoodError(reason="JOIN", problem=problem, parts=join.inputs)
        if len({*map(self._facts.fold, names)}) < len(names):
            problem = "it names a column of USING twice"
            raise ops.NotUnderstoodError(reason="USING", problem=problem, parts=join.inputs)
        return names

    def _check_natural(
        self, join: ops.Join, scope: exprs.Scope, other: exprs.Scope, theirs: Collection[str]
    ) -> None:
        """Refuse a name that both sides have several times: Spark joins by it several times."""
        listed = [Counter(self._facts.fold(c.name) for c in s.star()) for s in (scope, other)]
        if any(all(found[name] > 1 for found in listed) for name in theirs):
            problem = "both sides of its NATURAL JOIN have a name several times"
            raise ops.NotUnderstoodError(reason="NATURAL", problem=problem, parts=join.inputs)

    def _lateral(
        self, rows: ops.Operator, scope: exprs.Scope, lateral: exp.Lateral, place: Place
    ) -> tuple[ops.Operator, exprs.Scope]:
        if isinstance(lateral.this, (exp.Query, exp.Subquery)):
            raise ops.NotUnderstoodError(
                reason="LATERAL", problem="it uses a LATERAL subquery", parts=(rows,)
            )
        bound = self._binder(scope, place).bind(lateral.this)
        call = generator_of(bound.tree)
        if call is None:
            raise ops.NotUnderstoodError(
                reason="LATERAL", problem="it uses LATERAL with a function", parts=(rows,)
            )
        alias = lateral.args.get("alias")
        names = [c.name for c in alias.columns] if alias is not None else []
        generated = tuple(map(self._facts.attribute, names or self._facts.default_names(call)))
        outer = bool(lateral.args.get("outer")) or call.endswith("_outer")
        rows = ops.Generate(bound.over(rows), exprs.Expression(bound.tree), outer, generated)
        qualifier = (alias.name,) if alias is not None and alias.name else ()
        added = tuple(exprs.ScopeColumn(a.name, a, qualifier) for a in generated)
        return rows, replace(scope, columns=(*scope.columns, *added))


def place_watermarks(tree: exp.Expr, clauses: Mapping[int, WatermarkClause]) -> bool:
    """Move WATERMARK clauses into the relations of a tree, and return whether all have a place.

    Args:
        tree: The tree of a query.
        clauses: By the offset of the alias of the relation; `watermarks_of` returns them.
    """
    placed = 0
    for node in list(tree.find_all(exp.Table, exp.Subquery)):
        alias = node.args.get("alias")
        name = alias.this if alias is not None else None
        if name is None or (clause := clauses.get(name.meta.get("start", -1))) is None:
            continue
        node.meta[_WATERMARK] = clause
        placed += 1
        if not clause.is_named:
            node.set("alias", None)
    return placed == len(clauses)


def _kind(join: exp.Join) -> ops.JoinKind | None:
    side, kind = join.side.upper(), join.kind.upper().replace("OUTER", "")
    if kind in {"SEMI", "ANTI"} and side in {"", "LEFT"}:
        return _KINDS[kind]
    return _KINDS.get(side or kind) if not (side and kind) else None


def _after(kind: ops.JoinKind, left: exprs.Scope, both: exprs.Scope) -> exprs.Scope:
    return left if kind in {ops.JoinKind.SEMI, ops.JoinKind.ANTI} else both


def generator_of(node: exp.Expr) -> str | None:
    """Return the generator function that a node calls."""
    name = exprs.call_name(node) if isinstance(node, exp.Anonymous) else ""
    return name if name in GENERATORS else None


def projected(result: Result) -> ops.Operator:
    """Return a relation with just its columns, in their order."""
    attributes = tuple(column.attribute for column in result.columns)
    if result.node.output == attributes or ops.opaque_parts(result.node):
        return result.node
    return ops.Project(result.node, exprs.passed_on(attributes))
