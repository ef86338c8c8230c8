"""Names of the table format in memory: other ones than those of the format that is shipped."""

from __future__ import annotations

from dbt.adapters.spark_mt.definition.table_format import (
    Capability,
    CommitEffect,
    Conditions,
    TableFormat,
)

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
