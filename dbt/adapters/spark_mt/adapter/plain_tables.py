"""Plain tables of dbt's own materializations, and how one takes the place of what has its name.

Tables that read a relation by its name see it neither empty nor missing where one commit
replaces it. Where none can, the new table is written under another name first, so that a failure
leaves the old relation, and the name is missing for two renames only.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.adapter.materialization import swap
from dbt.adapters.spark_mt.handle import STAGED
from dbt.adapters.spark_mt.spark.delta.format import FORMAT

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.relation import SparkMTRelation


class Placement(Enum):
    """How a table gets its name."""

    REPLACE = "replace"
    """CREATE OR REPLACE, in one commit; nothing else has the name, or it is of the same format."""
    RELEASE = "release"
    """As REPLACE, when the materialized table of the name was released."""
    STAGE = "stage"
    """By a rename, when it has its rows."""
    DROP = "drop"
    """CREATE after DROP, of a clone or in a format that replaces nothing, as dbt-spark does it."""


@dataclass(frozen=True, slots=True)
class TableWrite:
    """The write of a table.

    Args:
        placement: How the table gets its name.
        relation: The table.
        existing: What has its name now; None if nothing has.
    """

    placement: Placement
    relation: SparkMTRelation
    existing: SparkMTRelation | None

    @property
    def written(self) -> SparkMTRelation:
        """The relation that the statement names."""
        is_staged = self.placement is Placement.STAGE
        return self.relation.with_suffix(STAGED) if is_staged else self.relation


def plan_write(
    relation: SparkMTRelation, existing: SparkMTRelation | None, file_format: str | None
) -> TableWrite:
    """Decide how a table gets its name.

    Args:
        relation: The table.
        existing: What has its name now; None if nothing has.
        file_format: The format of the table; None for a clone, which replaces nothing.
    """
    placement = Placement.DROP
    if existing is None:
        placement = Placement.REPLACE
    elif file_format == FORMAT.name:
        placement = _over(existing)
    elif file_format == "iceberg" and existing.is_iceberg:
        placement = Placement.REPLACE
    return TableWrite(placement, relation, existing)


def _over(existing: SparkMTRelation) -> Placement:
    if existing.is_materialized_table:
        return Placement.RELEASE
    return Placement.REPLACE if existing.is_delta else Placement.STAGE


def prepare(adapter: Any, write: TableWrite, query: str) -> None:  # noqa: ANN401 - importing its class here would be a cycle
    """Do what has to be done before the table is written.

    The query is analysed before something is dropped or released for it.
    """
    if write.placement is Placement.STAGE:
        adapter.drop_relation(write.written)
    elif write.existing is not None and write.placement is not Placement.REPLACE:
        adapter.query_columns(query)
        if write.placement is Placement.RELEASE:
            adapter.release_materialized_table(write.existing)
        else:
            adapter.drop_relation(write.existing)


def finish(adapter: Any, write: TableWrite) -> None:  # noqa: ANN401 - as above
    """Give the written table its name."""
    if write.placement is Placement.STAGE and write.existing is not None:
        swap(adapter, write.existing, write.written, write.relation)
