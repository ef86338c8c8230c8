"""The statements that bring a table's metadata in line with its committed definition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.identifier import quote, quote_text
from dbt.adapters.spark_mt.spark.properties import DELTA_ID, properties_of

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.definition import StoredDefinition
    from dbt.adapters.spark_mt.planning.steps import Publish
    from dbt.adapters.spark_mt.spark.table_details import TableDetail


def listed(properties: dict[str, str]) -> str:
    """Return properties as they stand in TBLPROPERTIES (…)."""
    return ", ".join(f"{quote_text(k)} = {quote_text(v)}" for k, v in sorted(properties.items()))


def publish_statements(step: Publish, detail: TableDetail) -> list[str]:
    """Return what must be run, each statement one small commit; the definition comes last.

    Until the definition is published, the next statement sees that something is missing and does
    all of this again.
    """
    table = step.definition.name.sql
    statements = [*_comment(step, detail), *_column_comments(step), *_clustering(step, detail)]
    gone = _obsolete(step, detail)
    if gone:
        keys = ", ".join(quote_text(key) for key in gone)
        statements.append(f"ALTER TABLE {table} UNSET TBLPROPERTIES IF EXISTS ({keys})")
    wanted = properties_of(step.definition) | {DELTA_ID: detail.delta_id}
    missing = {k: v for k, v in wanted.items() if detail.properties.get(k) != v}
    if missing:
        statements.append(f"ALTER TABLE {table} SET TBLPROPERTIES ({listed(missing)})")
    return statements


def recluster_statement(definition: StoredDefinition) -> str:
    """Return the statement that sets the clustering columns of a definition."""
    columns = ", ".join(quote(column) for column in definition.asked.clustered_by)
    return f"ALTER TABLE {definition.name.sql} CLUSTER BY " + (
        f"({columns})" if columns else "NONE"
    )


def _comment(step: Publish, detail: TableDetail) -> list[str]:
    comment = step.definition.asked.comment or ""
    if comment == detail.comment:
        return []
    return [f"COMMENT ON TABLE {step.definition.name.sql} IS {quote_text(comment)}"]


def _column_comments(step: Publish) -> list[str]:
    lost = step.before is None or step.created or step.schema_replaced
    known = {} if lost or step.before is None else _comments(step.before)
    changed = {
        name: comment
        for name, comment in _comments(step.definition).items()
        if known.get(name, "") != comment
    }
    if not changed:
        return []
    items = ", ".join(f"{quote(n)} COMMENT {quote_text(c)}" for n, c in changed.items())
    return [f"ALTER TABLE {step.definition.name.sql} ALTER COLUMN {items}"]


def _comments(definition: StoredDefinition) -> dict[str, str]:
    return {column.name: column.comment or "" for column in definition.resolved.columns}


def _clustering(step: Publish, detail: TableDetail) -> list[str]:
    if detail.clustering_columns == step.definition.asked.clustered_by:
        return []
    return [recluster_statement(step.definition)]


def _obsolete(step: Publish, detail: TableDetail) -> list[str]:
    """Options of the definition before that this one no longer has."""
    if step.before is None:
        return []
    wanted = properties_of(step.definition)
    return sorted(
        key
        for key, _ in step.before.asked.options
        if key not in wanted and key in detail.properties
    )
