"""Values of expressions over values of columns, as far as the queries of TPC-DS need them."""

from __future__ import annotations

import math
import operator
import re
from datetime import date, timedelta
from typing import TYPE_CHECKING

from sqlglot import exp

if TYPE_CHECKING:
    from collections.abc import Callable

    Value = int | float | str | date | bool | None
    Get = Callable[[str, str], Value]
    Of = Callable[[exp.Expression], Value]


class NotKnownError(Exception):
    """The expression has a part whose value is not computed here, such as a window."""


_ARITHMETIC = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
    exp.Div: operator.truediv,
}
_COMPARISONS = {
    exp.EQ: operator.eq,
    exp.NullSafeEQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
}
_THROUGH = (exp.Paren, exp.Alias, exp.Distinct, exp.Anonymous)
_DAYS = {"DAY": 1, "DAYS": 1, "WEEK": 7, "MONTH": 30, "MONTHS": 30, "YEAR": 365, "YEARS": 365}


def value(node: exp.Expression, get: Get) -> Value:  # noqa: C901, PLR0911, PLR0912, PLR0915
    """Return the value of an expression; `get` returns that of a column of a row."""

    def of(each: exp.Expression) -> Value:
        return value(each, get)

    kind = type(node)
    if kind is exp.Column:
        return get(node.table, node.name)
    if kind is exp.Literal:
        return node.name if node.is_string else _number(node.name)
    if kind in _COMPARISONS:
        return _compared(_COMPARISONS[kind], of(node.left), of(node.right))
    if kind in _ARITHMETIC:
        return _computed(kind, node, of)
    if kind in _THROUGH:
        return of(node.this if node.this is not None else node.expressions[0])
    if kind is exp.Null:
        return None
    if kind is exp.Boolean:
        return bool(node.this)
    if kind is exp.And:
        return _all(of(node.left), of(node.right))
    if kind is exp.Or:
        return _negated(_all(_negated(of(node.left)), _negated(of(node.right))))
    if kind is exp.Not:
        return _negated(of(node.this))
    if kind is exp.Between:
        low = _compared(operator.ge, of(node.this), of(node.args["low"]))
        return _all(low, _compared(operator.le, of(node.this), of(node.args["high"])))
    if kind is exp.In and node.expressions:
        mine = of(node.this)
        return None if mine is None else any(_same(mine, of(each)) for each in node.expressions)
    if kind is exp.Is:
        return (of(node.this) is None) == (of(node.expression) is None)
    if kind is exp.Neg:
        return _computed(exp.Sub, exp.Sub(this=exp.Literal.number(0), expression=node.this), of)
    if kind in (exp.Cast, exp.TryCast, exp.TsOrDsToDate):
        return _cast(of(node.this), "DATE" if kind is exp.TsOrDsToDate else node.to.sql().upper())
    if kind is exp.TsOrDsAdd:
        return _computed(exp.Add, exp.Add(this=node.this, expression=node.expression), of)
    if kind is exp.Case:
        return _case(node, of)
    if kind is exp.If:
        return of(node.args["true"]) if of(node.this) else of(node.args.get("false") or exp.Null())
    if kind is exp.Nullif:
        return None if _same(of(node.this), of(node.expression)) else of(node.this)
    if kind is exp.Coalesce:
        parts = (of(each) for each in (node.this, *node.expressions))
        return next((each for each in parts if each is not None), None)
    if kind in (exp.Upper, exp.Lower, exp.Trim):
        text = of(node.this)
        return None if text is None else str(text).upper()
    if kind is exp.Substring:
        return _part(of(node.this), of(node.args["start"]), of(node.args["length"]))
    if kind is exp.Like:
        return _like(of(node.this), str(of(node.expression)))
    if kind in (exp.Abs, exp.Round):
        number = of(node.this)
        return abs(number) if kind is exp.Abs and number is not None else number  # type: ignore[arg-type]
    raise NotKnownError(kind.__name__)


def _number(text: str) -> int | float:
    return int(text) if text.isdigit() else float(text)


def _same(left: Value, right: Value) -> bool:
    return bool(_compared(operator.eq, left, right))


def _compared(compare: Callable[[object, object], bool], left: Value, right: Value) -> bool | None:
    if left is None or right is None:
        return None
    if isinstance(left, date) != isinstance(right, date):
        left, right = (_cast(each, "DATE") for each in (left, right))
    elif isinstance(left, str) != isinstance(right, str):
        left, right = (_cast(each, "DOUBLE") for each in (left, right))
    if left is None or right is None:
        return None
    return compare(left, right)


def _computed(  # noqa: PLR0911 - one case each
    kind: type[exp.Expression], node: exp.Expression, of: Of
) -> Value:
    left, right = of(node.left), node.right
    if isinstance(right, exp.Interval):
        days = int(right.this.name) * _DAYS[str(right.args["unit"]).upper()]
        left = _cast(left, "DATE")
        return None if left is None else _ARITHMETIC[kind](left, timedelta(days))
    other = of(right)
    if left is None or other is None:
        return None
    if isinstance(left, date):
        return _ARITHMETIC[kind](left, timedelta(int(other)))
    left, other = map(_as_number, (left, other))
    if left is None or other is None or (kind is exp.Div and other == 0):
        return None
    return _ARITHMETIC[kind](left, other)


def _as_number(found: Value) -> Value:
    return _cast(found, "DOUBLE") if isinstance(found, str) else found


def _cast(found: Value, type_: str) -> Value:  # noqa: PLR0911 - one case each
    if found is None:
        return None
    if type_ == "DATE":
        match = re.match(r"(\d{4})-(\d{1,2})-(\d{1,2})", str(found))
        return date(*map(int, match.groups())) if match else None
    if type_.startswith(("DECIMAL", "DOUBLE", "FLOAT")):
        return float(found) if _is_number(found) else None  # type: ignore[arg-type]
    if type_ in ("INT", "INTEGER", "BIGINT"):
        return math.floor(float(found)) if _is_number(found) else None  # type: ignore[arg-type]
    return str(found)


def _is_number(found: Value) -> bool:
    return bool(re.fullmatch(r"-?\d+(\.\d*)?(e-?\d+)?", str(found)))


def _all(left: Value, right: Value) -> Value:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _negated(found: Value) -> Value:
    return None if found is None else not found


def _case(node: exp.Expression, of: Of) -> Value:
    for each in node.args["ifs"]:
        met = of(each.this)
        if _same(of(node.this), met) if node.args.get("this") is not None else met:
            return of(each.args["true"])
    default = node.args.get("default")
    return None if default is None else of(default)


def _part(text: Value, start: Value, length: Value) -> Value:
    if text is None or start is None or length is None:
        return None
    return str(text)[int(start) - 1 : int(start) - 1 + int(length)]  # type: ignore[call-overload]


def _like(text: Value, pattern: str) -> bool | None:
    if text is None:
        return None
    parts = (".*" if c == "%" else "." if c == "_" else re.escape(c) for c in pattern)
    return re.fullmatch("".join(parts), str(text)) is not None
