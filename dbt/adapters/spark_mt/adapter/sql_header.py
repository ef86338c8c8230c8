"""`sql_header` of models: statements that run in the session before the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.columns import quote
from dbt.adapters.spark_mt.sql_tokens import statements_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class SessionState:
    """What a header may change of a session that later models use, too.

    Args:
        confs: The confs that are set.
        catalog: The current catalog.
        schema: The current schema.
    """

    confs: Mapping[str, str]
    catalog: str
    schema: str

    @classmethod
    def of(cls, spark: SparkSession) -> SessionState:
        """The state of a session now."""
        from dbt.adapters.spark_mt.spark.session.private_session import confs_of  # noqa: PLC0415 - loads PySpark

        confs = confs_of(spark, lambda _: True)
        return cls(confs, spark.catalog.currentCatalog(), spark.catalog.currentDatabase())

    def restore(self, spark: SparkSession) -> None:
        """Bring a session back to this state."""
        now = SessionState.of(spark)
        for key in now.confs.keys() - self.confs.keys():
            spark.conf.unset(key)
        for key, value in self.confs.items():
            if now.confs.get(key) != value:
                spark.conf.set(key, value)
        if (now.catalog, now.schema) != (self.catalog, self.schema):
            spark.sql(f"USE {quote(self.catalog)}.{quote(self.schema)}")


def statements_of_header(header: str | None) -> tuple[str, ...]:
    """The statements of a header; none where it is the beginning of the query, such as a WITH."""
    text = (header or "").rstrip()
    return statements_of(text) if text.endswith(";") else ()
