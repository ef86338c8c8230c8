"""Storage properties that follow from a definition itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.definition import ResolvedDefinition

COLUMN_MAPPING = "delta.columnMapping.mode"
_UNMAPPED = frozenset(" ,;{}()\n\t=")


def mapping_properties(definition: ResolvedDefinition) -> dict[str, str]:
    """Return the column mapping that the names of the columns need, if they need one.

    Delta refuses some characters in a column's name unless names are mapped.
    """
    names = "".join(column.name for column in definition.columns)
    return {COLUMN_MAPPING: "name"} if _UNMAPPED & set(names) else {}
