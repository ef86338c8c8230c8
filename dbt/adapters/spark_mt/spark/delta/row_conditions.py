"""Conditions on the rows of a table by which Delta skips files, and reads few columns.

Delta skips files by the range of a column's values, and by the list of its values where these are
few.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition.columns import quote, quote_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.execution.table_format import TableColumns
    from dbt.adapters.spark_mt.spark.session.kept_rows import KeptRows


_IN_ORDER = re.compile(r"(TINYINT|SMALLINT|INT|BIGINT|DATE|TIMESTAMP|STRING|DECIMAL\(.*\))$")
"""Not FLOAT and DOUBLE, whose NaN and -0.0 are no bounds, and no collated STRING."""
_SIMPLE = re.compile(r"[^'\\]{0,200}\Z")
"""Texts that are the same literal with and without `spark.sql.parser.escapedStringLiterals`."""
_MOST_RANGES = 8
MOST_VALUES = 2_000
"""Up to how many values a condition lists: Spark parses each, and the commit has its text."""
_ABOUT = 0.85
"""From which part of the greatest estimate on a number of values may be as great."""
_MOST_PER_VALUE = 20
"""How many rows of a table may have one value, on average; more are changed by a MERGE."""


@dataclass(frozen=True, slots=True)
class Place:
    """A column whose values say where some rows of a table are.

    Args:
        column: The column of the table.
        source: The column of the relation that has the values.
        type: The type of both.
        within: Further conditions, which all of these rows meet.
    """

    column: str
    source: str
    type: str
    within: str = ""

    def condition(self, session: SparkSession, relation: str) -> str:
        """Return the condition on rows with the values that a relation has.

        Returns:
            Nothing where a value is no literal.
        """
        text = _text(quote(self.source), self.type)
        found = session.sql(f"SELECT DISTINCT {text} FROM {relation}").collect()
        if not found or not all(_SIMPLE.match(row[0]) for row in found):
            return ""
        listed = ", ".join(_literal(row[0], self.type) for row in found)
        return f"{quote(self.column)} IN ({listed}){self.within}"

    def rows(
        self, session: SparkSession, kept: KeptRows, table: TableColumns, relation: str, count: int
    ) -> There | None:
        """Return the rows of a table with the values that a relation has; None for too many."""
        if not (condition := self.condition(session, relation)):
            return None
        most = _MOST_PER_VALUE * count
        columns = ", ".join(map(quote, table.columns))
        found = kept.keep(
            f"SELECT {columns} FROM {table.name.sql} WHERE {condition} LIMIT {most + 1}"
        )
        return None if found.rows > most else There(condition, found.view, found.rows, self)


@dataclass(frozen=True, slots=True)
class There:
    """All rows of a table that meet a condition.

    Args:
        condition: The condition as a text; empty where values are too many for one.
        view: The relation of the rows.
        rows: How many there are.
        place: The column of the condition; None without one.
    """

    condition: str
    view: str
    rows: int
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Ranges:
    """Ranges of values in which all rows are that a MERGE changes.

    Delta skips the files without a value in them, so a change of the newest rows reads few files.

    Args:
        columns: Columns of the table, the column of the source that each must equal, and its type.
    """

    columns: tuple[tuple[str, str, str], ...]

    @classmethod
    def of(cls, table: TableColumns, sources: Mapping[str, str] | None = None) -> Ranges:
        """Return those of the columns whose types are in order, and exact as text.

        Args:
            table: The table.
            sources: The columns of the source by those of the table; all columns by default.
        """
        known = zip(table.columns, table.types, strict=bool(table.types))
        types = {name.lower(): type_ for name, type_ in known}
        pairs = (sources or {name: name for name in table.columns}).items()
        typed = ((own, other, types.get(own.lower(), "")) for own, other in pairs)
        return cls(tuple(each for each in typed if _IN_ORDER.match(each[2]))[:_MOST_RANGES])

    @property
    def all_measures(self) -> tuple[str, ...]:
        """Aggregates over the rows of the source, which `Measured` reads."""
        return tuple(
            text for _, column, type_ in self.columns for text in _measures(quote(column), type_)
        )


@dataclass(frozen=True, slots=True)
class Measured:
    """What is known of some rows.

    Args:
        ranges: Which columns were measured.
        rows: How many rows there are.
        values: The values of `Ranges.all_measures`.
    """

    ranges: Ranges
    rows: int
    values: Sequence[Any]

    def conditions(self, alias: str = "") -> str:
        """Return what follows for a row of the table, to be added to a condition.

        Delta cannot resolve BETWEEN on a partition column again: Spark makes an expression with a
        named part of it, whose column is not known at first.

        Args:
            alias: The alias of the table with a dot; empty for none.
        """
        return "".join(
            f" AND {alias}{quote(own)} {comparison} {_value(value, type_)}"
            for own, _, type_, low, high, _ in self._usable()
            for comparison, value in ((">=", low), ("<=", high))
        )

    @property
    def place(self) -> Place | None:
        """The first column with about the most values; None where rows share one, or are many.

        The numbers of values are estimates. A table often begins with what identifies its rows.
        """
        usable = tuple(self._usable())
        if not usable or self.rows > MOST_VALUES:
            return None
        most = max(each[5] for each in usable)
        own, other, type_, _, _, distinct = next(e for e in usable if e[5] >= _ABOUT * most)
        if _MOST_PER_VALUE * distinct < self.rows:
            return None
        return Place(own, other, type_, self.conditions())

    @property
    def distinct_column(self) -> str:
        """The first column in which about every one of the rows has a value of its own; or none."""
        found = (own for own, *_, many in self._usable() if many >= _ABOUT * self.rows)
        return next(found, "")

    def _usable(self) -> Iterator[tuple[str, str, str, str, str, int]]:
        """Yield columns of table and source, type, least and greatest value, and distinct values.

        A column with a NULL has no range: NULL equals NULL here, and a comparison would leave it
        out. Nor has one of another type in the source, whose order may be another one.
        """
        types, counts, least, greatest, distinct = (self.values[place::5] for place in range(5))
        for (own, other, type_), there, count, low, high, many in zip(
            self.ranges.columns, types, counts, least, greatest, distinct, strict=True
        ):
            is_known = 0 < count == self.rows and there.upper() == type_
            if is_known and _SIMPLE.match(low) and _SIMPLE.match(high):
                yield own, other, type_, low, high, many


def _measures(column: str, type_: str) -> tuple[str, ...]:
    ends = (_text(f"{end}({column})", type_) for end in ("min", "max"))
    return (
        f"max(typeof({column}))",
        f"count({column})",
        *ends,
        f"approx_count_distinct({column})",
    )


def _text(value: str, type_: str) -> str:
    """Return a value as text, of which one is one value: one text can be two instants."""
    exact = f"unix_micros(CAST({value} AS TIMESTAMP))" if type_ == "TIMESTAMP" else value
    return f"CAST({exact} AS STRING)"


def _value(text: str, type_: str) -> str:
    """Return an expression without columns, which Spark computes before Delta looks for files."""
    if type_ == "TIMESTAMP":
        return f"timestamp_micros(CAST({quote_text(text)} AS BIGINT))"
    return f"CAST({quote_text(text)} AS {type_})"


def _literal(text: str, type_: str) -> str:
    """Return a value of a list, in the form that Spark parses fastest."""
    if type_ in {"INT", "BIGINT"}:
        return text if type_ == "INT" else f"{text}L"
    return _value(text, type_)
