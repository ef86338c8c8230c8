"""The statement that makes a table again (semantics 11, seed 557 2.6)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.state_retention import StateRetentionType
from dbt.adapters.spark_mt.resolution.options import redacted
from dbt.adapters.spark_mt.resolution.zones import SESSION_TIME_ZONE, parse_zone
from dbt.adapters.spark_mt.statements.nodes import CreateForm, CreateTable
from dbt.adapters.spark_mt.statements.renderer import render_create

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dbt.adapters.spark_mt.definition.definition import StoredDefinition

REDACTION = "spark.redaction.regex"


def create_text(
    definition: StoredDefinition, confs: Mapping[str, str], *, or_alter: bool = False
) -> str:
    """Return CREATE [OR ALTER] MATERIALIZED TABLE with the full name and the original query.

    Clauses stand as they were asked, what a default filled in stands in a comment, and values of
    options whose key says that they are secret are replaced by asterisks.

    Args:
        definition: The table's definition.
        confs: The reader's session: its time zone and `spark.redaction.regex`.
        or_alter: Whether the statement shall be CREATE OR ALTER.
    """
    asked = definition.asked
    options = tuple((key, shown_option(key, value, confs)) for key, value in asked.options)
    form = CreateForm.CREATE_OR_ALTER if or_alter else CreateForm.CREATE
    statement = CreateTable(form, definition.name, replace(asked, options=options))
    return render_create(statement, _notes(definition, confs))


def shown_option(key: str, value: str, confs: Mapping[str, str]) -> str:
    """Return an option's value for people."""
    pattern = confs.get(REDACTION)
    return redacted(key, value, pattern) if pattern else redacted(key, value)


def instant(instant_ms: int, confs: Mapping[str, str]) -> str:
    """Return an instant in the reader's zone: `2025-10-28 10:00:00`."""
    zone = parse_zone(confs.get(SESSION_TIME_ZONE) or "UTC")
    moment = datetime.fromtimestamp(instant_ms / 1000, tz=timezone.utc).astimezone(zone)
    return moment.strftime("%Y-%m-%d %H:%M:%S")


def evaluated(definition: StoredDefinition, confs: Mapping[str, str]) -> str:
    """Say which instant the start mode meant, in the words of seed 557; empty without one."""
    instant_ms = definition.resolved.start_mode.instant_ms
    if instant_ms is None:
        return ""
    at = instant(instant_ms, confs)
    return f"Evaluated to FROM_TIMESTAMP(TIMESTAMP '{at}') at execution"


def _notes(definition: StoredDefinition, confs: Mapping[str, str]) -> dict[str, str]:
    resolved = definition.resolved
    asked = definition.asked
    notes = {}
    if asked.freshness is None:
        notes["FRESHNESS"] = f"FRESHNESS = {resolved.freshness.sql} by default"
    if asked.refresh_mode is None:
        notes["REFRESH_MODE"] = f"REFRESH_MODE = {resolved.refresh_mode.value} by freshness"
    if asked.start_mode is None:
        notes["START_MODE"] = f"START_MODE = {resolved.start_mode.mode.sql} by default"
    elif text := evaluated(definition, confs):
        notes["START_MODE"] = text
    if asked.state_retention is None:
        notes["STATE_RETENTION"] = f"STATE_RETENTION = {StateRetentionType.NONE.value} by default"
    return notes
