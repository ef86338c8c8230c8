"""Values that are the same whenever a query computes them again from the same rows.

The sum of floating-point numbers depends on the order in which they are added. A window function
over rows that its ORDER BY does not distinguish depends on the order in which it reads them.
"""

from __future__ import annotations

import re
from functools import singledispatch
from typing import TYPE_CHECKING

from sqlglot import exp

from dbt.adapters.spark_mt.definition.errors import InvalidTypeError
from dbt.adapters.spark_mt.query import expressions as exprs
from dbt.adapters.spark_mt.query import operators as ops
from dbt.adapters.spark_mt.query.types import parse_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_ALWAYS = frozenset(
    {"count", "count_if", "bool_and", "bool_or", "every", "any", "some", "any_value"}
    | {"bit_and", "bit_or", "bit_xor", "grouping", "grouping_id"}
)
"""Aggregates with the same value for the same rows in any order, whatever their types, and
any value of one."""
_OF_VALUES = frozenset({"max", "min", "collect_list", "collect_set", "array_agg"})
"""Aggregates with one of several equal values: 0.0 equals -0.0. A list is sorted afterwards."""
_RANKS = frozenset({"rank", "dense_rank", "percent_rank", "cume_dist"})
_COUNTS = frozenset({"count", "count_if", "rank", "dense_rank", "row_number"})
_AVERAGES = frozenset({"avg", "mean"})
_OF_FIRST = frozenset({"abs", "negative", "positive", "nullif"})
_OF_FIRST |= {"round", "bround", "ceil", "ceiling", "floor"}
"""Functions whose value is a number of the kind of their first argument."""
_EITHER = frozenset({"coalesce", "nvl", "ifnull", "greatest", "least"})
_LITERAL = re.compile(
    r"(?=\.?\d)(?P<digits>\d*)(?P<fraction>\.\d*)?(?P<suffix>(BD|[LSY])?)", re.IGNORECASE | re.ASCII
)
_ALL_ROWS = "BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"

