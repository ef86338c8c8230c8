"""Sessions in which queries can be analysed over tables that Spark reads only as streams."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.identifier import TableName
from dbt.adapters.spark_mt.resolution.query_text import shape_of
from dbt.adapters.spark_mt.spark.catalog_objects import providers_of
from dbt.adapters.spark_mt.spark.errors import is_spark_error
from dbt.adapters.spark_mt.spark.private_session import PrivateSessions
from dbt.adapters.spark_mt.spark.stand_ins import StandIn, StandIns, full_name
from dbt.adapters.spark_mt.spark.streams.checkpointed import RATE_FORMATS, RateSource
from dbt.adapters.spark_mt.spark.streams.kafka import KafkaSource
from dbt.adapters.spark_mt.spark.streams.kafka_offsets import KAFKA

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.definition import QueryContext

_VIEW = "__materialized_table_stand_in_"


def stand_ins_of(views: Mapping[TableName, tuple[str, str]]) -> StandIns:
    """Return what stands for tables that Spark reads in no query.

    Args:
        views: For each table its format, and a view of it as a stream.
    """
    return StandIns(
        tuple(
            StandIn(name, view, only_streams=format_ == KAFKA)
            for name, (format_, view) in views.items()
            if format_ == KAFKA or format_ in RATE_FORMATS
        )
    )


@contextmanager
def standing_in(
    spark: SparkSession, query: str, context: QueryContext
) -> Iterator[tuple[SparkSession, StandIns]]:
    """Open a session in which views stand for the tables of a query that Spark cannot read.

    The session knows no temporary object of the user's. Nothing is read: no broker is asked.

    Args:
        spark: The user's session.
        query: The query.
        context: Where it stands.

    Yields:
        The session, and the views; none where the query reads no such table.
    """
    formats = _formats(spark, query, context)
    views = {name: (each, f"{_VIEW}{n}") for n, (name, each) in enumerate(formats.items())}
    with PrivateSessions(spark).open(context) as session:
        found = stand_ins_of(views)
        for each in found.views:
            if each.only_streams:
                frame = KafkaSource(session.spark, each.name).stream()
            else:
                frame = RateSource(session.spark, each.name, formats[each.name]).stream()
            frame.createOrReplaceTempView(each.view)
        yield session.spark, found


def _formats(spark: SparkSession, query: str, context: QueryContext) -> dict[TableName, str]:
    """The formats of the tables that a query names, as far as the catalog has them."""
    names = {full_name(ref, context) for ref in shape_of(query).relations}
    try:
        return providers_of(spark, [TableName.of(*n) for n in sorted(names) if len(n) == 3])
    except Exception as error:
        if not is_spark_error(error):
            raise
        return {}
