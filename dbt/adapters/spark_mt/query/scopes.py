"""Resolution of column names in a query by the rules of Spark."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sqlglot import exp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dbt.adapters.spark_mt.query.expressions import Attribute
    from dbt.adapters.spark_mt.query.operators import Operator


class NotUnderstoodError(Exception):
    """A part of a query is not understood.

    Args:
        reason: A code.
        problem: The same as part of a sentence about the query.
        parts: What is understood of its inputs.
    """

    def __init__(self, *, reason: str, problem: str, parts: tuple[Operator, ...] = ()) -> None:
        super().__init__(problem)
        self.reason = reason
        self.problem = problem
        self.parts = parts


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
        return tuple(sorted(found, key=lambda column: column.hidden))

    def renamed(self, alias: str, names: Sequence[str]) -> Scope:
        """Return the scope under an alias, with other names where there is one for each column."""
        visible = self.star()
        listed = names if len(names) == len(visible) else [column.name for column in visible]
        columns = (
            ScopeColumn(name, column.attribute, (alias,) if alias else ())
            for name, column in zip(listed, visible, strict=True)
        )
        return replace(self, columns=tuple(columns))

    def joined(self, other: Scope, using: Iterable[tuple[str, Attribute]] = ()) -> Scope:
        """Return the scope of a join.

        Args:
            other: The scope of the right side.
            using: The columns of USING or NATURAL, and what each is in the result.
        """
        merged = {self.fold(name): (name, attribute) for name, attribute in using}
        both = (*self.columns, *other.columns)
        kept: list[ScopeColumn] = []
        first: dict[str, ScopeColumn] = {}
        for column in both:
            name = self.fold(column.name)
            if name not in merged or column.hidden:
                kept.append(column)
            elif column.attribute == merged[name][1]:
                first[name] = column
            else:
                kept.append(replace(column, hidden=True))
        keys = [first.get(n, ScopeColumn(name, a)) for n, (name, a) in merged.items()]
        return replace(self, columns=(*keys, *kept))

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


def name_parts(column: exp.Column) -> list[str]:
    """Return the parts of a column's name as written."""
    return [part.name for part in column.parts]


def is_star(node: exp.Expr) -> bool:
    """Return whether a node is `*` or `t.*`."""
    return isinstance(node, exp.Star) or (
        isinstance(node, exp.Column) and isinstance(node.this, exp.Star)
    )


def stars_in(scope: Scope, node: exp.Expr) -> Iterator[ScopeColumn]:
    """Yield the columns that a `*` stands for."""
    star = node.this if isinstance(node, exp.Column) else node
    qualifier = [part.name for part in node.parts[:-1]] if isinstance(node, exp.Column) else []
    excluded = {scope.fold(each.name) for each in star.args.get("except_") or ()}
    for column in scope.star(qualifier):
        if scope.fold(column.name) not in excluded:
            yield column