_NULL, _SMALL, _LARGE, _DECIMAL, _TEXT = range(5)
"""Kinds of values that are equal only if they are the same. Each of the numbers has the values of
those before: NULL alone, integers of up to 32 and of up to 64 bits, decimals. Then all others."""
_KINDS = {"VOID": _NULL, "TINYINT": _SMALL, "SMALLINT": _SMALL, "INT": _SMALL, "BIGINT": _LARGE}
_KINDS |= {"DECIMAL": _DECIMAL}
_KINDS |= dict.fromkeys(
    ("STRING", "CHAR", "VARCHAR", "BOOLEAN", "BINARY", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ"), _TEXT
)
_LONGEST_INTEGER = 9

_NUMBERS = frozenset({_NULL, _SMALL, _LARGE, _DECIMAL})
_TEXTS = frozenset({"concat", "concat_ws", "date", "lower", "substr", "substring", "trim", "upper"})
"""Functions whose value is a text or a date."""

Kinds = dict[str, int]
"""The kinds of attributes where they are known, by key."""
Made = tuple[str, "int | None"]


def computes_exactly(root: ops.Operator, types: Mapping[str, str]) -> bool:
    """Return whether all aggregates and window functions of a tree give the same values again.

    Args:
        root: The last operator.
        types: The types of the columns of scans, by the keys of their attributes.
    """
    known = {key: kind for key, type_ in types.items() if (kind := _kind(type_)) is not None}
    return _is_exact(root, known)


def _is_exact(node: ops.Operator, known: Kinds) -> bool:
    """Return whether a tree is exact, after the kinds of its attributes became known."""
    for each in node.inputs:
        if not _is_exact(each, known):
            return False
    known |= {key: kind for key, kind in _made(node, known) if kind is not None}
    if isinstance(node, ops.Aggregate):
        calls = node.calls
        return all(c.order_free and _is_exact_call(c.name, c.arguments, known) for c in calls)
    return not isinstance(node, ops.Window) or all(_is_exact_window(c, known) for c in node.calls)


@singledispatch
def _made(_: ops.Operator, _known: Kinds) -> list[Made]:
    """Return the attributes that an operator makes, by key, with their kinds."""
    return []


@_made.register
def _(node: ops.Project, known: Kinds) -> list[Made]:
    return [(c.attribute.key, _kind_of(c.expression.tree, known)) for c in node.columns]


@_made.register
def _(node: ops.Aggregate, known: Kinds) -> list[Made]:
    groups = [(g.attribute.key, _kind_of(g.expression.tree, known)) for g in node.groups]
    return groups + [(c.attribute.key, _of_call(c.name, c.arguments, known)) for c in node.calls]


@_made.register
def _(node: ops.Window, known: Kinds) -> list[Made]:
    return [(c.attribute.key, _of_call(c.name, _arguments(c), known)) for c in node.calls]


@_made.register(ops.Union)
@_made.register(ops.SetOperation)
def _(node: ops.Operator, known: Kinds) -> list[Made]:
    sides = [[known.get(a.key) for a in side.output] for side in node.inputs]
    places = zip(node.output, *sides, strict=True)
    return [(attribute.key, _widest(kinds)) for attribute, *kinds in places]


@_made.register
def _(node: ops.Apply, known: Kinds) -> list[Made]:
    is_value = node.kind is exprs.SubqueryKind.SCALAR
    return [(node.attribute.key, known.get(node.query.output[0].key) if is_value else None)]


def _is_exact_call(name: str, arguments: Sequence[exprs.Expression], known: Kinds) -> bool:
    kind = _kind_of(arguments[0].tree, known) if len(arguments) == 1 else None
    if kind is None or name in _ALWAYS:
        return name in _ALWAYS
    if name in _AVERAGES:  # integers are added as DOUBLE, which holds sums of up to 53 bits
        return kind in {_NULL, _SMALL, _DECIMAL}
    return name in _OF_VALUES or (name == "sum" and kind in _NUMBERS)


def _is_exact_window(call: exprs.WindowCall, known: Kinds) -> bool:
    if call.name in _RANKS:
        return True
    by_rows = call.frame.upper().startswith("ROWS") and _ALL_ROWS not in call.frame.upper()
    return not by_rows and _is_exact_call(call.name, _arguments(call), known)


def _arguments(call: exprs.WindowCall) -> tuple[exprs.Expression, ...]:
    function = call.expression.tree.this
    if not isinstance(function, exp.Anonymous):  # FILTER, IGNORE NULLS, DISTINCT
        return ()
    return tuple(exprs.Expression(each) for each in function.expressions)


def _kind(type_: str) -> int | None:
    if not type_:
        return None
    try:
        return _KINDS.get(parse_type(type_).name)
    except InvalidTypeError:
        return None


def _widest(kinds: Iterable[int | None]) -> int | None:
    """Return the kind that has the values of all of some kinds; None where there is none."""
    found = tuple(kinds)
    known = {kind for kind in found if kind is not None}
    is_mixed = _TEXT in known and not known <= {_NULL, _TEXT}
    return None if None in found or is_mixed else max(known, default=_NULL)


@singledispatch
def _kind_of(_: exp.Expr, _known: Kinds) -> int | None:
    """Return the kind of the values of an expression; None where it is not known."""
    return None


@_kind_of.register
def _(tree: exp.Column, known: Kinds) -> int | None:
    return known.get(tree.name)


@_kind_of.register(exp.Paren)
@_kind_of.register(exp.Neg)
def _(tree: exp.Expr, known: Kinds) -> int | None:
    return _kind_of(tree.this, known)


@_kind_of.register
def _(_: exp.Null, _known: Kinds) -> int | None:
    return _NULL


@_kind_of.register(exp.Literal)
@_kind_of.register(exp.Var)
def _(tree: exp.Expr, _known: Kinds) -> int | None:
    is_text = tree.args.get("is_string") or tree.name[:1] in {"'", '"'}
    return _TEXT if is_text else _of_literal(tree.name)


@_kind_of.register
def _(tree: exp.Cast, _known: Kinds) -> int | None:
    return _kind(tree.to.sql(dialect="spark"))


@_kind_of.register
def _(tree: exp.Case, known: Kinds) -> int | None:
    values = [branch.args["true"] for branch in tree.args["ifs"]]
    values += [tree.args["default"]] if tree.args.get("default") is not None else []
    return _widest(_kind_of(value, known) for value in values)


@_kind_of.register
def _(tree: exp.Binary, known: Kinds) -> int | None:
    kind = _widest(_kind_of(side, known) for side in (tree.this, tree.expression))
    if kind == _TEXT:
        return None
    if isinstance(tree, exp.Div):
        return kind if kind == _DECIMAL else None  # of two integers it is DOUBLE
    if kind is not None and isinstance(tree, exp.IntDiv):
        return _LARGE
    return kind if isinstance(tree, (exp.Add, exp.Sub, exp.Mul, exp.Mod)) else None


@_kind_of.register
def _(tree: exp.Anonymous, known: Kinds) -> int | None:
    name, arguments = exprs.call_name(tree), tree.expressions
    if name in _EITHER:
        return _widest(_kind_of(each, known) for each in arguments)
    if name == "if":
        return _widest(_kind_of(each, known) for each in arguments[1:])
    if name in _TEXTS:
        return _TEXT
    kind = _kind_of(arguments[0], known) if name in _OF_FIRST and arguments else None
    return kind if kind in _NUMBERS or name == "nullif" else None


def _of_literal(text: str) -> int | None:
    found = _LITERAL.fullmatch(text)
    if found is None:
        return None
    if found["fraction"] or found["suffix"].upper() == "BD":
        return _DECIMAL
    is_small = len(found["digits"]) <= _LONGEST_INTEGER and found["suffix"].upper() != "L"
    return _SMALL if is_small else _LARGE


def _of_call(name: str, arguments: Sequence[exprs.Expression], known: Kinds) -> int | None:
    if name in _COUNTS:
        return _LARGE
    kind = _kind_of(arguments[0].tree, known) if len(arguments) == 1 else None
    if kind is not None and name == "sum" and kind in _NUMBERS:
        return max(kind, _LARGE)
    is_same = name in {"max", "min", "any_value"} or (name in _AVERAGES and kind == _DECIMAL)
    return kind if is_same else None
