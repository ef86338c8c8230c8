"""What publishing a committed definition changes in the table's properties and comments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.planning.properties import DELTA_ID, properties_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dbt.adapters.spark_mt.definition.definition import StoredDefinition
    from dbt.adapters.spark_mt.planning.steps import Publish


def is_superseded(step: Publish, published: StoredDefinition | None) -> bool:
    """Whether a newer definition of the same table is published already.

    Somebody committed after us, on top of our definition, and published first: to write ours over
    it would take back theirs.
    """
    ours = step.definition
    return (
        published is not None
        and published.table_id == ours.table_id
        and published.generation > ours.generation
    )


def changed_comments(step: Publish) -> dict[str, str]:
    """Return the comments of columns that must be written, by column; empty removes one.

    Where nobody knows which comments the columns have, these are all that either definition has.
    """
    wanted = _comments(step.definition)
    before = _comments(step.before) if step.before else {}
    if step.created or step.schema_replaced:
        return {name: text for name, text in wanted.items() if text or before.get(name)}
    return {name: text for name, text in wanted.items() if before.get(name, "") != text}


def obsolete_properties(step: Publish, properties: Mapping[str, str]) -> list[str]:
    """Return the keys of `properties` that only the definition before asked for."""
    if step.before is None:
        return []
    wanted = properties_of(step.definition)
    asked = (key for key, _ in step.before.asked.options)
    return sorted(key for key in asked if key not in wanted and key in properties)


def missing_properties(
    step: Publish, properties: Mapping[str, str], table_identity: str
) -> dict[str, str]:
    """Return what must be set.

    Args:
        step: The step.
        properties: What the table has.
        table_identity: The format's own identity of the table.
    """
    wanted = properties_of(step.definition) | {DELTA_ID: table_identity}
    return {key: value for key, value in wanted.items() if properties.get(key) != value}


def _comments(definition: StoredDefinition) -> dict[str, str]:
    return {column.name: column.comment or "" for column in definition.resolved.columns}
