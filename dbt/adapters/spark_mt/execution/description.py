"""The rows of DESC EXTENDED below the columns (semantics 11)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.modes import RefreshMode
from dbt.adapters.spark_mt.execution.show_create import evaluated, instant, shown_option
from dbt.adapters.spark_mt.resolution.engines import INCREMENTAL
from dbt.adapters.spark_mt.resolution.options import read_options

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dbt.adapters.spark_mt.definition.definition import StoredDefinition
    from dbt.adapters.spark_mt.definition.freshness import Freshness
    from dbt.adapters.spark_mt.definition.start_mode import StartMode
    from dbt.adapters.spark_mt.definition.state_retention import StateRetention
    from dbt.adapters.spark_mt.definition.table_state import StoredTable
    from dbt.adapters.spark_mt.resolution.engines import Engine

Row = tuple[str, str]


def definition_rows(definition: StoredDefinition, confs: Mapping[str, str]) -> Iterator[Row]:
    """Yield what the user asked for and what it resolved to."""
    resolved, asked = definition.resolved, definition.asked
    yield "Original query", asked.query
    yield "Expanded query", resolved.expanded_query
    yield "Catalog and schema of the query", f"{resolved.context.catalog}.{resolved.context.schema}"
    yield "Freshness", _asked(_sql(asked.freshness), resolved.freshness.sql)
    mode = asked.refresh_mode
    yield "Refresh mode", _asked(mode and mode.value, resolved.refresh_mode.value)
    yield "Refresh", _extent(definition)
    text = _asked(_sql(asked.start_mode), resolved.start_mode.mode.sql)
    yield "Start mode", " ".join(part for part in (text, evaluated(definition, confs)) if part)
    if definition.baseline is not None:
        yield "Baseline", definition.baseline.describe()
    yield "State retention", _asked(_sql(asked.state_retention), resolved.state_retention.sql)
    if key := asked.primary_key:
        yield "Primary key", f"({', '.join(key.columns)}) NOT ENFORCED"
    if asked.partitioned_by:
        yield "Partitioned by", ", ".join(asked.partitioned_by)
    if asked.clustered_by:
        yield "Clustered by", ", ".join(asked.clustered_by)
    for option, value in asked.options:
        yield f"Option {option}", shown_option(option, value, confs)


def engine_rows(definition: StoredDefinition, engine: Engine) -> Iterator[Row]:
    """Yield how the table is brought up to date, and why."""
    yield "Engine", _engine(definition, engine)
    for reason in engine.reasons:
        about = f" of {reason.subject}" if reason.subject else ""
        yield f"Reason {reason.code}{about}", reason.text


NOBODY = "none: refreshed by statements and dbt run"


def state_rows(
    table: StoredTable, lag: int | None, confs: Mapping[str, str], handler: str = NOBODY
) -> Iterator[Row]:
    """Yield where the table stands.

    Args:
        table: The table.
        confs: The reader's session.
        lag: In seconds; None when it is not known.
        handler: Who refreshes it by himself.
    """
    definition = table.definition
    reason = f" ({definition.status_reason})" if definition.status_reason else ""
    yield "Status", definition.status.value + reason
    yield "Table id", definition.table_id
    yield "Generation", str(definition.generation)
    yield "Refresh handler", handler
    for option, value in definition.run_options:
        yield f"Run option {option}", shown_option(option, value, confs)
    for name, position in sorted((table.positions or {}).items()):
        yield f"Position of {name}", str(position)
    if (stream := table.stream) is not None:
        yield "Stream", f"batch {stream.batch} of the checkpoint {stream.checkpoint}"
    yield "Lag", "unknown" if lag is None else f"{lag} seconds"
    if (last := table.last_refresh) is not None:
        rows = "" if last.rows is None else f", {last.rows} rows"
        at = instant(last.started_at_ms, confs)
        yield "Last refresh", f"{at}, {last.trigger}, {last.strategy}{rows} ({last.refresh_id})"
    for commit in table.foreign_commits:
        yield "Foreign commit", f"{commit.operation} in version {commit.version}"


def _sql(clause: Freshness | StartMode | StateRetention | None) -> str | None:
    return None if clause is None else clause.sql


def _asked(asked: str | None, resolved: str) -> str:
    if asked is None:
        return f"{resolved} (by default)"
    return asked if asked == resolved else f"{asked}, resolved to {resolved}"


def _extent(definition: StoredDefinition) -> str:
    formatters = read_options(definition.asked.options).date_formatters
    if definition.resolved.refresh_mode is not RefreshMode.FULL or not formatters:
        return "whole table"
    listed = ", ".join(f"{column} as {pattern}" for column, pattern in formatters)
    return f"scheduled runs: the partitions of their period ({listed}); otherwise the whole table"


def _engine(definition: StoredDefinition, engine: Engine) -> str:
    baseline = definition.baseline
    if baseline is None or engine.engine != INCREMENTAL:
        return f"{engine.engine}, strategy {engine.strategy}{_handed_over(engine)}"
    if baseline.is_adopted:
        strategies = "append, or merge by key, where the query allows it, else recompute"
        return f"{engine.engine}, strategy {strategies} (the table was adopted)"
    strategies = "append, or merge by key" if baseline.keeps_rows else "append, merge or window"
    return f"{engine.engine}, strategy {strategies} (what came since the baseline is applied)"


def _handed_over(engine: Engine) -> str:
    if not engine.key:
        return ""
    return f", a row replaces the row with the same {', '.join(engine.key)}"
