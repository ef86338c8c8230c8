"""Seeds: types of their columns, exact loading of their rows, and the one commit that writes them.

A seed's table is replaced only where its columns or its layout change. Its rows are overwritten
only where they differ. Nothing is written otherwise. Tables that read a seed never see it empty,
and see no change where there is none.

Cells go to Spark as text and are cast there: Python's dates and floats would shift timestamps to
the process's time zone and round large numbers.
"""

from __future__ import annotations

import datetime as dt
import re
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from dbt.adapters.spark_mt.adapter.catalog import type_of
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import quote, quote_text
from dbt.adapters.spark_mt.spark.formats.installed import FORMATS
from dbt.adapters.spark_mt.spark.session.private_session import set_for_now
from dbt.adapters.spark_mt.spark.session.types import bounded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import agate
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructField

    from dbt.adapters.spark_mt.adapter.catalog import Description
    from dbt.adapters.spark_mt.definition.columns import Pairs
    from dbt.adapters.spark_mt.definition.table_format import TableFormat


_CELLS, _ROWS = "__dbt_seed_cells", "__dbt_seed_rows"
_ALL_PARTITIONS = {"spark.sql.sources.partitionOverwriteMode": "static"}
"""An overwrite replaces all partitions; a model before may have set this otherwise."""
_BIGINT = range(-(2**63), 2**63)
_MAX_PRECISION = 38
_AGATE_DIGITS = 28
_CHARACTERS = re.compile(r"(var)?char(?:acter)?\s*\(\s*(\d+)\s*\)", re.IGNORECASE)


class SeedAction(Enum):
    """What a run does to a seed's table; dbt's message begins with the value."""

    CREATE = "CREATE"
    """CREATE OR REPLACE with the rows, in one commit."""
    MOVE = "MOVE"
    """The table is dropped first: no statement replaces one of another format or at another place.
    A materialized table is released."""
    INSERT = "INSERT"
    """All rows are overwritten, in one commit."""
    KEEP = "UNCHANGED"
    """The rows are equal, and nothing is written."""


@dataclass(frozen=True, slots=True)
class SeedTable:
    """The table of a seed, as it is configured or as it is.

    Args:
        columns: Name and type of each column, by Spark's spelling.
        partitioned_by: The partition columns.
        properties: Configured properties, or all that the table has.
        comment: The comment; None where none is configured.
        location: The configured path, or where the table is; None where none is configured.
        is_replaceable: Whether CREATE OR REPLACE can take the place of the table.
    """

    columns: tuple[tuple[str, str], ...]
    partitioned_by: tuple[str, ...] = ()
    properties: Pairs = ()
    comment: str | None = None
    location: str | None = None
    is_replaceable: bool = True

    def has_layout_of(self, wanted: SeedTable) -> bool:
        """Whether the rows of the other table can be written into this one."""
        by, wanted_by = ([name.lower() for name in t.partitioned_by] for t in (self, wanted))
        return self.columns == wanted.columns and by == wanted_by

    def is_at(self, location: str | None) -> bool:
        """Whether this is the table's place; a path without a scheme is on any file system."""
        if location is None:
            return True
        (scheme, path), (wanted_scheme, wanted_path) = map(_place, (self.location or "", location))
        return path == wanted_path and (not wanted_scheme or scheme == wanted_scheme)

    def missing_properties(self, wanted: SeedTable) -> Pairs:
        """Return what the other table has that this one has not; a later version is enough."""
        own = dict(self.properties)
        return tuple((k, v) for k, v in wanted.properties if not _is_set(k, v, own.get(k)))


def _place(location: str) -> tuple[str, str]:
    parts = urlsplit(location)
    return f"{parts.scheme}:{parts.netloc}".rstrip(":"), unquote(parts.path).rstrip("/")


def _is_set(key: str, wanted: str, found: str | None) -> bool:
    if found is not None and key.endswith("Version") and found.isdigit() and wanted.isdigit():
        return int(found) >= int(wanted)  # Delta refuses to go back to an earlier protocol
    return found == wanted


@dataclass(frozen=True, slots=True)
class SeedPlan:
    """What is done to a seed's table.

    Args:
        action: What becomes of rows and columns. INSERT is KEEP where the rows are equal.
        properties: Properties to set.
        comment: The comment to set; None for none.
    """

    action: SeedAction
    properties: Pairs = ()
    comment: str | None = None


def plan_seed(wanted: SeedTable, found: SeedTable | None, *, full_refresh: bool) -> SeedPlan:
    """Decide what is done to a seed's table.

    Args:
        wanted: The table by the seed's file and config.
        found: The table that has its name; None if nothing has.
        full_refresh: Whether the table is replaced in any case.
    """
    if found is None:
        return SeedPlan(SeedAction.CREATE)
    if not found.is_replaceable or not found.is_at(wanted.location):
        return SeedPlan(SeedAction.MOVE)
    if full_refresh or not found.has_layout_of(wanted):
        return SeedPlan(SeedAction.CREATE)
    is_commented = (wanted.comment or "") == (found.comment or "")
    comment = None if wanted.comment is None or is_commented else wanted.comment
    return SeedPlan(SeedAction.INSERT, found.missing_properties(wanted), comment)


