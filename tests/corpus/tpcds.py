"""TPC-DS of Spark's tests: its queries, its tables, and rows that the queries select."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import cache
from itertools import pairwise
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import sqlglot
from sqlglot import exp

from tests.corpus.queries import Query
from tests.corpus.sources import Choice, Column, Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tests.corpus.jars import TestsJar

FOLDERS = ("tpcds", "tpcds-v2.7.0")
_SCHEMA = "org/apache/spark/sql/TPCDSSchema.class"
_COLUMN = re.compile(r"`(\w+)` ([A-Z]+(?:\([\d,]+\))?)")
_FACTS = ("_sales", "_returns", "inventory")
_PREDICATES = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.In, exp.Between, exp.Like)
_CALENDAR, _MONTH = "date_dim", ("d_year", "d_moy", "d_month_seq")
_NUMBERED = re.compile(r".*_(sk|number)")
_DIMENSION_ROWS, _FACT_ROWS = 3, 10
_NULLS, _LIKELY = 0.06, 0.75
_DAYS = 1_800

Row = tuple[str | None, ...]
"""The values of a row as texts, as a CAST to the types of the columns reads them."""


def queries(jar: TestsJar) -> tuple[Query, ...]:
    """Return the queries of TPC-DS, those of Spark's older folder first."""
    found = (path for path in map(PurePosixPath, jar.names) if path.suffix == ".sql")
    ours = [path for path in found if str(path.parent) in FOLDERS]
    return tuple(
        Query(str(path.with_suffix("")), jar.text(str(path)).strip().rstrip(";"))
        for path in sorted(ours, key=lambda path: (str(path.parent), _natural(path.stem)))
    )


def _natural(name: str) -> tuple[object, ...]:
    return tuple(int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name))


def tables(jar: TestsJar) -> dict[str, tuple[Column, ...]]:
    """Return the columns of the tables of TPC-DS, by name."""
    texts = [t for t in jar.constants(_SCHEMA) if re.fullmatch("[a-z_]+", t) or _COLUMN.search(t)]
    return {
        name: tuple(Column(*found) for found in _COLUMN.findall(columns))
        for name, columns in pairwise(texts)
        if _COLUMN.search(columns)
    }


def sources(
    chosen: Iterable[Query], columns: Mapping[str, tuple[Column, ...]], seed: int
) -> tuple[Source, ...]:
    """Return the tables that queries read, each with rows for each of the queries.

    The rows for a query depend on the seed and the query, and not on the other queries.
    """
    rows: dict[str, list[Row]] = {}
    for place, query in enumerate(chosen):
        choice = Choice(f"{seed} {query.name}")
        wanted = literals(query.text)
        for name in sorted(read(query.text) & columns.keys()):
            keys = _Keys(choice, first=place * (_DIMENSION_ROWS + 1) + 1)
            rows.setdefault(name, []).extend(_rows(name, columns[name], wanted, keys))
    names = [column.name for column in columns.get(_CALENDAR, ())]
    if _CALENDAR in rows and set(_MONTH) <= set(names):
        rows[_CALENDAR] = list(_with_months(names, rows[_CALENDAR]))
    return tuple(Source(name, columns[name], tuple(rows[name])) for name in sorted(rows))


def _with_months(names: Sequence[str], rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the rows of the calendar, in which a month has one number, as a subquery expects."""
    year, month, number = map(names.index, _MONTH)
    known: dict[tuple[str | None, str | None], str | None] = {}
    for row in rows:
        found = known.setdefault((row[year], row[month]), row[number])
        yield (*row[:number], found, *row[number + 1 :])


@cache
def read(text: str) -> frozenset[str]:
    """Return the names that a query selects from."""
    return frozenset(table.name.lower() for table in _parsed(text).find_all(exp.Table))


@cache
def literals(text: str) -> Mapping[str, tuple[str, ...]]:
    """Return the literals that a query compares a column with, by the column's name."""
    found: dict[str, dict[str, None]] = {}
    for predicate in _parsed(text).find_all(*_PREDICATES):
        names = {column.name.lower() for column in predicate.find_all(exp.Column)}
        if len(names) == 1 and not predicate.find(exp.Select):
            values = (literal.name for literal in predicate.find_all(exp.Literal))
            found.setdefault(names.pop(), {}).update(dict.fromkeys(values))
    return {name: tuple(values) for name, values in found.items()}


@cache
def _parsed(text: str) -> exp.Expression:
    return sqlglot.parse_one(text, dialect="spark")


@dataclass(frozen=True)
class _Keys:
    """Keys of the rows for a query: the same numbers in all tables, so that the rows join."""

    choice: Choice
    first: int

    def own(self, number: int) -> str:
        return str(self.first + number)

    def any(self) -> str:
        """A key that a dimension has, mostly the first one, and now and then one that none has."""
        if self.choice.random() < _LIKELY:
            return self.own(0)
        return self.own(self.choice.randrange(_DIMENSION_ROWS + 1))


def _rows(
    name: str, columns: Sequence[Column], wanted: Mapping[str, tuple[str, ...]], keys: _Keys
) -> Iterator[Row]:
    is_fact = any(name.endswith(part) for part in _FACTS)
    for number in range(_FACT_ROWS if is_fact else _DIMENSION_ROWS):
        values = [
            keys.own(number)
            if place == 0 and not is_fact
            else _value(column, wanted.get(column.name, ()), keys, is_first=number == 0)
            for place, column in enumerate(columns)
        ]
        yield tuple(values)
        if is_fact and number == 0:
            yield tuple(values)  # a row twice


def _value(column: Column, wanted: Sequence[str], keys: _Keys, *, is_first: bool) -> str | None:
    choice = keys.choice
    if not is_first and choice.random() < _NULLS:
        return None
    if wanted and (is_first or choice.random() < _LIKELY):
        wanted_value = _fitting(column, choice.choice(wanted), choice)
        if wanted_value is not None:
            return wanted_value
    if _NUMBERED.fullmatch(column.name) and column.type == "INT":
        return keys.own(0) if is_first else keys.any()
    return _other(column, choice)


def _fitting(column: Column, literal: str, choice: Choice) -> str | None:
    """Return a value for a column that a literal is compared with."""
    if column.type == "INT":
        return literal if literal.isdigit() else None
    if column.type == "DATE":
        day = re.fullmatch(r"\d{4}-\d{1,2}-\d{1,2}", literal)
        return _day(literal, choice.randrange(3)) if day else None
    if column.type.startswith("DECIMAL"):
        return literal if re.fullmatch(r"-?\d+(\.\d+)?", literal) else None
    length = int(column.type.partition("(")[2].rstrip(")") or 20)
    return literal.replace("%", "").replace("_", " ")[:length]


def _day(text: str, later: int) -> str:
    return str(date(*map(int, text.split("-"))) + timedelta(later))


def _other(column: Column, choice: Choice) -> str:
    if column.type == "INT":
        return str(choice.randrange(1, 13))
    if column.type == "DATE":
        return str(date(1998, 1, 1) + timedelta(choice.randrange(_DAYS)))
    if column.type.startswith("DECIMAL"):
        largest = 800 if column.type.startswith("DECIMAL(5") else 30_000
        return str(Decimal(choice.randrange(1, largest)) / 100)
    return choice.choice("abc")
