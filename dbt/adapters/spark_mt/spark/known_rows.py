"""Rows of the registry as a manager reads them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.freshness import Freshness
from dbt.adapters.spark_mt.definition.identifier import TableName
from dbt.adapters.spark_mt.definition.modes import RefreshMode, RefreshStatus
from dbt.adapters.spark_mt.execution.known_tables import KnownTable

if TYPE_CHECKING:
    from pyspark.sql import Row

    from dbt.adapters.spark_mt.definition.definition import Pairs


def known_of(row: Row, catalog: str) -> KnownTable:
    """Return what a row tells of a table; those of older releases tell less, and are left out."""
    facts = json.loads(row["facts"])
    return KnownTable(
        name=TableName(row["table_name"], row["schema_name"], catalog),
        table_id=row["table_id"],
        generation=row["generation"],
        refresh_mode=RefreshMode(row["refresh_mode"]),
        asked_refresh_mode=facts["asked_refresh_mode"],
        freshness=Freshness.parse(row["freshness"]),
        status=RefreshStatus(row["status"]),
        status_reason=facts["status_reason"],
        zone=facts["zone"],
        formatters=tuple((column, pattern) for column, pattern in facts["formatters"]),
        reads=tuple(facts["reads"]),
        derived_from=_pairs(facts.get("derived_from")),
        last_refresh_at_ms=row["last_refresh_at_ms"],
        rows=facts["rows"],
        recorded_at_ms=row["recorded_at_ms"],
    )


def _pairs(items: list[list[str]] | None) -> Pairs | None:
    return None if items is None else tuple((key, value) for key, value in items)
