"""Reasons why the state of a stream cannot be kept when its query changes (STATE_RETENTION)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.modes import KEEP_NONE, RefreshMode
from dbt.adapters.spark_mt.statements.clauses import Effect

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dbt.adapters.spark_mt.changes.changes import Change
    from dbt.adapters.spark_mt.definition.definition import ResolvedDefinition, StoredDefinition
    from dbt.adapters.spark_mt.definition.errors import InvalidDefinitionError


def contradictions(
    table: str, stored: StoredDefinition, wanted: ResolvedDefinition, changes: Sequence[Change]
) -> Iterator[InvalidDefinitionError]:
    """Yield a state retention that contradicts the start mode of a changed query."""
    modes = {wanted.refresh_mode, stored.resolved.refresh_mode}
    query_changed = any(c.kind.of_query and c.effect is Effect.CONTENT for c in changes)
    if modes != {RefreshMode.CONTINUOUS} or not query_changed:
        return
    mode = wanted.start_mode.mode
    if wanted.state_retention != KEEP_NONE and not mode.type.resumes:
        yield conditions.CONTRADICTORY_STATE_RETENTION(
            table=table, startMode=mode.sql, stateRetention=wanted.state_retention.sql
        )


def not_retained(
    table: str, wanted: ResolvedDefinition, problems: Sequence[str]
) -> InvalidDefinitionError:
    """Return the error about a state that does not fit, with every reason."""
    retention = wanted.state_retention.sql
    return conditions.STATE_NOT_RETAINED(violations=problems, table=table, stateRetention=retention)