@dataclass(frozen=True, slots=True)
class Seed:
    """A seed's file, and the statement that creates its table.

    Args:
        name: The table's name as SQL.
        create: The statement up to its AS.
        columns: Name as SQL, and configured or derived type, of each column.
        rows: The cells as agate has them.
        table: The table by the seed's config, without its columns.
        format: The format of the table.
    """

    name: str
    create: str
    columns: Sequence[tuple[str, str]]
    rows: Sequence[Sequence[object]]
    table: SeedTable
    format: TableFormat | None


@dataclass(frozen=True, slots=True)
class SeedResult:
    """What was done, for dbt's line about the seed."""

    action: SeedAction
    rows: int

    @property
    def code(self) -> str:
        """The code of dbt's response."""
        return self.action.value

    @property
    def message(self) -> str:
        """The message of dbt's response."""
        return self.code if self.action is SeedAction.KEEP else f"{self.code} {self.rows}"


def configured_table(config: Mapping[str, Any], comment: str | None, alias: str) -> SeedTable:
    """Return the table that a seed's config describes, without its columns."""
    by, root = config.get("partition_by") or (), config.get("location_root")
    properties = config.get("tblproperties") or {}
    return SeedTable(
        columns=(),
        partitioned_by=(by,) if isinstance(by, str) else tuple(by),
        properties=tuple((str(key), str(value)) for key, value in properties.items()),
        comment=comment,
        location=f"{root}/{alias}" if root else None,
    )


def found_table(
    spark: SparkSession, name: str, description: Description, wanted: TableFormat | None
) -> SeedTable:
    """Return the table that has a seed's name now, where the seed is to be of a format."""
    facts = description.facts
    properties = spark.sql(f"SHOW TBLPROPERTIES {name}").collect()
    return SeedTable(
        columns=_columns(spark.table(name).schema.fields),
        partitioned_by=description.partitioned_by,
        properties=tuple((row[0], row[1]) for row in properties),
        comment=facts.get("Comment"),
        location=facts.get("Location"),
        is_replaceable=FORMATS.of(facts.get("Provider")) is wanted,
    )


def _columns(fields: Iterable[StructField]) -> tuple[tuple[str, str], ...]:
    return tuple((each.name, type_of(each)) for each in fields)


def stored_columns(
    columns: tuple[tuple[str, str], ...], table_format: TableFormat | None
) -> tuple[tuple[str, str], ...]:
    """Return columns with the types that a table of a format has in the place of theirs."""
    instead = table_format.types if table_format else {}
    types = {key.lower(): value.lower() for key, value in instead.items()}
    return tuple((name, types.get(type_.partition("(")[0], type_)) for name, type_ in columns)


def write_seed(
    spark: SparkSession,
    seed: Seed,
    found: SeedTable | None,
    *,
    full_refresh: bool,
    make_way: Callable[[], None],
) -> SeedAction:
    """Bring a seed's table in line with its file; all cells are cast before something is dropped.

    Args:
        spark: The connection's session.
        seed: The seed.
        found: The table that has its name; None if nothing has.
        full_refresh: Whether the table is replaced in any case.
        make_way: Drops or releases what has the name and cannot be replaced.
    """
    with _staged(spark, seed) as fields, set_for_now(spark, _ALL_PARTITIONS):
        wanted = replace(seed.table, columns=stored_columns(_columns(fields), seed.format))
        plan = plan_seed(wanted, found, full_refresh=full_refresh)
        if plan.action is SeedAction.MOVE:
            spark.table(_ROWS).write.format("noop").mode("overwrite").save()
            make_way()
        if plan.action in {SeedAction.CREATE, SeedAction.MOVE}:
            spark.sql(f"{seed.create}\nAS SELECT * FROM {_ROWS}")
            return SeedAction.CREATE
        if plan.comment is not None:
            spark.sql(f"COMMENT ON TABLE {seed.name} IS {quote_text(plan.comment)}")
        if plan.properties:
            listed = ", ".join(f"{quote_text(k)} = {quote_text(v)}" for k, v in plan.properties)
            spark.sql(f"ALTER TABLE {seed.name} SET TBLPROPERTIES ({listed})")
        if not spark.sql(differing_rows_sql(seed.name, wanted.columns)).isEmpty():
            spark.sql(f"INSERT OVERWRITE TABLE {seed.name} SELECT * FROM {_ROWS}")
            return SeedAction.INSERT
    return SeedAction.KEEP


@contextmanager
def _staged(spark: SparkSession, seed: Seed) -> Iterator[list[StructField]]:
    """Give the cast rows as the temporary view `_ROWS`; yields its columns."""
    frame = cells_frame(spark, len(seed.columns), seed.rows)
    frame.createOrReplaceTempView(_CELLS)
    casts = (f"{cast(f'c{i}', type_)} AS {name}" for i, (name, type_) in enumerate(seed.columns))
    try:
        rows = spark.sql(f"SELECT {', '.join(casts)} FROM {_CELLS}")
        # A cast to CHAR or VARCHAR yields a STRING; a table keeps the type in this place.
        types = (_character_type(type_) for _, type_ in seed.columns)
        rows = bounded(rows, types)
        rows.createOrReplaceTempView(_ROWS)
        yield rows.schema.fields
    finally:
        spark.catalog.dropTempView(_ROWS)
        spark.catalog.dropTempView(_CELLS)


