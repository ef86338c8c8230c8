"""Features that the format of a table lacks, as errors with what to do instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.table_format import Capability

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
    from dbt.adapters.spark_mt.definition.table_format import TableFormat

STRICT_FENCE = "strict-fence"
"""The option by which a write is refused that cannot exclude every change of others."""
_ALTERNATIVES = {
    Capability.MATERIALIZED_TABLE: (
        " Name the table in a catalog of another format, such as spark_catalog. Its query may read"
        " tables of this one."
    ),
    Capability.LATER_NOT_NULL: (
        " CREATE OR REPLACE makes a table whose column is NOT NULL from its first row on. It"
        " computes all rows again."
    ),
    Capability.NOT_NULL: (
        " A refresh manager, or a session whose Spark driver is in its own process, makes such a"
        " column."
    ),
    Capability.REPLACEMENT: (
        " DROP MATERIALIZED TABLE and CREATE make another table of the name, and compute all rows."
        " A refresh manager, or a session whose Spark driver is in its own process, replaces it."
    ),
    Capability.STRICT_FENCE: (
        " Here a rollback by another program during a refresh would be undone by it. A refresh"
        " manager, or a session whose Spark driver is in its own process, finds it first."
    ),
}


def lacking(
    table: str, table_format: TableFormat, capability: Capability, subject: str = ""
) -> MaterializedTableError:
    """Return the error for a feature that the format of a table lacks.

    Args:
        table: The full name.
        table_format: The format.
        capability: The feature.
        subject: What needs it, for people.
    """
    return conditions.FORMAT_FEATURE(
        table=table,
        format=table_format.title,
        feature=f"{capability.value}{subject}",
        alternative=_ALTERNATIVES.get(capability, ""),
    )


def wants_strict_fence(options: Mapping[str, str]) -> bool:
    """Whether options or properties of a table ask for a strict fence."""
    return options.get(STRICT_FENCE, "").lower() == "true"
