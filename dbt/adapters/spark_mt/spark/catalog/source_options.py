"""Options of source tables, as their readers take them."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.spark.session.errors import failure_of, is_spark_error, unlogged
from dbt.adapters.spark_mt.spark.session.private_session import set_for_now

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.columns import TableName

    Options = Mapping[str, str]

NO_LIMITS: Mapping[str, str] = MappingProxyType({})
"""A batch takes all that is there."""
_OPTION = "option."
_SHOWING_ALL = {
    "spark.sql.legacy.setCommandRejectsSparkCoreConfs": "false",
    "spark.redaction.regex": "(?!)",
    "spark.sql.redaction.options.regex": "(?!)",
}
"""Confs under which Spark shows the values of passwords and addresses, which a source needs."""


def table_options(private: SparkSession, name: TableName) -> dict[str, str]:
    """Return the options of a table's CREATE TABLE … OPTIONS; keys as they were written.

    Args:
        private: A session in which nothing else runs meanwhile. The values are secrets: they belong
            into readers and nowhere else.
        name: The table's full name.

    Raises:
        SourceNotFoundError: It is gone.
    """
    with set_for_now(private, _SHOWING_ALL):
        try:
            with unlogged():
                rows = private.sql(f"SHOW TBLPROPERTIES {name.sql}").collect()
        except Exception as error:
            if not is_spark_error(error):
                raise
            raise conditions.SOURCE_NOT_FOUND(
                source=name, problem=failure_of(error).message
            ) from error
    return {key[len(_OPTION) :]: value for key, value in rows if key.startswith(_OPTION)}


def without(options: Options, keys: Collection[str]) -> dict[str, str]:
    """Return the options without some, by names without regard to case, as in Spark."""
    dropped = {key.lower() for key in keys}
    return {key: value for key, value in options.items() if key.lower() not in dropped}


def only(options: Options, keys: Collection[str]) -> dict[str, str]:
    """Return some of the options, by names without regard to case, as in Spark."""
    kept = {key.lower() for key in keys}
    return {key: value for key, value in options.items() if key.lower() in kept}


def has_any(options: Options, keys: Collection[str]) -> bool:
    """Whether any of these options is given."""
    return len(without(options, keys)) < len(options)
