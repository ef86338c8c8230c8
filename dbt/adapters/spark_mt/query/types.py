"""Spark's DDL types: canonical spelling, and which types hold every value of which others."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import quote

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbt.adapters.spark_mt.definition.errors import InvalidTypeError


_Item = TypeVar("_Item")


_SYNONYMS = {
    "BYTE": "TINYINT",
    "SHORT": "SMALLINT",
    "INTEGER": "INT",
    "LONG": "BIGINT",
    "REAL": "FLOAT",
    "DEC": "DECIMAL",
    "NUMERIC": "DECIMAL",
    "CHARACTER": "CHAR",
    "TIMESTAMP_LTZ": "TIMESTAMP",
    "NULL": "VOID",
}
_BOUNDED_TEXTS = frozenset({"CHAR", "VARCHAR"})
_UNSTORED = frozenset({"INTERVAL", "TIME", "GEOMETRY", "GEOGRAPHY"})
_DEFAULT_PARAMETERS = {"DECIMAL": (10, 0), "TIME": (6,)}
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_TOKEN = re.compile(
    r"\s*(?:(?P<quoted>`(?:[^`]|``)*`)|(?P<text>'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.)*\")"
    r"|(?P<word>\w+)|(?P<mark>[<>(),:]))\s*",
    re.DOTALL,
)
_INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_DIGITS = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 19}
_EXACT_IN = {"FLOAT": {"TINYINT", "SMALLINT"}, "DOUBLE": {"TINYINT", "SMALLINT", "INT", "FLOAT"}}
_TEXTS = ("CHAR", "VARCHAR", "STRING")


@dataclass(frozen=True, slots=True)
class StructField:
    """A field of a STRUCT; `suffix` is a NOT NULL or COMMENT after its type, as written."""

    name: str
    type: DataType
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class DataType:
    """A data type.

    Args:
        name: Upper case, one of Spark's names, with its qualifiers (`INTERVAL DAY TO SECOND`).
        parameters: Length, precision and scale.
        elements: The element of an ARRAY; key and value of a MAP.
        fields: The fields of a STRUCT.
    """

    name: str
    parameters: tuple[int, ...] = ()
    elements: tuple[DataType, ...] = ()
    fields: tuple[StructField, ...] = ()

    @property
    def ddl(self) -> str:
        """The canonical spelling."""
        if self.name == "STRUCT":
            fields = (f"{_field_name(f.name)}: {f.type.ddl}{f.suffix}" for f in self.fields)
            return f"STRUCT<{', '.join(fields)}>"
        if self.elements:
            return f"{self.name}<{', '.join(e.ddl for e in self.elements)}>"
        if self.parameters:
            return f"{self.name}({','.join(str(p) for p in self.parameters)})"
        return self.name


def parse_type(text: str, *, timestamp: str = "TIMESTAMP") -> DataType:
    """Read a data type.

    Args:
        text: As DDL writes it, synonyms and any spacing allowed.
        timestamp: What a bare TIMESTAMP means (`spark.sql.timestampType`); TIMESTAMP_LTZ is always
            the one with a time zone, and that one's canonical name is TIMESTAMP.

    Raises:
        InvalidTypeError: The text is no data type.
    """
    tokens: list[tuple[str, str]] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise conditions.INVALID_TYPE(type=text)
        tokens.append((match.lastgroup, match[match.lastgroup]))
        at = match.end()
    reader = _Reader(tokens, text, timestamp)
    parsed = reader.type()
    reader.end()
    return parsed


def canonical_type(text: str) -> str:
    """Return the one spelling of a data type, as in `Column.type`.

    Raises:
        InvalidTypeError: The text is no data type.
    """
    return parse_type(text).ddl


def castable_ddl(data_type: DataType) -> str:
    """Return the type as a CAST takes it, whatever confs on timestamps and chars a session has."""
    return _map_leaves(data_type).ddl


def unbounded_type(text: str) -> str:
    """Return a type with STRING in the place of each CHAR and VARCHAR.

    Raises:
        InvalidTypeError: The text is no data type.
    """
    return _unbounded(parse_type(text)).ddl


def _unbounded(data_type: DataType) -> DataType:
    if data_type.name in _BOUNDED_TEXTS:
        return DataType("STRING")
    return replace(
        data_type,
        elements=tuple(map(_unbounded, data_type.elements)),
        fields=tuple(replace(f, type=_unbounded(f.type)) for f in data_type.fields),
    )


def has_bounded_text(data_type: DataType) -> bool:
    """Return whether the type is, or contains, a CHAR or VARCHAR."""
    inner = (*data_type.elements, *(field.type for field in data_type.fields))
    return data_type.name in _BOUNDED_TEXTS or any(map(has_bounded_text, inner))


def unstored_part(data_type: DataType, *, in_collection: bool = False) -> DataType | None:
    """Return the part of a type that no table can store; None where a table can store all of it.

    Args:
        data_type: The type of a column.
        in_collection: Whether it is the type of elements, keys or values.
    """
    fields = [field.type for field in data_type.fields]
    if data_type.name == "STRUCT" and all(field.name == "VOID" for field in fields):
        return data_type
    if data_type.name == "VOID":
        return data_type if in_collection else None
    kind, *collation = data_type.name.split(" COLLATE ")
    if kind.partition(" ")[0] in _UNSTORED or collation not in ([], ["UTF8_BINARY"]):
        return data_type
    within = in_collection or bool(data_type.elements)
    parts = (unstored_part(each, in_collection=within) for each in (*fields, *data_type.elements))
    return next((part for part in parts if part is not None), None)


def _map_leaves(data_type: DataType) -> DataType:
    if data_type.name == "TIMESTAMP":
        return DataType("TIMESTAMP_LTZ")
    if data_type.name in _BOUNDED_TEXTS:
        return DataType("STRING")
    return replace(
        data_type,
        elements=tuple(_map_leaves(e) for e in data_type.elements),
        fields=tuple(replace(f, type=_map_leaves(f.type), suffix="") for f in data_type.fields),
    )


def _field_name(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else quote(name)


class _Reader:
    """Recursive descent over the tokens of one type."""

    def __init__(self, tokens: list[tuple[str, str]], text: str, timestamp: str) -> None:
        self._tokens = tokens
        self._text = text
        self._timestamp = timestamp
        self._at = 0

    def type(self) -> DataType:
        name = self._word().upper()
        if name in {"ARRAY", "MAP"}:
            elements = tuple(self._list("<", self.type, ">"))
            if len(elements) != (1 if name == "ARRAY" else 2):
                raise self._wrong()
            return DataType(name, elements=elements)
        if name == "STRUCT":
            return DataType(name, fields=tuple(self._list("<", self._field, ">")))
        return self._primitive(name)

    def end(self) -> None:
        if self._at != len(self._tokens):
            raise self._wrong()

    def _primitive(self, name: str) -> DataType:
        if name == "TIMESTAMP":
            name = self._timestamp
        name = _SYNONYMS.get(name, name)
        if name == "DOUBLE" and self._peek_word() == "PRECISION":
            self._word()
        if name == "STRING" and self._peek_word() == "COLLATE":
            self._word()
            return DataType(f"STRING COLLATE {self._word().upper()}")
        if name == "INTERVAL":
            while self._peek_word() in {"YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND", "TO"}:
                name += " " + self._word().upper()
        parameters = tuple(self._list("(", self._number, ")")) if self._peek("(") else ()
        if name == "DECIMAL" and len(parameters) == 1:
            parameters = (*parameters, 0)
        return DataType(name, parameters or _DEFAULT_PARAMETERS.get(name, ()))

    def _field(self) -> StructField:
        kind, text = self._next()
        if kind not in {"word", "quoted"}:
            raise self._wrong()
        if self._peek(":"):
            self._next()
        field = StructField(_unquoted(text), self.type())
        suffix = ""
        if self._peek_word() == "NOT":
            self._word()
            if self._word().upper() != "NULL":
                raise self._wrong()
            suffix = " NOT NULL"
        if self._peek_word() == "COMMENT":
            self._word()
            suffix += f" COMMENT {self._next()[1]}"
        return replace(field, suffix=suffix)

    def _list(self, opening: str, item: Callable[[], _Item], closing: str) -> list[_Item]:
        self._expect(opening)
        items: list[_Item] = []
        if self._peek(closing):
            self._next()
            return items
        while True:
            items.append(item())
            if self._peek(","):
                self._next()
                continue
            self._expect(closing)
            return items

    def _number(self) -> int:
        word = self._word()
        if not word.isdecimal():
            raise self._wrong()
        return int(word)

    def _word(self) -> str:
        kind, text = self._next()
        if kind != "word":
            raise self._wrong()
        return text

    def _expect(self, mark: str) -> None:
        if self._next() != ("mark", mark):
            raise self._wrong()

    def _peek(self, mark: str) -> bool:
        return self._at < len(self._tokens) and self._tokens[self._at] == ("mark", mark)

    def _peek_word(self) -> str:
        if self._at < len(self._tokens) and self._tokens[self._at][0] == "word":
            return self._tokens[self._at][1].upper()
        return ""

    def _next(self) -> tuple[str, str]:
        if self._at >= len(self._tokens):
            raise self._wrong()
        self._at += 1
        return self._tokens[self._at - 1]

    def _wrong(self) -> InvalidTypeError:
        return conditions.INVALID_TYPE(type=self._text)


def _unquoted(text: str) -> str:
    return text[1:-1].replace("``", "`") if text.startswith("`") else text


def widens(old: DataType, new: DataType) -> bool:
    """Return whether a stored column can become `new` in place: the same kind of number, larger.

    These are the changes that the option `schema.type-widening` allows: INT to BIGINT, FLOAT to
    DOUBLE, a larger precision of DECIMAL, and these inside of nested types.
    """
    return _nested(old, new, _widens_leaf)


def casts_losslessly(given: DataType, wanted: DataType) -> bool:
    """Return whether each value of `given` is one of `wanted`, and Spark casts it automatically.

    A typed column list may have these types. A DATE becomes the TIMESTAMP of its midnight in the
    stored time zone.
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
