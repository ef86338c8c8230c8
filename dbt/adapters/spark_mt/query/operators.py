"""Operator tree of a query: relational operators over attributes with unique identities.

An attribute is one column of one operator's result. Its identity is unique in a tree. So each place
in which a query reads a table, a view or a CTE has attributes of its own. Expressions are sqlglot
trees in which a column is an attribute's `key`. What is not understood is `Opaque`, with a reason
code; `opaque_parts` finds it below any operator.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, ClassVar, TypeVar

from dbt.adapters.spark_mt.definition.columns import quote
from dbt.adapters.spark_mt.query.boundary import guarded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.query.expressions import (
        AggregateCall,
        Attribute,
        EquiKey,
        Expression,
        Named,
        SubqueryKind,
        WindowCall,
    )

    Node = TypeVar("Node", bound="Operator")


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


@dataclass(frozen=True, slots=True)
class Operator:
    """A relational operator. Subclasses name the fields with their inputs in `_INPUTS`."""

    _INPUTS: ClassVar[tuple[str, ...]] = ()

    @property
    def inputs(self) -> tuple[Operator, ...]:
        """The operators whose rows it reads, from left to right."""
        return tuple(getattr(self, name) for name in self._INPUTS)

    @property
    def output(self) -> tuple[Attribute, ...]:
        """The columns of its rows."""
        raise NotImplementedError

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """Its own expressions."""
        return ()

    def over(self: Node, *inputs: Operator) -> Node:
        """Return the same operator over other inputs, as many as it has."""
        changed = dict(zip(self._INPUTS, inputs, strict=True))
        return replace(self, **changed) if changed else self


@dataclass(frozen=True, slots=True)
class Scan(Operator):
    """One place in which a query reads a table.

    Args:
        occurrence: Numbers the places from 0, in the order of the text.
        relation: The full name.
        output: The columns of the relation.
        alias: The name by which the query qualifies its columns.
        version: `VERSION AS OF …` or `TIMESTAMP AS OF …` as the user wrote it.
        stream: Whether it is read as a STREAM.
        lookup: Whether it is looked up at the processing time (FOR SYSTEM_TIME AS OF).
        views: The views through which it is reached, outermost first.
    """

    occurrence: int
    relation: TableName
    output: tuple[Attribute, ...]
    alias: str = ""
    version: str = ""
    stream: bool = False
    lookup: bool = False
    views: tuple[TableName, ...] = ()

    @property
    def text(self) -> str:
        """The full name of the relation, and the version where it is a fixed one."""
        return f"{self.relation} {self.version}".strip()

    @property
    def sql(self) -> str:
        """The relation as it is written after FROM."""
        stream = "STREAM " if self.stream else ""
        version = f" {self.version}" if self.version else ""
        is_path = "/" in self.relation.name
        parts = self.relation.parts[-2:]
        return f"{stream}{'.'.join(map(quote, parts)) if is_path else self.relation.sql}{version}"


@dataclass(frozen=True, slots=True)
class Values(Operator):
    """Rows that the query itself contains.

    Args:
        text: The text after FROM; empty for the one row of a SELECT without FROM.
        output: Its columns.
    """

    text: str
    output: tuple[Attribute, ...]


@dataclass(frozen=True, slots=True)
class Opaque(Operator):
    """A part of a query that is not understood.

    Args:
        reason: A code such as `PIVOT`.
        problem: The same as part of a sentence about the query: `it uses PIVOT`.
        parts: What is understood of its inputs.
        output: Its columns where they are known.
        is_complete: Whether it reads nothing but its parts.
    """

    reason: str
    problem: str
    parts: tuple[Operator, ...] = ()
    output: tuple[Attribute, ...] = ()
    is_complete: bool = False

    @property
    def inputs(self) -> tuple[Operator, ...]:
        """The parts of its inputs that are understood."""
        return self.parts

    def over(self, *inputs: Operator) -> Opaque:
        """Return the same operator over other inputs."""
        return replace(self, parts=inputs)


@dataclass(frozen=True, slots=True)
class _Unary(Operator):
    _INPUTS: ClassVar[tuple[str, ...]] = ("input",)
    input: Operator

    @property
    def output(self) -> tuple[Attribute, ...]:
        return self.input.output


@dataclass(frozen=True, slots=True)
class Apply(_Unary):
    """A subquery in an expression: adds its value to each row of the input.

    Only the operator over a chain of these uses the attributes that they add.

    Args:
        input: The rows.
        attribute: Holds the value.
        kind: What the value is.
        query: The subquery. Where it is correlated, its expressions use attributes of `input`.
        operands: What IN compares with the columns of the subquery.
    """

    _INPUTS: ClassVar[tuple[str, ...]] = ("input", "query")
    attribute: Attribute
    kind: SubqueryKind
    query: Operator
    operands: tuple[Expression, ...] = ()

    @property
    def output(self) -> tuple[Attribute, ...]:
        """The columns of the input, and the value."""
        return *self.input.output, self.attribute

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """The operands of IN."""
        return self.operands

    @property
    def outer(self) -> frozenset[str]:
        """The keys of the attributes of the input that the subquery uses; empty if uncorrelated."""
        keys = {a.key for a in self.input.output}
        return frozenset(k for e in expressions_of(self.query) for k in e.keys if k in keys)


def rows_of(node: Operator) -> Operator:
    """Return the operator below a chain of `Apply`."""
    while isinstance(node, Apply):
        node = node.input
    return node


@dataclass(frozen=True, slots=True)
class Filter(_Unary):
    """The rows for which a condition is true."""

    condition: Expression

    @property
    def output(self) -> tuple[Attribute, ...]:
        """The columns of the input without the values of subqueries."""
        return rows_of(self.input).output

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """The condition."""
        return (self.condition,)


@dataclass(frozen=True, slots=True)
class EventTime:
    """A WATERMARK of a query.

    Args:
        attribute: Holds the time of a row.
        delay: How late a row may come, as the user wrote it.
    """

    attribute: Attribute
    delay: str


@dataclass(frozen=True, slots=True)
class Project(_Unary):
    """Expressions over each row.

    Args:
        input: The rows.
        columns: What is computed.
        view: The persistent view whose result this is.
        event_time: The WATERMARK that its rows have; it has no effect outside of a stream.
    """

    columns: tuple[Named, ...]
    view: TableName | None = None
    event_time: EventTime | None = None

    @property
    def output(self) -> tuple[Attribute, ...]:
        """The attributes that hold the values."""
        return tuple(column.attribute for column in self.columns)

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """The computed expressions."""
        return tuple(column.expression for column in self.columns)


@dataclass(frozen=True, slots=True)
class Generate(_Unary):
    """Several rows for each row, by a generator function (`explode`).

    Args:
        input: The rows.
        generator: The call.
        outer: Whether a row for which it returns nothing is kept.
        generated: The columns that it adds.
    """

    generator: Expression
    outer: bool
    generated: tuple[Attribute, ...]

    @property
    def output(self) -> tuple[Attribute, ...]:
        """The columns of the input, and the generated ones."""
        return *rows_of(self.input).output, *self.generated

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """The call of the generator."""
        return (self.generator,)


class JoinKind(Enum):
    """Kind of a join, by how it treats rows without a partner; the value is its SQL."""

    INNER = "INNER JOIN"
    CROSS = "CROSS JOIN"
    LEFT = "LEFT OUTER JOIN"
    RIGHT = "RIGHT OUTER JOIN"
    FULL = "FULL OUTER JOIN"
    SEMI = "LEFT SEMI JOIN"
    ANTI = "LEFT ANTI JOIN"


INNER_JOINS = frozenset({JoinKind.INNER, JoinKind.CROSS})
"""The joins that keep no row without a partner."""


@dataclass(frozen=True, slots=True)
class Join(Operator):
    """Pairs of rows of two inputs.

    Args:
        left: The left input.
        right: The right input.
        kind: How rows without a partner are treated.
        keys: Its equalities; USING and NATURAL are resolved.
        condition: The rest of its condition; None for nothing.
        subquery: Whether it was made of EXISTS or IN.
    """

    _INPUTS: ClassVar[tuple[str, ...]] = ("left", "right")
    left: Operator
    right: Operator
    kind: JoinKind
    keys: tuple[EquiKey, ...] = ()
    condition: Expression | None = None
    subquery: bool = False

    @property
    def output(self) -> tuple[Attribute, ...]:
        """The columns of both inputs, or of the left input for semi and anti joins."""
        if self.kind in {JoinKind.SEMI, JoinKind.ANTI}:
            return self.left.output
        return *self.left.output, *self.right.output

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """Both sides of the equalities, and the rest of the condition."""
        rest = (self.condition,) if self.condition is not None else ()
        return *(side for key in self.keys for side in (key.left, key.right)), *rest


@dataclass(frozen=True, slots=True)
class Aggregate(_Unary):
    """One row for each group of rows.

    Args:
        input: The rows.
        groups: The grouping expressions; none for one group of all rows, which exists even
            without rows.
        calls: The aggregate functions.
        sets: For GROUPING SETS, ROLLUP and CUBE: the places in `groups` of each grouping set.
    """

    groups: tuple[Named, ...]
    calls: tuple[AggregateCall, ...]
    sets: tuple[tuple[int, ...], ...] | None = None

    @property
    def output(self) -> tuple[Attribute, ...]:
        """The grouping expressions, then the aggregates."""
        return *(g.attribute for g in self.groups), *(c.attribute for c in self.calls)

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """The grouping expressions and the calls."""
        return *(g.expression for g in self.groups), *(c.expression for c in self.calls)


@dataclass(frozen=True, slots=True)
class Distinct(_Unary):
    """Each different row once."""


@dataclass(frozen=True, slots=True)
class Window(_Unary):
    """Values of window functions, added to each row."""

    calls: tuple[WindowCall, ...]

    @property
    def output(self) -> tuple[Attribute, ...]:
        """The columns of the input, and the values."""
        return *self.input.output, *(call.attribute for call in self.calls)

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """The calls."""
        return tuple(call.expression for call in self.calls)


@dataclass(frozen=True, slots=True)
class Union(Operator):
    """All rows of several inputs, duplicates included; columns correspond by place."""

    branches: tuple[Operator, ...]
    output: tuple[Attribute, ...]

    @property
    def inputs(self) -> tuple[Operator, ...]:
        """The branches."""
        return self.branches

    def over(self, *inputs: Operator) -> Union:
        """Return the union of other inputs."""
        return replace(self, branches=inputs)


@dataclass(frozen=True, slots=True)
class SetOperation(Operator):
    """INTERSECT or EXCEPT, with duplicates removed unless `all_rows`."""

    _INPUTS: ClassVar[tuple[str, ...]] = ("left", "right")
    left: Operator
    right: Operator
    intersect: bool
    all_rows: bool
    output: tuple[Attribute, ...]


@dataclass(frozen=True, slots=True)
class Difference(Operator):
    """The rows of the left input, without as many of each as the right input has.

    EXCEPT ALL would take values for the same that are only equal, and change them.
    """

    _INPUTS: ClassVar[tuple[str, ...]] = ("left", "right")
    left: Operator
    right: Operator

    @property
    def output(self) -> tuple[Attribute, ...]:
        """The columns of the left input."""
        return self.left.output


@dataclass(frozen=True, slots=True)
class Shared(Operator):
    """Rows that are computed once, as a relation of its own that other operators read.

    Args:
        rows: What computes them; it is no input of an operator that reads them.
        number: By which the SQL of a reader finds the relation; -1 as long as there is no SQL.
    """

    rows: Operator
    number: int = -1

    @property
    def output(self) -> tuple[Attribute, ...]:
        """The columns of the rows."""
        return self.rows.output


@dataclass(frozen=True, slots=True)
class Sort(_Unary):
    """ORDER BY, or SORT BY where it is `local`; without a LIMIT it does not change the bag."""

    order: tuple[Expression, ...]
    local: bool = False

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """The expressions to sort by, each with its direction."""
        return self.order


@dataclass(frozen=True, slots=True)
class Limit(_Unary):
    """Some of the rows: LIMIT, OFFSET or both."""

    count: Expression | None
    offset: Expression | None


def _none_known(_: str) -> bool:
    return False


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """The operator tree of a query, equal to no other: what follows from it is found once.

    Args:
        root: Its last operator.
        columns: The names of its result, in the order of the root's output.
        gaps: Why SQL cannot be rendered from it, each a code and a part of a sentence; empty if it
            can.
        types: The types of the columns of its scans, by the keys of their attributes; empty for
            those that are not known.
    """

    root: Operator
    columns: tuple[str, ...]
    gaps: tuple[tuple[str, str], ...] = ()
    types: Mapping[str, str] = field(default_factory=dict)

    @property
    @guarded(_none_known)
    def has_watermark(self) -> bool:
        """Whether the query has a WATERMARK, on a stream or on a table."""
        nodes = walk(self.root)
        return any(isinstance(node, Project) and node.event_time is not None for node in nodes)


def keys_in(node: Operator) -> frozenset[str]:
    """Return the keys of the columns of an operator."""
    return frozenset(attribute.key for attribute in node.output)


def walk(node: Operator) -> Iterator[Operator]:
    """Yield an operator and all below it, subqueries included, each before its inputs."""
    yield node
    for each in node.inputs:
        yield from walk(each)


def expressions_of(node: Operator) -> Iterator[Expression]:
    """Yield the expressions of an operator and of all below it."""
    for each in walk(node):
        yield from each.expressions


def written_expressions(node: Operator) -> Iterator[Expression]:
    """Yield the expressions of an operator and of all below it in the order of its SQL."""
    lists_first = isinstance(node, (Project, Aggregate, Window))
    yield from node.expressions if lists_first else ()
    for each in node.inputs:
        yield from written_expressions(each)
    yield from () if lists_first else node.expressions


def texts_in(node: Operator) -> Iterator[str]:
    """Yield what an operator and all below it have as text: constant rows and versions."""
    for each in walk(node):
        if isinstance(each, Values) and each.text:
            yield each.text
        elif isinstance(each, Scan) and each.version:
            yield each.version


def outer_keys(node: Operator) -> frozenset[str]:
    """Return the keys of attributes of an outer query that a subquery uses."""
    own = frozenset().union(*map(keys_in, walk(node)))
    return frozenset().union(*(each.keys for each in expressions_of(node))) - own


def shown_below(root: Operator, *kinds: type[Operator]) -> tuple[Operator, tuple[str, ...]]:
    """Return the operator below those of some kinds, and what the columns of the root show of it.

    Returns:
        The operator, and for each column the key of its attribute; empty for a computed column.
    """
    shown = tuple(attribute.key for attribute in root.output)
    while isinstance(root, kinds):
        if isinstance(root, Project):
            values = {c.attribute.key: c.expression.attribute for c in root.columns}
            shown = tuple(values.get(key, "") for key in shown)
        root = root.inputs[0]
    return root, shown


def scans(node: Operator) -> tuple[Scan, ...]:
    """Return the places below an operator in which tables are read."""
    return tuple(each for each in walk(node) if isinstance(each, Scan))


def opaque_parts(node: Operator) -> tuple[Opaque, ...]:
    """Return what is not understood below an operator."""
    return tuple(each for each in walk(node) if isinstance(each, Opaque))


def transform(node: Operator, change: Callable[[Operator], Operator]) -> Operator:
    """Return a tree in which each operator was changed, the inputs first."""
    inputs = tuple(transform(each, change) for each in node.inputs)
    return change(node.over(*inputs) if inputs else node)


def without_sorts(node: Operator) -> Operator:
    """Return a tree with the same bag of rows, in any order."""
    return transform(node, lambda each: each.input if isinstance(each, Sort) else each)


def is_deterministic(node: Operator) -> bool:
    """Return whether the same rows of its scans always result in the same bag of rows."""
    for each in walk(node):
        if isinstance(each, (Limit, Opaque)) or any(e.is_random for e in each.expressions):
            return False
        if isinstance(each, Aggregate) and not all(call.order_free for call in each.calls):
            return False
    return True
