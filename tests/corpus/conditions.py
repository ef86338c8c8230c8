"""Conditions under which one row of each table that a query reads gives a row of its result."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

import sqlglot
from sqlglot import exp
from sqlglot.optimizer.qualify import qualify

from tests.corpus.values import NotKnownError, value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.corpus.sources import Choice, Column

    Outputs = dict[str, exp.Expression]
    Scope = Mapping[str, Outputs | str | None]
    """What an alias of a FROM is: a row of a table, rows of a subquery, or no row."""
    Ctes = dict[str, tuple[exp.Expression, "Ctes", list[str]]]

_NOTHING: Mapping[str, str] = {}
COUNT = "count_of_rows"
"""A function that stands for a count; its arguments name the rows that it counts."""
AGGREGATE = "aggregate_of_rows"
"""A function that stands for an aggregate; its argument is the value of one row."""
_JOINED = 0.75
_COMPARED = (exp.GT, exp.GTE, exp.EQ)
_GROUPED = (exp.Sum, exp.Avg, exp.Max, exp.Min)


@dataclass(frozen=True)
class Conditions:
    """Rows of tables, and what must be true of them.

    Args:
        rows: The table of each row, by the row's name.
        conjuncts: The conditions; the tables of their columns are names of rows.
        copies: How many rows like a row there must be, where that is more than one.
    """

    rows: dict[str, str] = field(default_factory=dict)
    conjuncts: list[exp.Expression] = field(default_factory=list)
    copies: dict[str, int] = field(default_factory=dict)


def conditions(
    text: str, columns: Mapping[str, tuple[Column, ...]], choice: Choice
) -> Conditions | None:
    """Return conditions for a row of a query's result; None where the choices exclude each other.

    Where there are alternatives, as in an OR or in a UNION, a choice takes one of them. An
    aggregate is taken as the value of its only row.
    """
    walk = _Walk(columns, choice, Conditions())
    walk.outputs(_qualified(text, _Schema(columns)), {}, {})
    return walk.found if walk.is_possible else None


class _Schema(dict):  # type: ignore[type-arg]
    """The types of the columns of tables; one is like another with the same tables."""

    def __init__(self, columns: Mapping[str, tuple[Column, ...]]) -> None:
        super().__init__({name: {c.name: c.type for c in each} for name, each in columns.items()})

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))


@cache
def _qualified(text: str, schema: _Schema) -> exp.Expression:
    return qualify(
        sqlglot.parse_one(text, dialect="spark"),
        dialect="spark",
        schema=dict(schema),
        validate_qualify_columns=False,
    )


def is_of_aggregates(condition: exp.Expression) -> bool:
    """Whether a condition may be met by several rows where it is not by one."""
    return any(each.name == AGGREGATE for each in condition.find_all(exp.Anonymous))


@dataclass
class _Walk:
    columns: Mapping[str, tuple[Column, ...]]
    choice: Choice
    found: Conditions
    is_possible: bool = True

    def outputs(
        self,
        node: exp.Expression,
        ctes: Ctes,
        outer: Scope,
        wanted: Mapping[str, str] = _NOTHING,
    ) -> Outputs:
        """Return the expressions of a query's columns over rows of tables, with its conditions.

        Args:
            node: The query.
            ctes: The queries of its names.
            outer: What the aliases of the queries around it are.
            wanted: The literals that the query around it wants, by the names of the columns.
        """
        node = node.unnest()
        ctes = dict(ctes)
        for cte in getattr(node, "ctes", ()):
            ctes[cte.alias.lower()] = (cte.this, dict(ctes), _names(cte))
        if isinstance(node, exp.SetOperation):
            return self._of_set(node, ctes, outer, wanted)
        if not isinstance(node, exp.Select):
            return {}
        return self._of_select(node, ctes, outer)

    def _of_set(
        self, node: exp.SetOperation, ctes: Ctes, outer: Scope, wanted: Mapping[str, str]
    ) -> Outputs:
        left, right = node.this, node.expression
        if isinstance(node, exp.Union):
            branches = list(_branches(node))
            names = _named(branches[0])
            fitting = [each for each in branches if _gives(each, names, wanted)] or branches
            chosen = self.outputs(self.choice.choice(fitting), ctes, outer)
            return dict(zip(names, chosen.values(), strict=False))
        found = self.outputs(left, ctes, outer)
        if isinstance(node, exp.Intersect):
            others = self.outputs(right, ctes, outer)
            for mine, other in zip(found.values(), others.values(), strict=False):
                self._add(exp.EQ(this=mine.copy(), expression=other.copy()))
        return found

    def _of_select(self, node: exp.Select, ctes: Ctes, outer: Scope) -> Outputs:
        scope: dict[str, Outputs | str | None] = dict(outer)
        start = node.args.get("from_")
        own: list[str] = []
        nulls, literals = set(_null_sides(node)), _literals(node)
        for join in [*([start] if start else []), *node.args.get("joins", ())]:
            self._join(join, scope, own, ctes, nulls, literals)
        rows = [scope[alias] for alias in own if isinstance(scope[alias], str)]
        inner = [exp.column("*", table=name) for name in rows]
        substitution = _Substitution(self, scope, ctes, inner)
        for clause in ("where", "having"):
            if node.args.get(clause) is not None:
                self._require(node.args[clause].this, substitution)
        return {
            projection.alias_or_name: substitution(projection.unalias())
            for projection in node.expressions
        }

    def _join(
        self,
        join: exp.Expression,
        scope: dict[str, Outputs | str | None],
        own: list[str],
        ctes: Ctes,
        nulls: set[str],
        literals: Mapping[str, Mapping[str, str]],
    ) -> None:
        source = join.this
        alias = source.alias_or_name
        side, kind = join.args.get("side") or "", join.args.get("kind") or ""
        draw = self.choice.random()
        is_absent = alias in nulls or (side in ("LEFT", "FULL") and draw > _JOINED)
        if side in ("RIGHT", "FULL") and draw < 1 - _JOINED:
            for each in own:
                scope[each] = None
        if kind == "ANTI" or is_absent:
            scope[alias] = None
            own.append(alias)
            return
        scope[alias] = self._source(source, ctes, scope, literals.get(alias, _NOTHING))
        own.append(alias)
        on = join.args.get("on")
        if on is not None and all(scope.get(c.table) is not None for c in on.find_all(exp.Column)):
            self._require(on, _Substitution(self, scope, ctes, []))

    def _source(
        self, source: exp.Expression, ctes: Ctes, scope: Scope, wanted: Mapping[str, str]
    ) -> Outputs | str:
        name = source.name.lower()
        if not isinstance(source, exp.Table):
            return _renamed(self.outputs(source, ctes, scope, wanted), _names(source))
        if name in ctes:
            body, inner, names = ctes[name]
            return _renamed(self.outputs(body, inner, {}, wanted), names)
        row = f"r{len(self.found.rows)}"
        self.found.rows[row] = name
        return row

    def _require(self, condition: exp.Expression, substitution: _Substitution) -> None:
        condition = condition.unnest()
        if isinstance(condition, exp.And):
            for part in (condition.left, condition.right):
                self._require(part, substitution)
        elif isinstance(condition, exp.Or):
            parts = list(condition.flatten())
            self._require(self.choice.choice(parts), substitution)
        elif isinstance(condition, exp.Exists):
            self.outputs(condition.this, substitution.ctes, substitution.scope)
        elif isinstance(condition, exp.In) and condition.args.get("query") is not None:
            found = self.outputs(condition.args["query"], substitution.ctes, substitution.scope)
            for mine, other in zip(_parts(condition.this), found.values(), strict=False):
                self._add(exp.EQ(this=substitution(mine), expression=other.copy()))
        elif not (isinstance(condition, exp.Not) and condition.find(exp.Exists, exp.Select)):
            self._add(substitution(condition))

    def _add(self, condition: exp.Expression) -> None:
        functions = list(condition.find_all(exp.Anonymous))
        counts = [each for each in functions if each.name == COUNT]
        if counts:
            self._copy(condition, counts[0])
        elif not condition.find(exp.Column):
            self.is_possible &= _is_possible(condition)
        else:
            self.found.conjuncts.append(condition)

    def _copy(self, condition: exp.Expression, count: exp.Anonymous) -> None:
        """Ask for as many rows as a count is compared with."""
        literals = [int(each.name) for each in condition.find_all(exp.Literal) if each.is_int]
        rows = [column.table for column in count.expressions]
        if not literals or not rows:
            return
        facts = [each for each in rows if "_sk" not in self._first(each)] or rows
        more = int(isinstance(condition, exp.GT))
        wanted = min(literals) + more
        row = next((each for each in facts if self.found.rows[each].endswith("sales")), rows[-1])
        self.found.copies[row] = max(wanted, self.found.copies.get(row, 1))

    def _first(self, row: str) -> str:
        columns = self.columns.get(self.found.rows[row], ())
        return columns[0].name if columns else ""


@dataclass
class _Substitution:
    """Expressions of a SELECT as expressions over rows of tables."""

    walk: _Walk
    scope: Scope
    ctes: Ctes
    inner: list[exp.Column]

    def __call__(self, node: exp.Expression) -> exp.Expression:
        """Return an expression over rows of tables; a subquery adds its conditions."""
        if isinstance(node, exp.Column):
            return self._column(node)
        if isinstance(node, (exp.Subquery, exp.Select)) and node.find(exp.Select):
            found = self.walk.outputs(node, self.ctes, self.scope)
            return next(iter(found.values()), exp.Null()).copy()
        if isinstance(node, exp.Count):
            return exp.Anonymous(this=COUNT, expressions=[each.copy() for each in self.inner])
        copy = self._copy(node)
        is_grouped = isinstance(copy, _GROUPED)
        return exp.Anonymous(this=AGGREGATE, expressions=[copy.this]) if is_grouped else copy

    def _copy(self, node: exp.Expression) -> exp.Expression:
        copy = node.copy()
        for key, part in node.args.items():
            if isinstance(part, exp.Expression):
                copy.set(key, self(part))
            elif isinstance(part, list):
                copy.set(key, [self(v) if isinstance(v, exp.Expression) else v for v in part])
        return copy

    def _column(self, node: exp.Column) -> exp.Expression:
        source = self.scope.get(node.table)
        if source is None:
            return exp.Null()
        if isinstance(source, str):
            return exp.column(node.name.lower(), table=source)
        found = {name.lower(): each for name, each in source.items()}.get(node.name.lower())
        return exp.Null() if found is None else exp.paren(found, copy=True).unnest()


def _is_possible(condition: exp.Expression) -> bool:
    try:
        return value(condition, lambda *_: None) is True
    except NotKnownError:
        return True


def _conjuncts(condition: exp.Expression) -> Iterator[exp.Expression]:
    condition = condition.unnest()
    if isinstance(condition, exp.And):
        yield from _conjuncts(condition.left)
        yield from _conjuncts(condition.right)
    else:
        yield condition


def _literals(node: exp.Select) -> Mapping[str, Mapping[str, str]]:
    """Return the literals to which a WHERE equates columns, by the alias and the column."""
    found: dict[str, dict[str, str]] = {}
    where = node.args.get("where")
    for part in _conjuncts(where.this) if where else ():
        if isinstance(part, exp.EQ) and isinstance(part.right, exp.Literal):
            column = part.left.unnest()
            if isinstance(column, exp.Column):
                found.setdefault(column.table, {})[column.name] = part.right.name
    return found


def _gives(branch: exp.Expression, names: list[str], wanted: Mapping[str, str]) -> bool:
    """Whether no literal of a branch of a UNION differs from one that is wanted."""
    given = dict(zip(names, (each.unalias() for each in branch.selects), strict=False))
    return not any(
        isinstance(given.get(name), exp.Literal) and given[name].name != literal
        for name, literal in wanted.items()
    )


def _branches(node: exp.Expression) -> Iterator[exp.Expression]:
    node = node.unnest()
    if isinstance(node, exp.Union) and not node.ctes:
        yield from _branches(node.this)
        yield from _branches(node.expression)
    else:
        yield node


def _named(node: exp.Expression) -> list[str]:
    return [each.alias_or_name for each in node.unnest().selects]


def _names(source: exp.Expression) -> list[str]:
    alias = source.args.get("alias")
    return [each.name for each in alias.columns] if alias else []


def _renamed(outputs: Outputs, names: list[str]) -> Outputs:
    return dict(zip(names or outputs, outputs.values(), strict=False))


def _parts(node: exp.Expression) -> list[exp.Expression]:
    node = node.unnest()
    return list(node.expressions) if isinstance(node, exp.Tuple) else [node]


def _null_sides(node: exp.Select) -> Iterator[str]:
    """Yield the aliases of which a WHERE wants no row: `x IS NULL` after an outer join."""
    where = node.args.get("where")
    outer = {
        j.this.alias_or_name for j in node.args.get("joins", ()) if j.args.get("side") == "LEFT"
    }
    for part in _conjuncts(where.this) if where else ():
        if isinstance(part, exp.Is) and isinstance(part.expression, exp.Null):
            yield from ({part.this.table} if isinstance(part.this, exp.Column) else set()) & outer
