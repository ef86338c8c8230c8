"""Spark's data types as canonical DDL text, and scheduled times as Spark reads timestamps.

Types have upper-case keywords, `DECIMAL(10,2)` without a space and `STRUCT<a: INT, b:
ARRAY<STRING>>` with one. Nullability and comments of nested fields are left out: a materialized
table's are all nullable.
"""

from __future__ import annotations

import re
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import Column, quote, quote_text
from dbt.adapters.spark_mt.spark.session.errors import failure_of, is_spark_error, unlogged

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructField, StructType

    from dbt.adapters.spark_mt.spark.session.private_session import PrivateSessions


CHAR_METADATA = "__CHAR_VARCHAR_TYPE_STRING"
"""Where Spark keeps the type of a CHAR or VARCHAR column, in the metadata of a STRING."""
_CHAR = re.compile(r"(?:var)?char\(\d+\)")
_TYPED = "__materialized_table_typed"
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def ddl_type(data_type: DataType) -> str:
    """Return the canonical DDL spelling of `data_type`."""
    from pyspark.sql import types as t

    if isinstance(data_type, t.ArrayType):
        return f"ARRAY<{ddl_type(data_type.elementType)}>"
    if isinstance(data_type, t.MapType):
        return f"MAP<{ddl_type(data_type.keyType)}, {ddl_type(data_type.valueType)}>"
    if isinstance(data_type, t.StructType):
        fields = (f"{_field_name(f.name)}: {field_type(f)}" for f in data_type.fields)
        return f"STRUCT<{', '.join(fields)}>"
    own = data_type.sqlType() if isinstance(data_type, t.UserDefinedType) else data_type
    return own.simpleString().upper()


def field_type(field: StructField) -> str:
    """Return the type of `field`; Spark keeps CHAR(n) and VARCHAR(n) in the field's metadata."""
    raw = str((field.metadata or {}).get(CHAR_METADATA, ""))
    return raw.upper() if _CHAR.fullmatch(raw) else ddl_type(field.dataType)


def with_bounded_texts(spark: SparkSession, rows: str, columns: Sequence[Column]) -> str:
    """Return rows whose schema has the CHAR and VARCHAR of the columns; Spark casts to none.

    A table that is created from them has these types.

    Args:
        spark: A private session, which gets a temporary view.
        rows: A query for rows with these columns.
        columns: The columns.
    """
    bounds = {c.name.lower(): c.type.lower() for c in columns if _CHAR.fullmatch(c.type.lower())}
    if not bounds:
        return rows
    frame = spark.sql(rows)
    of_columns = [bounds.get(name.lower()) for name in frame.columns]
    bounded(frame, of_columns).createOrReplaceTempView(_TYPED)
    return f"SELECT * FROM {_TYPED}"


def bounded(frame: DataFrame, types: Iterable[str | None]) -> DataFrame:
    """Return a frame with types of its columns that a cast does not give: CHAR(n), VARCHAR(n).

    Args:
        frame: The frame.
        types: One for each column, in Spark's spelling; None for a column that stays as it is.
    """
    columns = (
        frame[quote(name)].alias(name, metadata={CHAR_METADATA: type_})
        if type_
        else frame[quote(name)]
        for name, type_ in zip(frame.columns, types, strict=True)
    )
    return frame.select(*columns)


def columns_of(schema: StructType) -> tuple[Column, ...]:
    """Return the columns of a result, all nullable."""
    return tuple(Column(f.name, field_type(f)) for f in schema.fields)


def _field_name(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else quote(name)


def read_schedule_time(sessions: PrivateSessions, text: str, pattern: str, zone: str) -> datetime:
    """Return the instant that a text means, by a datetime pattern of Spark and in a time zone.

    Raises:
        MaterializedTableError: The text does not fit the pattern, or Spark knows no such pattern.
    """
    query = f"SELECT unix_millis(to_timestamp({quote_text(text)}, {quote_text(pattern)})) AS at"
    with sessions.open() as session:
        session.spark.conf.set("spark.sql.session.timeZone", zone)
        session.spark.conf.set("spark.sql.ansi.enabled", "true")
        try:
            with unlogged():
                at_ms = session.spark.sql(query).collect()[0]["at"]
        except Exception as error:
            if not is_spark_error(error):
                raise
            problem = failure_of(error).message
            raise conditions.INVALID_SCHEDULE_TIME(
                time=text, pattern=pattern, problem=problem
            ) from error
    return datetime.fromtimestamp(at_ms / 1000, tz=timezone.utc)
