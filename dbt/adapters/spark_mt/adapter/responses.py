"""Response of dbt to a statement about a materialized table."""

from __future__ import annotations

from dataclasses import dataclass, field

from dbt.adapters.contracts.connection import AdapterResponse

from dbt.adapters.spark_mt.definition.modes import RefreshStatus
from dbt.adapters.spark_mt.execution import results


@dataclass
class MaterializedTableResponse(AdapterResponse):
    """The facts of a materialized table's run.

    Args:
        action: CREATED, ALTERED, REPLACED, UNCHANGED …; None where only a refresh was asked for.
        changes: One sentence per change of the definition.
        refresh_mode: The mode that the table resolved to.
        refresh: REFRESHED or UP_TO_DATE; None when nothing was refreshed.
        strategy: How the refresh computed its result.
        rows: Rows that the refresh wrote.
        refresh_id: Names the refresh in the table's commits and in SHOW JOBS.
        positions_from: Source positions before, by source.
        positions_to: Source positions after.
        warnings: Sentences that the user should read.
        status: The table's status: ACTIVATED or SUSPENDED.
    """

    action: str | None = None
    changes: list[str] = field(default_factory=list)
    refresh_mode: str = ""
    refresh: str | None = None
    strategy: str | None = None
    rows: int | None = None
    refresh_id: str | None = None
    positions_from: dict[str, str] = field(default_factory=dict)
    positions_to: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    status: str = ""

    @property
    def is_altered(self) -> bool:
        """Whether the definition of an existing table was changed."""
        return self.action == results.Action.ALTERED.value

    @property
    def is_settled(self) -> bool:
        """Whether the run leaves the rows as they are: of a suspended or just adopted table."""
        return results.rows_stay(self.status, results.Action(self.action) if self.action else None)


def response_of(outcome: results.StatementOutcome) -> MaterializedTableResponse:
    """The response to a statement about materialized tables."""
    response = MaterializedTableResponse(
        _message=_message(outcome),
        action=outcome.action.value if outcome.action else None,
        changes=list(outcome.changes),
        refresh_mode=outcome.refresh_mode,
        warnings=list(outcome.warnings),
        status=outcome.status,
    )
    if (refresh := outcome.refresh) is not None:
        response.rows_affected = refresh.rows
        response.refresh = refresh.status.value
        response.strategy = refresh.strategy
        response.rows = refresh.rows
        response.refresh_id = refresh.refresh_id
        response.positions_from = dict(refresh.positions_from)
        response.positions_to = dict(refresh.positions_to)
        response.warnings += [w for w in refresh.warnings if w not in response.warnings]
    return response


def validated(outcome: results.StatementOutcome) -> MaterializedTableResponse:
    """The response to a statement that was only checked."""
    return MaterializedTableResponse(
        _message="VALIDATED",
        changes=list(outcome.changes),
        refresh_mode=outcome.refresh_mode,
        warnings=list(outcome.warnings),
    )


def _message(outcome: results.StatementOutcome) -> str:
    refresh, action = outcome.refresh, outcome.action
    if outcome.status == RefreshStatus.SUSPENDED.value:
        changed = f", {_altered(outcome)}" if action is results.Action.ALTERED else ""
        return f"{results.Action.SUSPENDED.value}{changed}"
    if refresh is None or action not in {None, results.Action.UNCHANGED, results.Action.ALTERED}:
        done = _altered(outcome) if action is results.Action.ALTERED else action and action.value
        return done or "OK"
    refreshed = "UP TO DATE"
    if refresh.status is not results.RefreshResult.UP_TO_DATE:
        refreshed = "REFRESHED" if refresh.rows is None else f"REFRESHED {refresh.rows} rows"
    return f"{_altered(outcome)}, {refreshed}" if action is results.Action.ALTERED else refreshed


def _altered(outcome: results.StatementOutcome) -> str:
    count = len(outcome.changes)
    return f"ALTERED {count} change{'' if count == 1 else 's'}"
