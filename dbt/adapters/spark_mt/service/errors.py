"""What a manager refuses."""

from __future__ import annotations

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError


class NotPlannableError(MaterializedTableError):
    """A plan was asked for of something that changes no definition."""

    condition = "MATERIALIZED_TABLE_NOT_PLANNABLE"
    text = "A plan can be made of CREATE and of ALTER of a definition, but not of: {statement}"
    remedy = "Send such a statement; planning it changes nothing."


class NotExecutableError(MaterializedTableError):
    """A manager was asked to carry out something else than what needs its driver."""

    condition = "MATERIALIZED_TABLE_NOT_EXECUTABLE"
    text = "A manager carries out CREATE, ALTER and REFRESH of a table, but not: {statement}"
    remedy = "Run it in a session of your own; nothing was done."
