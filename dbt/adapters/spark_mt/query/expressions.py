"""Attributes of operators, expressions over them, and the scopes in which names mean them.

An attribute is one column of one operator's result. Expressions are sqlglot trees in which a column
is an attribute's key. They are values: a change makes a copy.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from functools import reduce
from typing import TYPE_CHECKING

from sqlglot import exp

from dbt.adapters.spark_mt.definition.columns import quote
from dbt.adapters.spark_mt.query.dialect import sql
from dbt.adapters.spark_mt.query.functions import RANDOM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


_COMPOUND = (exp.Binary, exp.Unary, exp.Between, exp.In, exp.Interval)


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column of an operator's result.

    Args:
        id: Its identity, unique in the tree.
        name: As the query names it; empty for an expression without an alias.
    """

    id: int
    name: str

    @property
    def key(self) -> str:
        """Its name in expressions and in rendered SQL, unique in the tree."""
        return f"{self.name}#{self.id}"

    @property
    def sql(self) -> str:
        """The key in backticks."""
        return quote(self.key)

    @property
    def expression(self) -> Expression:
        """The attribute itself as an expression."""
        return Expression(exp.column(exp.to_identifier(self.key, quoted=True)))


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression over attributes; equal if it is written the same over the same attributes."""

    tree: exp.Expr

    @property
    def sql(self) -> str:
        """Its SQL, where the attributes are columns named by their keys."""
        return sql(self.tree)

    @property
    def keys(self) -> frozenset[str]:
        """The keys of the attributes that it uses."""
        return frozenset(column.name for column in self.tree.find_all(exp.Column))

    @property
    def attribute(self) -> str:
        """The key of the attribute that it is; empty for any other expression."""
        return self.tree.name if isinstance(self.tree, exp.Column) else ""

    @property
    def calls(self) -> tuple[str, ...]:
        """Names of the functions that it calls, in lower case."""
        return tuple(call_name(node) for node in self.tree.walk() if call_name(node))

    @property
    def is_random(self) -> bool:
        """Whether its value may differ for the same row."""
        return any(name in RANDOM for name in self.calls)

    @property
    def conjuncts(self) -> tuple[Expression, ...]:
        """The parts of a condition that must all be true."""
        tree = self.tree.unnest()
        if not isinstance(tree, exp.And):
            return (self,)
        return tuple(part for side in tree.flatten() for part in Expression(side).conjuncts)

    def over(self, values: Mapping[str, exp.Expr]) -> Expression:
        """Return the expression with other expressions in the place of attributes, by key."""
        return Expression(substituted(self.tree, values))


def call_name(node: exp.Expr) -> str:
    """Return the name of the function that a node calls, in lower case; empty for others."""
    if isinstance(node, exp.Anonymous):
        return str(node.this).lower()
    return node.sql_name().lower() if isinstance(node, exp.Func) else ""


def call_of(name: str, *arguments: Expression) -> Expression:
    """Return the call of a function; of all columns (`*`) without arguments."""
    trees = [argument.tree.copy() for argument in arguments] or [exp.Star()]
    return Expression(exp.Anonymous(this=name, expressions=trees))


def substituted(tree: exp.Expr, values: Mapping[str, exp.Expr]) -> exp.Expr:
    """Return a copy of a tree with other expressions in the place of columns, by name."""

    def replaced(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and node.name in values:
            value = values[node.name].copy()
            return exp.Paren(this=value) if isinstance(value, _COMPOUND) else value
        return node

    return tree.copy().transform(replaced, copy=False)


def transformed(tree: exp.Expr, change: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """Return a tree with each part changed, the outer ones first; `tree` itself is used up."""
    root: exp.Expr = exp.Paren(this=tree)  # nothing but a parenthesis is around the parts
    changed: exp.Expr = root.transform(change, copy=False).this
    return changed.pop()


class SubqueryKind(Enum):
    """Kind of value of a subquery in an expression."""

    SCALAR = "the value of its one row"
    EXISTS = "whether it has rows"
    IN = "whether its rows contain a value"


@dataclass(frozen=True, slots=True)
class Named:
    """An expression and the attribute that holds its value."""

    attribute: Attribute
    expression: Expression

    @property
    def sql(self) -> str:
        """`expression AS name`."""
        if self.expression.attribute == self.attribute.key:
            return self.attribute.sql
        return f"{self.expression.sql} AS {self.attribute.sql}"


def values_of(columns: Iterable[Named]) -> dict[str, exp.Expr]:
    """Return the values of columns, for `Expression.over`."""
    return {column.attribute.key: column.expression.tree for column in columns}


def by_place(attributes: Iterable[Attribute], others: Iterable[Attribute]) -> dict[str, exp.Expr]:
    """Return the attributes that correspond to some by place, for `Expression.over`."""
    pairs = zip(attributes, others, strict=True)
    return {ours.key: theirs.expression.tree for ours, theirs in pairs}


def passed_on(attributes: Iterable[Attribute]) -> tuple[Named, ...]:
    """Return attributes as columns that hold their own values."""
    return tuple(Named(attribute, attribute.expression) for attribute in attributes)


def all_of(parts: Sequence[Expression]) -> Expression:
    """Return the condition that all of some conditions are true."""
    trees = [
        exp.Paren(this=part.tree.copy()) if isinstance(part.tree, exp.Or) else part.tree.copy()
        for part in parts
    ]
    return Expression(reduce(lambda one, other: exp.And(this=one, expression=other), trees))


@dataclass(frozen=True, slots=True)
class EquiKey:
    """An equality of a join: an expression over the left input, and one over the right input.

    `null_safe` is whether NULLs are equal (`<=>`).
    """

    left: Expression
    right: Expression
    null_safe: bool = False

    @classmethod
    def of(
        cls, condition: Expression, left: frozenset[str], right: frozenset[str]
    ) -> EquiKey | None:
        """Return a condition as an equality of two inputs; None for any other condition.

        Args:
            condition: A part of the condition of a join.
            left: The keys of the left input's attributes.
            right: The keys of the right input's attributes.
        """
        tree = condition.tree.unnest()
        if not isinstance(tree, (exp.EQ, exp.NullSafeEQ)) or condition.is_random:
            return None
        sides = (Expression(tree.this.copy()), Expression(tree.expression.copy()))
        for one, other in (sides, sides[::-1]):
            if one.keys and other.keys and one.keys <= left and other.keys <= right:
                return cls(one, other, isinstance(tree, exp.NullSafeEQ))
        return None

    @classmethod
    def split(
        cls, conditions: Sequence[Expression], left: frozenset[str], right: frozenset[str]
    ) -> tuple[tuple[EquiKey, ...], Expression | None]:
        """Split the conditions of a join into equalities and the rest, as `of` does."""
        found = [(part, cls.of(part, left, right)) for part in conditions]
        rest = [part for part, key in found if key is None]
        return tuple(key for _, key in found if key), all_of(rest) if rest else None

    @property
    def sql(self) -> str:
        """The equality."""
        operator = "<=>" if self.null_safe else "="
        return f"({self.left.sql}) {operator} ({self.right.sql})"


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """A call of an aggregate function.

    Args:
        attribute: Holds its value.
        expression: The whole call as it is written.
        name: The function, in lower case.
        arguments: Its arguments; none for `count(*)`.
        distinct: Whether it aggregates distinct values.
        condition: The condition of FILTER; None for all rows.
        plain: Whether it consists of name, arguments, DISTINCT and FILTER alone: no order within
            the group, no IGNORE NULLS.
        order_free: Whether its value does not depend on the order of the rows.
    """

    attribute: Attribute
    expression: Expression
    name: str
    arguments: tuple[Expression, ...]
    distinct: bool = False
    condition: Expression | None = None
    plain: bool = True
    order_free: bool = True


@dataclass(frozen=True, slots=True)
class WindowCall:
    """A call of a window function.

    Args:
        attribute: Holds its value.
        expression: The whole call as it is written, OVER included.
        name: The function, in lower case.
        partition: PARTITION BY.
        order: ORDER BY, each with its direction.
        frame: ROWS or RANGE as written; empty for the default.
    """

    attribute: Attribute
    expression: Expression
    name: str
    partition: tuple[Expression, ...]
    order: tuple[Expression, ...]
    frame: str = ""


class AmbiguousColumnError(Exception):
    """A name means several columns."""


@dataclass(frozen=True, slots=True)
class ScopeColumn:
    """A column that an expression can name.

    Args:
        name: Its name here.
        attribute: What it is.
        qualifier: The parts before its name, outermost first.
        hidden: Whether only its qualified name finds it: one side of USING and NATURAL.
    """

    name: str
    attribute: Attribute
    qualifier: tuple[str, ...] = ()
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class Scope:
    """The columns of the relations after FROM.

    Args:
        fold: Makes two spellings of a name equal.
        columns: In the order in which `*` lists them.
        outer: For a subquery in an expression: the scope of the query around it.
    """

    fold: Callable[[str], str]
    columns: tuple[ScopeColumn, ...] = ()
    outer: Scope | None = None

    def find(self, parts: Sequence[str]) -> tuple[Attribute, tuple[str, ...]] | None:
        """Return the column that a dotted name means, and its nested fields in the name.

        Raises:
            AmbiguousColumnError: Several columns have the name.
        """
        found = self.find_here(parts)
        if found is None and self.outer is not None:
            return self.outer.find(parts)
        return found

    def find_here(self, parts: Sequence[str]) -> tuple[Attribute, tuple[str, ...]] | None:
        """Return what a dotted name means without the query around.

        Raises:
            AmbiguousColumnError: Several columns have the name.
        """
        folded = [self.fold(part) for part in parts]
        for length in range(min(3, len(parts) - 1), -1, -1):
            found = {
                column.attribute
                for column in self.columns
                if self.fold(column.name) == folded[length]
                and (self._is_qualified(column, folded[:length]) if length else not column.hidden)
            }
            if len(found) > 1:
                raise AmbiguousColumnError(".".join(parts))
            if found:
                return found.pop(), tuple(parts[length + 1 :])
        return None

    def star(self, qualifier: Sequence[str] = ()) -> tuple[ScopeColumn, ...]:
        """Return the columns of `*` or of `qualifier.*`."""
        if not qualifier:
            return tuple(column for column in self.columns if not column.hidden)
        folded = [self.fold(part) for part in qualifier]
        found = [column for column in self.columns if self._is_qualified(column, folded)]
        return tuple(sorted(found, key=lambda column: not column.hidden))

    def first(self, name: str) -> ScopeColumn | None:
        """Return the first column of `*` with a name."""
        folded = self.fold(name)
        return next((c for c in self.star() if self.fold(c.name) == folded), None)

    def with_first(self, columns: Sequence[ScopeColumn]) -> Scope:
        """Return the scope in which `*` lists some of its columns first."""
        return replace(self, columns=(*columns, *(c for c in self.columns if c not in columns)))

    def renamed(self, alias: str, names: Sequence[str]) -> Scope:
        """Return the scope under an alias, with other names where there is one for each column."""
        visible = self.star()
        listed = names if len(names) == len(visible) else [column.name for column in visible]
        columns = (
            ScopeColumn(name, column.attribute, (alias,) if alias else ())
            for name, column in zip(listed, visible, strict=True)
        )
        return replace(self, columns=tuple(columns))

    def joined(self, other: Scope) -> Scope:
        """Return the scope of a join with another relation."""
        return replace(self, columns=(*self.columns, *other.columns))

    def using(
        self,
        other: Scope,
        pairs: Sequence[tuple[ScopeColumn, ScopeColumn]],
        keys: Sequence[ScopeColumn],
    ) -> Scope:
        """Return the scope of a join by USING or NATURAL.

        Args:
            other: The scope of the right side.
            pairs: The columns of both sides that are compared.
            keys: What they are in the result. `*` lists these first, and hides the others.
        """
        compared = {column.attribute for pair in pairs for column in pair}
        shown = {column.attribute for column in keys}
        both = (*self.columns, *other.columns)
        sides = (*(a for a, _ in pairs), *(b for _, b in pairs))
        hidden = [replace(c, hidden=True) for c in sides if c.attribute not in shown]
        rest = [c for c in both if c.hidden or c.attribute not in compared]
        return replace(self, columns=(*hidden, *keys, *rest))

    def _is_qualified(self, column: ScopeColumn, folded: Sequence[str]) -> bool:
        ours = [self.fold(part) for part in column.qualifier]
        return bool(folded) and ours[-len(folded) :] == list(folded)


@dataclass(slots=True)
class Gaps:
    """Reasons for which the tree of a query cannot be rendered, each once."""

    found: dict[tuple[str, str], None] = field(default_factory=dict)

    def add(self, code: str, problem: str) -> None:
        """Add a reason."""
        self.found[code, problem] = None
