"""Reasons why the state of a stream cannot be kept when its query changes (STATE_RETENTION)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.errors import DefinitionChangeError
from dbt.adapters.spark_mt.definition.modes import KEEP_NONE, RefreshMode
from dbt.adapters.spark_mt.statements.clauses import Effect

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dbt.adapters.spark_mt.changes.changes import Change
    from dbt.adapters.spark_mt.definition.definition import ResolvedDefinition, StoredDefinition


class ContradictoryRetentionError(DefinitionChangeError):
    """The start mode reads source data again from which the kept state was made (FLIP-557)."""

    condition = "MATERIALIZED_TABLE_CONTRADICTORY_STATE_RETENTION"
    text = (
        "Materialized table {table}: START_MODE = {startMode} reads source data again or leaves "
        "some out, while STATE_RETENTION = {stateRetention} continues with the state of the old "
        "query, and the query changed."
    )
    remedy = (
        "Use START_MODE = RESUME_OR_{startMode}, which continues from the positions of the rows, "
        "or STATE_RETENTION = NONE, which builds rows and state again."
    )


class StateNotRetainedError(DefinitionChangeError):
    """The state of a stream does not fit the changed query (FLIP-557)."""

    condition = "MATERIALIZED_TABLE_STATE_NOT_RETAINED"
    text = (
        "STATE_RETENTION = {stateRetention} cannot hold for the changed query of materialized "
        "table {table}; nothing was stopped or changed:"
    )
    remedy = (
        "Leave operators that keep state as they are and change the others; or use START_MODE = "
        "FROM_BEGINNING with STATE_RETENTION = NONE, which builds rows and state again at the cost "
        "of reading all source data."
    )


def contradictions(
    table: str, stored: StoredDefinition, wanted: ResolvedDefinition, changes: Sequence[Change]
) -> Iterator[ContradictoryRetentionError]:
    """Yield a state retention that contradicts the start mode of a changed query."""
    modes = {wanted.refresh_mode, stored.resolved.refresh_mode}
    query_changed = any(c.of_query and c.effect is Effect.CONTENT for c in changes)
    if modes != {RefreshMode.CONTINUOUS} or not query_changed:
        return
    mode = wanted.start_mode.mode
    if wanted.state_retention != KEEP_NONE and not mode.type.resumes:
        yield ContradictoryRetentionError(
            table=table, startMode=mode.sql, stateRetention=wanted.state_retention.sql
        )


def not_retained(
    table: str, wanted: ResolvedDefinition, problems: Sequence[str]
) -> StateNotRetainedError:
    """Return the error about a state that does not fit, with every reason."""
    retention = wanted.state_retention.sql
    return StateNotRetainedError(violations=problems, table=table, stateRetention=retention)
