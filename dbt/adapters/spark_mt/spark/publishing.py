"""The statements that bring a table's metadata in line with its committed definition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.identifier import quote, quote_text
from dbt.adapters.spark_mt.planning.publication import (
    changed_comments,
    missing_properties,
    obsolete_properties,
)
from dbt.adapters.spark_mt.spark.table_details import clustering_columns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dbt.adapters.spark_mt.definition.definition import StoredDefinition
    from dbt.adapters.spark_mt.planning.steps import Publish


def listed(properties: dict[str, str]) -> str:
    """Return properties as they stand in TBLPROPERTIES (…)."""
    return ", ".join(f"{quote_text(k)} = {quote_text(v)}" for k, v in sorted(properties.items()))


@dataclass(frozen=True, slots=True)
class Published:
    """What a table has now.

    Args:
        comment: Its comment, empty without one.
        properties: Its properties.
        identity: Delta's identity of it.
        definition: The definition that is published, None where there is none that can be read.
    """

    comment: str
    properties: Mapping[str, str]
    identity: str
    definition: StoredDefinition | None = None


def publish_statements(step: Publish, now: Published) -> list[str]:
    """Return what must be run, each statement one small commit; the definition comes last.

    Until the definition is published, the next statement sees that something is missing and does
    all of this again.
    """
    table = step.definition.name.sql
    statements = [*_comment(step, now), *_column_comments(step), *_clustering(step, now)]
    gone = obsolete_properties(step, now.properties)
    if gone:
        keys = ", ".join(quote_text(key) for key in gone)
        statements.append(f"ALTER TABLE {table} UNSET TBLPROPERTIES IF EXISTS ({keys})")
    missing = missing_properties(step, now.properties, now.identity)
    if missing:
        statements.append(f"ALTER TABLE {table} SET TBLPROPERTIES ({listed(missing)})")
    return statements


def recluster_statement(definition: StoredDefinition) -> str:
    """Return the statement that sets the clustering columns of a definition."""
    columns = ", ".join(quote(column) for column in definition.asked.clustered_by)
    return f"ALTER TABLE {definition.name.sql} CLUSTER BY " + (
        f"({columns})" if columns else "NONE"
    )


def _comment(step: Publish, now: Published) -> list[str]:
    comment = step.definition.asked.comment or ""
    if comment == now.comment:
        return []
    return [f"COMMENT ON TABLE {step.definition.name.sql} IS {quote_text(comment)}"]


def _column_comments(step: Publish) -> list[str]:
    changed = changed_comments(step)
    if not changed:
        return []
    items = ", ".join(f"{quote(n)} COMMENT {quote_text(c)}" for n, c in changed.items())
    return [f"ALTER TABLE {step.definition.name.sql} ALTER COLUMN {items}"]


def _clustering(step: Publish, now: Published) -> list[str]:
    if clustering_columns(now.properties) == step.definition.asked.clustered_by:
        return []
    return [recluster_statement(step.definition)]