def cells_frame(spark: SparkSession, width: int, rows: Iterable[Sequence[object]]) -> DataFrame:
    """Return cells as columns `c0`, `c1` … of texts."""
    cells = [tuple(cell_text(cell) for cell in row) for row in rows]
    return spark.createDataFrame(cells, ", ".join(f"c{i} string" for i in range(width)))


def cast(cell: str, type_: str) -> str:
    """A cell as a value of a type, as Spark's INSERT stores it.

    CHAR is padded, and spaces that a VARCHAR has no room for are cut.
    """
    if (found := _CHARACTERS.fullmatch(type_.strip())) is None:
        return f"CAST({cell} AS {type_})"
    length = found[2]
    fitting = f"left({cell}, {length})" if found[1] else f"rpad(rtrim({cell}), {length}, ' ')"
    return f"IF(length(rtrim({cell})) <= {length}, {fitting}, {cell})"


def _character_type(type_: str) -> str | None:
    """Spark's spelling of CHAR(n) and VARCHAR(n); None for other types."""
    found = _CHARACTERS.fullmatch(type_.strip())
    return f"{'var' if found[1] else ''}char({found[2]})" if found else None


def differing_rows_sql(table: str, columns: Sequence[tuple[str, str]]) -> str:
    """A query for the rows that are not as often in a table as in the view of a seed's rows."""
    keys = [f"k{i}" for i in range(len(columns))]
    values = ", ".join(
        f"{comparable(quote(name), type_)} AS {key}"
        for key, (name, type_) in zip(keys, columns, strict=True)
    )
    sides = (f"SELECT {values}, {n} AS n FROM {side}" for side, n in ((_ROWS, 1), (table, -1)))
    return (
        f"SELECT 1 FROM ({' UNION ALL '.join(sides)}) GROUP BY {', '.join(keys)} HAVING sum(n) <> 0"
    )


def comparable(column: str, type_: str) -> str:
    """A value that is equal for two values of a column if Spark stores them alike.

    Strings are compared by their bytes, not by a collation, and floating-point numbers by their
    text, in which -0.0 is not 0.0.
    """
    if type_ in {"float", "double"}:
        return f"CAST({column} AS STRING)"
    if type_ == "variant":
        return f"to_json({column})"
    is_text = type_.startswith("string") or _CHARACTERS.fullmatch(type_)
    return f"CAST({column} AS BINARY)" if is_text else column


def load_seed(
    spark: SparkSession,
    table: str,
    columns: Sequence[tuple[str, str]],
    rows: Iterable[Sequence[object]],
) -> None:
    """Append rows to a table of another format, which was created for them.

    Args:
        spark: The session.
        table: The table's name as SQL.
        columns: Name and type of each column, in the order of the cells.
        rows: The cells as agate has them.
    """
    cells_frame(spark, len(columns), rows).createOrReplaceTempView(_CELLS)
    target = ", ".join(quote(name) for name, _ in columns)
    casts = ", ".join(f"CAST(c{i} AS {type_})" for i, (_, type_) in enumerate(columns))
    try:
        spark.sql(f"INSERT INTO {table} ({target}) SELECT {casts} FROM {_CELLS}")
    finally:
        spark.catalog.dropTempView(_CELLS)


def cell_text(cell: object) -> str | None:
    """A cell as text that Spark casts back to the same value; None is NULL."""
    if cell is None:
        return None
    if isinstance(cell, Decimal):
        return format(cell, "f")
    if isinstance(cell, dt.datetime):
        return cell.isoformat(sep=" ")
    return str(cell)


def number_type(table: agate.Table, index: int) -> str:
    """The type for a column of numbers: BIGINT or DOUBLE where they are exact, else DECIMAL."""
    numbers = [Decimal(cell) for cell in _cells(table, index) if cell is not None]
    if any(len(number.as_tuple().digits) >= _AGATE_DIGITS for number in numbers):
        raise conditions.SEED_NUMBER_TOO_LONG(column=table.column_names[index])
    if all(number == number.to_integral_value() for number in numbers):
        return integer_type(table, index)
    if all(Decimal(repr(float(number))) == number for number in numbers):
        return "double"
    scale = max(-int(number.as_tuple().exponent) for number in numbers)
    return f"decimal({_MAX_PRECISION},{min(max(scale, 0), _MAX_PRECISION)})"


def integer_type(table: agate.Table, index: int) -> str:
    """The type for a column of whole numbers."""
    fits = all(int(cell) in _BIGINT for cell in _cells(table, index) if cell is not None)
    return "bigint" if fits else f"decimal({_MAX_PRECISION},0)"


def _cells(table: agate.Table, index: int) -> Iterable[Any]:
    return (row[index] for row in table.rows)
