from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.definition.columns import Column
from dbt.adapters.spark_mt.query.types import canonical_type
from dbt.adapters.spark_mt.spark.session.types import columns_of, ddl_type

if TYPE_CHECKING:
    from pyspark.sql.types import DataType

t = pytest.importorskip("pyspark.sql.types")

_TYPES = [
    (t.NullType(), "VOID"),
    (t.BooleanType(), "BOOLEAN"),
    (t.ByteType(), "TINYINT"),
    (t.ShortType(), "SMALLINT"),
    (t.IntegerType(), "INT"),
    (t.LongType(), "BIGINT"),
    (t.FloatType(), "FLOAT"),
    (t.DoubleType(), "DOUBLE"),
    (t.DecimalType(10, 2), "DECIMAL(10,2)"),
    (t.StringType(), "STRING"),
    (t.BinaryType(), "BINARY"),
    (t.DateType(), "DATE"),
    (t.TimestampType(), "TIMESTAMP"),
    (t.TimestampNTZType(), "TIMESTAMP_NTZ"),
    (t.DayTimeIntervalType(), "INTERVAL DAY TO SECOND"),
    (t.YearMonthIntervalType(), "INTERVAL YEAR TO MONTH"),
    (t.VariantType(), "VARIANT"),
    (t.ArrayType(t.DecimalType(38, 18)), "ARRAY<DECIMAL(38,18)>"),
    (t.MapType(t.StringType(), t.ArrayType(t.LongType())), "MAP<STRING, ARRAY<BIGINT>>"),
    (
        t.StructType(
            [
                t.StructField("a", t.IntegerType(), nullable=False),
                t.StructField("b c", t.StructType([t.StructField("x`y", t.StringType())])),
            ]
        ),
        "STRUCT<a: INT, `b c`: STRUCT<`x``y`: STRING>>",
    ),
]


@pytest.mark.parametrize(("data_type", "ddl"), _TYPES)
def test_canonical_ddl(data_type: DataType, ddl: str) -> None:
    assert ddl_type(data_type) == ddl


@pytest.mark.parametrize("ddl", [ddl for _, ddl in _TYPES])
def test_both_spellings_of_the_project_agree(ddl: str) -> None:
    assert canonical_type(ddl) == ddl


def test_char_and_varchar_are_in_the_metadata() -> None:
    schema = t.StructType(
        [
            t.StructField("c", t.StringType(), metadata={"__CHAR_VARCHAR_TYPE_STRING": "char(5)"}),
            t.StructField(
                "v", t.StringType(), metadata={"__CHAR_VARCHAR_TYPE_STRING": "varchar(70)"}
            ),
            t.StructField("s", t.StringType(), metadata={"comment": "x"}),
        ]
    )
    assert columns_of(schema) == (
        Column("c", "CHAR(5)"),
        Column("v", "VARCHAR(70)"),
        Column("s", "STRING"),
    )
