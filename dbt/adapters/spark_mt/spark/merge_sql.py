"""The statement that brings the rows of touched keys up to date (semantics 7, "Baseline").

Pure text. The touched keys are those that the query gives for the rows which changed in its
sources. Their rows are computed over all source data: what is there is put in the place of what the
table has, and a key that is there no more is deleted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.identifier import quote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbt.adapters.spark_mt.definition.definition import StoredDefinition

_KEY = "__materialized_table_key_"
_PRESENT = "__materialized_table_present"
_INCOMPARABLE = ("MAP<", "VARIANT")


def computed_rows(content: str, touched: Sequence[str], key: Sequence[str]) -> str:
    """Return the rows of the touched keys.

    Args:
        content: The table's rows over all source data.
        touched: The query over the rows that changed, in as many parts as needed.
        key: The columns of the PRIMARY KEY.
    """
    same = " AND ".join(f"c.{quote(column)} <=> k.{quote(column)}" for column in key)
    keys = keys_query(touched, key)
    return f"SELECT c.* FROM (\n{content}\n) AS c LEFT SEMI JOIN (\n{keys}\n) AS k ON {same}"


def keys_query(touched: Sequence[str], key: Sequence[str]) -> str:
    """Return each touched key once."""
    columns = ", ".join(map(quote, key))
    return "\nUNION\n".join(f"SELECT DISTINCT {columns} FROM (\n{part}\n)" for part in touched)


def merge_statement(
    definition: StoredDefinition, rows: str, touched: Sequence[str], *, adds_columns: bool
) -> str:
    """Return the MERGE.

    Args:
        definition: The table's definition; it has a PRIMARY KEY.
        rows: What `computed_rows` returned, checked against the constraints.
        touched: As for `computed_rows`.
        adds_columns: Whether the table may still lack columns of the definition.
    """
    asked_key = definition.asked.primary_key
    key = asked_key.columns if asked_key else ()
    keys = ", ".join(f"k.{quote(c)} AS {quote(f'{_KEY}{n}')}" for n, c in enumerate(key))
    same = " AND ".join(f"k.{quote(c)} <=> r.{quote(c)}" for c in key)
    match = " AND ".join(f"t.{quote(c)} <=> s.{quote(f'{_KEY}{n}')}" for n, c in enumerate(key))
    columns = [quote(column.name) for column in definition.resolved.columns]
    changed = "" if adds_columns else _changed(definition)
    return f"""MERGE INTO {definition.name.sql} AS t USING (
SELECT {keys}, r.* FROM (
{keys_query(touched, key)}
) AS k LEFT JOIN (
SELECT *, true AS {_PRESENT} FROM (
{rows}
)) AS r ON {same}
) AS s ON {match}
WHEN MATCHED AND s.{_PRESENT} IS NULL THEN DELETE
WHEN MATCHED{changed} THEN UPDATE SET {", ".join(f"{c} = s.{c}" for c in columns)}
WHEN NOT MATCHED AND s.{_PRESENT} THEN
INSERT ({", ".join(columns)}) VALUES ({", ".join(f"s.{c}" for c in columns)})"""


def _changed(definition: StoredDefinition) -> str:
    """Leave rows alone that are the same, so that readers of the change feed see no change."""
    columns = definition.resolved.columns
    if any(word in column.type.upper() for column in columns for word in _INCOMPARABLE):
        return ""
    same = " AND ".join(f"t.{quote(c.name)} <=> s.{quote(c.name)}" for c in columns)
    return f" AND NOT ({same})"
