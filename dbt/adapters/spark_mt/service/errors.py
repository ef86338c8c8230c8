"""What a manager refuses."""

from __future__ import annotations

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError


class NotPlannableError(MaterializedTableError):
    """A plan was asked for of something that changes no definition."""

    condition = "MATERIALIZED_TABLE_NOT_PLANNABLE"
    text = "A plan can be made of CREATE and of ALTER of a definition, but not of: {statement}"
    remedy = "Send such a statement; planning it changes nothing."
