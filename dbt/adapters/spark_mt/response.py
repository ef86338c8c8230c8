"""What a statement did, as dbt prints it and as `run_results.json` keeps it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dbt.adapters.contracts.connection import AdapterResponse

from dbt.adapters.spark_mt.definition.modes import RefreshStatus
from dbt.adapters.spark_mt.execution.results import Action, RefreshResult

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.execution.results import RefreshOutcome, StatementOutcome


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
    def is_suspended(self) -> bool:
        """Whether a run leaves the table's rows alone because the user suspended it."""
        return self.status == RefreshStatus.SUSPENDED.value


def response_of(outcome: StatementOutcome | None) -> AdapterResponse:
    """The response to one statement; a plain one for a statement of Spark's own."""
    if outcome is None:
        return AdapterResponse(_message="OK")
    refresh = outcome.refresh
    response = MaterializedTableResponse(
        _message=_message(outcome),
        action=outcome.action.value if outcome.action else None,
        changes=list(outcome.changes),
        refresh_mode=outcome.refresh_mode,
        warnings=list(outcome.warnings),
        status=outcome.status,
    )
    return response if refresh is None else _with_refresh(response, refresh)


def validated(outcome: StatementOutcome) -> MaterializedTableResponse:
    """The response to a statement that was only checked."""
    return MaterializedTableResponse(
        _message="VALIDATED",
        changes=list(outcome.changes),
        refresh_mode=outcome.refresh_mode,
        warnings=list(outcome.warnings),
    )


def combine(
    main: MaterializedTableResponse, refresh: MaterializedTableResponse
) -> MaterializedTableResponse:
    """The response to a statement that changed a table and the refresh that followed it."""
    parts = [main._message, refresh._message]  # noqa: SLF001 - dbt's only name for the text
    if main.action == Action.UNCHANGED.value:
        parts = parts[1:]
    return MaterializedTableResponse(
        _message=", ".join(parts),
        rows_affected=refresh.rows_affected,
        action=main.action,
        changes=main.changes,
        refresh_mode=main.refresh_mode or refresh.refresh_mode,
        refresh=refresh.refresh,
        strategy=refresh.strategy,
        rows=refresh.rows,
        refresh_id=refresh.refresh_id,
        positions_from=refresh.positions_from,
        positions_to=refresh.positions_to,
        warnings=[*main.warnings, *refresh.warnings],
        status=main.status,
    )


def _with_refresh(
    response: MaterializedTableResponse, refresh: RefreshOutcome
) -> MaterializedTableResponse:
    response.rows_affected = refresh.rows
    response.refresh = refresh.status.value
    response.strategy = refresh.strategy
    response.rows = refresh.rows
    response.refresh_id = refresh.refresh_id
    response.positions_from = dict(refresh.positions_from)
    response.positions_to = dict(refresh.positions_to)
    response.warnings += [w for w in refresh.warnings if w not in response.warnings]
    return response


def _message(outcome: StatementOutcome) -> str:
    refresh, action = outcome.refresh, outcome.action
    if action is None:
        return _refresh_text(refresh) if refresh is not None else "OK"
    suspended = outcome.status == RefreshStatus.SUSPENDED.value
    if action is not Action.ALTERED:
        return str((Action.SUSPENDED if suspended else action).value)
    count = len(outcome.changes)
    text = f"ALTERED {count} change{'' if count == 1 else 's'}"
    if suspended:
        return f"{Action.SUSPENDED.value}, {text}"
    return text if refresh is None else f"{text}, {_refresh_text(refresh)}"


def _refresh_text(refresh: RefreshOutcome) -> str:
    if refresh.status is RefreshResult.UP_TO_DATE:
        return "UP TO DATE"
    return "REFRESHED" if refresh.rows is None else f"REFRESHED {refresh.rows} rows"
