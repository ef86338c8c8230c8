"""The properties of a materialized table in the catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.codec import FORMAT_VERSION, encode_definition
from dbt.adapters.spark_mt.planning.storage import mapping_properties

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.definition import StoredDefinition

PREFIX = "materialized-table."
DEFINITION = PREFIX + "definition"
VERSION = PREFIX + "version"
DELTA_ID = PREFIX + "delta-id"
LOCATION = "location"


def properties_of(definition: StoredDefinition) -> dict[str, str]:
    """Return every property that a table of this definition has, but for Delta's own id.

    Only `materialized-table.definition` counts; the others are a copy for people.
    """
    resolved = definition.resolved
    own = {
        DEFINITION: encode_definition(definition),
        VERSION: str(FORMAT_VERSION),
        PREFIX + "freshness": resolved.freshness.sql,
        PREFIX + "refresh-mode": resolved.refresh_mode.value,
        PREFIX + "status": definition.status.value,
    }
    asked = {key: value for key, value in resolved.asked.options if key != LOCATION}
    return mapping_properties(resolved) | asked | own


def location_of(definition: StoredDefinition) -> str | None:
    """Return where the user wants the table to live, if not under the warehouse."""
    return dict(definition.asked.options).get(LOCATION)
