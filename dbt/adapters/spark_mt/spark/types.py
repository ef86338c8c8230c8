"""PySpark's data types as canonical DDL text.

Upper-case keywords, `DECIMAL(10,2)` without a space, `STRUCT<a: INT, b: ARRAY<STRING>>` with one;
nullability and comments of nested fields are left out: a materialized table's are all nullable.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.columns import Column
from dbt.adapters.spark_mt.definition.identifier import quote

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructField, StructType

_CHAR_METADATA = "__CHAR_VARCHAR_TYPE_STRING"
_CHAR = re.compile(r"(?:var)?char\(\d+\)")
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
    raw = str((field.metadata or {}).get(_CHAR_METADATA, ""))
    return raw.upper() if _CHAR.fullmatch(raw) else ddl_type(field.dataType)


def columns_of(schema: StructType) -> tuple[Column, ...]:
    """Return the columns of a result, all nullable."""
    return tuple(Column(f.name, field_type(f)) for f in schema.fields)


def _field_name(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else quote(name)
