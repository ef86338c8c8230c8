"""Which data types hold every value of which others."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbt.adapters.spark_mt.resolution.types import DataType

_INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_DIGITS = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 19}
_EXACT_IN = {"FLOAT": {"TINYINT", "SMALLINT"}, "DOUBLE": {"TINYINT", "SMALLINT", "INT", "FLOAT"}}
_TEXTS = ("CHAR", "VARCHAR", "STRING")


def widens(old: DataType, new: DataType) -> bool:
    """Whether a stored column can become `new` in place: the same kind of number, but larger.

    These are the changes that the option `schema.type-widening` allows (semantics 6): INT to
    BIGINT, FLOAT to DOUBLE, a larger precision of DECIMAL, and these inside of nested types.
    """
    return _nested(old, new, _widens_leaf)


def casts_losslessly(given: DataType, wanted: DataType) -> bool:
    """Whether every value of `given` is a value of `wanted`, and Spark casts it by itself.

    This is what a typed column list may ask for (semantics 2). A DATE becomes the TIMESTAMP of its
    midnight in the stored time zone.
    """
    return _nested(given, wanted, _casts_leaf)


def _nested(old: DataType, new: DataType, leaf: Callable[[DataType, DataType], bool]) -> bool:
    if old == new:
        return True
    if old.name == new.name == "STRUCT":
        return len(old.fields) == len(new.fields) and all(
            a.name.lower() == b.name.lower()
            and ("NOT NULL" in a.suffix or "NOT NULL" not in b.suffix)
            and _nested(a.type, b.type, leaf)
            for a, b in zip(old.fields, new.fields, strict=True)
        )
    if old.elements and old.name == new.name:
        pairs = zip(old.elements, new.elements, strict=True)
        return all(_nested(a, b, leaf) for a, b in pairs)
    return leaf(old, new)


def _widens_leaf(old: DataType, new: DataType) -> bool:
    if old.name in _INTEGERS and new.name in _INTEGERS:
        return _INTEGERS.index(old.name) <= _INTEGERS.index(new.name)
    if old.name == new.name == "DECIMAL":
        (precision, scale), (new_precision, new_scale) = old.parameters, new.parameters
        return new_scale >= scale and new_precision - new_scale >= precision - scale
    return (old.name, new.name) == ("FLOAT", "DOUBLE")


def _casts_leaf(given: DataType, wanted: DataType) -> bool:
    return (
        given.name == "VOID"
        or _widens_leaf(given, wanted)
        or _holds_integer(given, wanted)
        or given.name in _EXACT_IN.get(wanted.name, ())
        or _holds_text(given, wanted)
        or (given.name == "DATE" and wanted.name in {"TIMESTAMP", "TIMESTAMP_NTZ"})
    )


def _holds_integer(given: DataType, wanted: DataType) -> bool:
    if given.name not in _DIGITS or wanted.name != "DECIMAL":
        return False
    precision, scale = wanted.parameters
    return precision - scale >= _DIGITS[given.name]


def _holds_text(given: DataType, wanted: DataType) -> bool:
    if given.name not in _TEXTS or wanted.name == "CHAR":
        return False
    if wanted.name == "VARCHAR":
        return given.name != "STRING" and given.parameters <= wanted.parameters
    return wanted.name == "STRING"
