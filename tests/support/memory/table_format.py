"""Names of the table formats in memory: other ones than those of the formats that are shipped."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.table_format import (
    Capability,
    CommitEffect,
    Conditions,
    TableFormat,
)

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.columns import TableName

_EFFECTS = {
    "CLONE": CommitEffect.CLONE,
    "RESTORE": CommitEffect.RESTORE,
    **dict.fromkeys(
        (
            "ADD CONSTRAINT",
            "CHANGE COLUMN",
            "CLUSTER BY",
            "DROP CONSTRAINT",
            "OPTIMIZE",
            "SET TBLPROPERTIES",
            "UNSET TBLPROPERTIES",
        ),
        CommitEffect.NO_ROWS,
    ),
}

FORMAT = TableFormat(
    name="memory",
    title="Memory",
    identity_property="materialized-table.memory-id",
    constraint_prefix="memory.constraints.",
    maintained=("memory.",),
    name_mapping={"memory.names": "mapped"},
    system_properties={"memory.history": "short"},
    log_retention="memory.history",
    log_retention_default="8 days",
    file_retention="memory.files",
    effects=_EFFECTS,
    capabilities=frozenset(Capability),
    conditions=Conditions(
        conflict=frozenset({"MEMORY_CONFLICT"}),
        constraint=frozenset({"MEMORY_NULL"}),
        rows_break_constraint=frozenset({"MEMORY_NULL"}),
        constraint_exists=frozenset({"MEMORY_CONSTRAINT_EXISTS"}),
        no_table=frozenset({"MEMORY_NO_TABLE"}),
        unreadable_version=frozenset({"MEMORY_NO_VERSION"}),
    ),
)

OTHER_CATALOG = "other"
"""The catalog in which tables have the other format."""
OTHER = replace(
    FORMAT,
    name="other",
    title="Other",
    identity_property="materialized-table.other-id",
    constraint_prefix="other.constraints.",
    maintained=("other.",),
    name_mapping={},
    log_retention="other.commits",
    file_retention="other.commits",
)


def format_of(name: TableName) -> TableFormat:
    """Return the format of a table, which is that of its catalog."""
    return OTHER if name.catalog == OTHER_CATALOG else FORMAT
