"""SQL that compares rows as bags, by the values of all of their columns.

Two rows are the same only if every query gives the same for both. Spark's comparisons are not
enough for that: 0.0 equals -0.0, and grouping by a floating-point number turns -0.0 into 0.0. So
such columns are compared by their texts too, and their values are taken from a row as they are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.query.types import parse_type

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dbt.adapters.spark_mt.query.types import DataType


_CHAR = re.compile(r"CHAR\((\d+)\)")


@dataclass(frozen=True, slots=True)
class BagColumn:
    """A column by which rows are compared.

    Args:
        sql: The quoted name.
        exact: Whether values that compare as equal are the same.
        type: The type, where it says how values are compared.
    """

    sql: str
    exact: bool
    type: str = ""

    @classmethod
    def of(cls, sql: str, type_: str) -> BagColumn:
        """Return a column of a type; of one that is not known, values are compared exactly."""
        return cls(sql, bool(type_) and not _has_floats(parse_type(type_)), type_)

    @property
    def keys(self) -> tuple[str, ...]:
        """What rows are grouped by."""
        value = as_read(self.sql, self.type)
        return (value,) if self.exact else (value, _text(self.sql))

    @property
    def shown(self) -> str:
        """The value of a group, all of whose values are the same."""
        if self.exact:
            value = as_read(self.sql, self.type)
            return value if value == self.sql else f"{value} AS {self.sql}"
        return f"any_value({self.sql}) AS {self.sql}"

    def same(self, one: str, other: str) -> str:
        """Return the condition that two relations have the same value; NULL is the same as NULL."""
        one, other = f"{one}.{self.sql}", f"{other}.{self.sql}"
        pairs = [(as_read(one, self.type), as_read(other, self.type))]
        pairs += [] if self.exact else [(_text(one), _text(other))]
        return " AND ".join(f"{a} <=> {b}" for a, b in pairs)


def as_read(sql: str, type_: str) -> str:
    """Return a value as each reader gets it: Spark fills a CHAR up with blanks in a read."""
    found = _CHAR.fullmatch(type_)
    return f"rpad({sql}, {found[1]}, ' ')" if found else sql


def same_row(columns: Iterable[BagColumn], one: str, other: str) -> str:
    """Return the condition that the rows of two relations are the same."""
    return " AND ".join(column.same(one, other) for column in columns)


def weighted_query(
    columns: Iterable[BagColumn], rows: str, weight: str, having: str = "<> 0"
) -> str:
    """Return each row once, with the sum of its weights.

    Args:
        columns: The columns.
        rows: The rows with weights, a query.
        weight: The quoted name of the column with the weight.
        having: Which sums count, as the rest of a comparison.
    """
    known = tuple(columns)
    shown = "".join(f"{column.shown}, " for column in known)
    keys = ", ".join(key for column in known for key in column.keys)
    grouped = f"GROUP BY {keys} " if keys else ""  # rows without columns are all the same
    return (
        f"SELECT {shown}sum({weight}) AS {weight} FROM (\n{rows}\n) "
        f"{grouped}HAVING sum({weight}) {having}"
    )


def signed_query(columns: str, rows: str, weight: str, sign: int, *, repeats: bool = True) -> str:
    """Return the rows whose weight has a sign, each as often as the weight says.

    Args:
        columns: The quoted names of the columns, listed.
        rows: The relation of the rows with weights.
        weight: The name of the column with the weight.
        sign: 1 or -1.
        repeats: Whether a weight can be more than one row.
    """
    copies = f"explode(array_repeat(1, CAST({weight} * {sign} AS INT)))"
    view = f" LATERAL VIEW {copies} AS `__materialized_table_copy`" if repeats else ""
    return f"SELECT {columns} FROM {rows}{view} WHERE {weight} * {sign} > 0"


def with_weights(gained: str, lost: str, weight: str) -> str:
    """Return the rows of two queries, those of the first with weight 1, the others with -1.

    Args:
        gained: A query; empty for no rows.
        lost: A query with the same columns; empty for no rows.
        weight: The name of the column with the weights.
    """
    return "\nUNION ALL\n".join(
        f"SELECT *, {sign} AS {weight} FROM (\n{rows}\n)"
        for rows, sign in ((gained, "1L"), (lost, "-1L"))
        if rows
    )


def difference_query(columns: Iterable[BagColumn], one: str, other: str) -> str:
    """Return the rows of one query, without as many of each as another one has."""
    known, weight = tuple(columns), "`__materialized_table_copies`"
    listed = ", ".join(column.sql for column in known) or weight
    copies = f"explode(sequence(1, CAST({weight} AS INT))) AS `__materialized_table_copy`"
    weighted = weighted_query(known, with_weights(one, other, weight), weight, "> 0")
    return f"SELECT {listed} FROM (\n{weighted}\n) LATERAL VIEW {copies}"


def _has_floats(data_type: DataType) -> bool:
    inner = (*data_type.elements, *(field.type for field in data_type.fields))
    return data_type.name in {"FLOAT", "DOUBLE"} or any(map(_has_floats, inner))


def _text(sql: str) -> str:
    return f"CAST({sql} AS STRING)"
