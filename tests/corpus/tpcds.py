"""TPC-DS of Spark's tests: its queries, its tables, and rows that the queries select."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import sqlglot
from sqlglot import exp

from tests.corpus import calendar
from tests.corpus.effective_changes import EffectiveChanges
from tests.corpus.queries import Query
from tests.corpus.selected_rows import SelectedRows
from tests.corpus.sources import Choice, Column, Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tests.corpus.jars import TestsJar
    from tests.corpus.sources import Row

FOLDERS = ("tpcds", "tpcds-v2.7.0")
_SCHEMA = "org/apache/spark/sql/TPCDSSchema.class"
_COLUMN = re.compile(r"`(\w+)` ([A-Z]+(?:\([\d,]+\))?)")


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
    """Return the tables that queries read, each with rows for each of the queries."""
    return _united(_rows_by_query(chosen, columns, seed), columns)


def plan(chosen: Sequence[Query], columns: Mapping[str, tuple[Column, ...]], seed: int) -> Plan:
    """Return the tables that queries read, and statements that change the queries' results."""
    rows = _rows_by_query(chosen, columns, seed)
    found = _united(rows, columns)
    by_name = {source.name: source for source in found}
    return Plan(found, EffectiveChanges(chosen, rows, by_name, seed).statements())


@dataclass(frozen=True)
class Plan:
    """Tables for queries, and what is done to them.

    Args:
        sources: The tables.
        changes: The statements of each round.
    """

    sources: tuple[Source, ...]
    changes: Mapping[str, Sequence[str]]


def _rows_by_query(
    chosen: Iterable[Query], columns: Mapping[str, tuple[Column, ...]], seed: int
) -> dict[str, dict[str, list[Row]]]:
    rows = {}
    for place, query in enumerate(chosen):
        tables = {name: columns[name] for name in sorted(read(query.text) & columns.keys())}
        choice = Choice(f"{seed} {query.name}")
        rows[query.name] = SelectedRows(query.text, tables, choice, place).found()
    return rows


def _united(
    rows: Mapping[str, Mapping[str, Sequence[Row]]], columns: Mapping[str, tuple[Column, ...]]
) -> tuple[Source, ...]:
    """Return tables with the rows of all queries; a day of the calendar is there once."""
    found: dict[str, list[Row]] = {}
    for tables in rows.values():
        for name, each in tables.items():
            found.setdefault(name, []).extend(each)
    if calendar.TABLE in found:
        found[calendar.TABLE] = list(dict.fromkeys(found[calendar.TABLE]))
    return tuple(Source(name, columns[name], tuple(found[name])) for name in sorted(found))


@cache
def read(text: str) -> frozenset[str]:
    """Return the names that a query selects from."""
    return frozenset(table.name.lower() for table in _parsed(text).find_all(exp.Table))


@cache
def _parsed(text: str) -> exp.Expression:
    return sqlglot.parse_one(text, dialect="spark")
