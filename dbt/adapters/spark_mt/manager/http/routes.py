"""REST routes and health.

Calls that read memory run in the common threads. Calls that read or change the catalog run in
threads of their own (`middleware.LongCalls`). Health runs on the event loop and never waits.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Path, Query
from starlette.responses import Response  # noqa: TC002 - FastAPI reads the annotations

from dbt.adapters.spark_mt.execution.errors import JobNotFoundError
from dbt.adapters.spark_mt.manager.http.middleware import LongCalls
from dbt.adapters.spark_mt.manager.http.refresh_schemas import (
    GatewayRefreshRequest,
    RefreshAnswer,
    RefreshTableRequest,
    gateway_request,
    refresh_request,
)
from dbt.adapters.spark_mt.manager.http.schemas import (
    EmptyRequest,
    ExecuteAnswer,
    ExecuteRequest,
    HealthAnswer,
    JobAnswer,
    JobList,
    PlanRequest,
    ResumeRequest,
    TableAnswer,
    TableFilter,
    TableList,
)
from dbt.adapters.spark_mt.manager.views import ChangeView, ManagerView, StatementRequest

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.manager.views import ManagerService, TableView


MOST_REFRESHES = 1_000
_PROBLEMS: dict[int | str, dict[str, object]] = {
    "default": {
        "description": "Refused or failed: a problem document.",
        "content": {
            "application/problem+json": {"schema": {"$ref": "#/components/schemas/ProblemAnswer"}}
        },
    }
}
Name = Annotated[
    str,
    Path(description="The table's name in one to three parts, in backticks where it needs them."),
]
JobId = Annotated[str, Path(alias="jobID", description="As a refresh or a history names it.")]
Limit = Annotated[int, Query(ge=1, le=MOST_REFRESHES, description="How many at most.")]
Filter = Annotated[TableFilter, Query()]


def router(service: ManagerService) -> APIRouter:
    """Return the REST interface of a manager."""
    reads, changes = LongCalls(), LongCalls()  # so that changes do not block reads
    routes = APIRouter(responses=_PROBLEMS)
    _add_tables(routes, service, reads)
    _add_statements(routes, service, reads)
    _add_changes(routes, service, changes)
    _add_manager(routes, service, reads)
    _add_health(routes, service)
    return routes


def _add_tables(routes: APIRouter, service: ManagerService, calls: LongCalls) -> None:
    tables = APIRouter(prefix="/v3/materialized-tables", tags=["tables"])

    @tables.get("", summary="List tables")
    def list_tables(wanted: Filter) -> TableList:
        """Every table that the manager knows, ordered by name; from memory."""
        return listed(service.tables(), wanted)

    @tables.get("/{name}", summary="Describe a table")
    async def describe_table(name: Name) -> TableAnswer:
        """Definition, columns, source positions and newest refreshes; reads the catalog."""
        return TableAnswer.of(await calls.run(lambda: service.table(name)))

    @tables.get("/{name}/refreshes", summary="List refreshes")
    async def list_refreshes(name: Name, limit: Limit = 100) -> JobList:
        """The newest refreshes of a table, the newest first, also running and failed ones."""
        history = await calls.run(lambda: service.history(name, limit))
        return JobList(tuple(map(JobAnswer.of, history)))

    routes.include_router(tables)


def _add_statements(routes: APIRouter, service: ManagerService, calls: LongCalls) -> None:
    tables = APIRouter(prefix="/v3/materialized-tables", tags=["tables"])

    @tables.post("/plan", summary="Plan a statement")
    async def plan_statement(body: PlanRequest) -> ChangeView:
        """Return what a CREATE or ALTER would do, or why it would be refused."""
        return await calls.run(lambda: service.plan(body.statement))

    routes.include_router(tables)


def _add_changes(routes: APIRouter, service: ManagerService, calls: LongCalls) -> None:
    tables = APIRouter(prefix="/v3/materialized-tables", tags=["tables"])

    @tables.post("/refresh", summary="Refresh a table")
    async def refresh_table(body: RefreshTableRequest) -> RefreshAnswer:
        """Begin a refresh; the answer comes at submission, and the job has the result."""
        request = refresh_request(body)
        return RefreshAnswer.of(await calls.run(lambda: service.refresh(request)))

    @tables.post("/{name}/refresh", summary="Refresh a table, as in Flink's SQL Gateway")
    async def refresh_as_gateway(
        name: Name, body: GatewayRefreshRequest | None = None
    ) -> RefreshAnswer:
        """The same with the keys of released Flink; a partition can be named."""
        request = gateway_request(name, body or GatewayRefreshRequest())
        return RefreshAnswer.of(await calls.run(lambda: service.refresh(request)))

    @tables.post("/execute", summary="Carry out a statement")
    async def execute_statement(body: ExecuteRequest) -> ExecuteAnswer:
        """Make, change or refresh a table in the manager's driver, where streams can run."""
        request = StatementRequest(
            body.statement,
            body.currentCatalog,
            body.currentSchema,
            tuple(sorted(body.owner.items())),
        )
        return ExecuteAnswer.of(await calls.run(lambda: service.execute(request)))

    @tables.post("/{name}/suspend", summary="Suspend a table")
    async def suspend_table(name: Name, _body: EmptyRequest | None = None) -> ChangeView:
        """Stop refreshing a table; it keeps its rows."""
        return await calls.run(lambda: service.suspend(name))

    @tables.post("/{name}/resume", summary="Resume a table")
    async def resume_table(name: Name, body: ResumeRequest | None = None) -> ChangeView:
        """Resume the refresh of a table; the answer comes when it has caught up."""
        options = tuple((body or ResumeRequest()).config.items())
        return await calls.run(lambda: service.resume(name, options))

    routes.include_router(tables)


def _add_manager(routes: APIRouter, service: ManagerService, calls: LongCalls) -> None:
    manager = APIRouter(prefix="/v3", tags=["manager"])

    @manager.get("/jobs/{jobID}", summary="Describe a refresh")
    async def describe_job(job_id: JobId) -> JobAnswer:
        """How far a refresh has come."""
        found = await calls.run(lambda: service.job(job_id))
        if found is None:
            raise JobNotFoundError(job_id=job_id, catalog=service.about().catalog)
        return JobAnswer.of(found)

    @manager.get("/manager", summary="Describe the manager")
    def describe_manager() -> ManagerView:
        """Versions, role, lease and what runs now; from memory."""
        return service.about()

    @manager.post("/manager/wake", summary="Look now", status_code=204)
    def wake_manager(_body: EmptyRequest | None = None) -> None:
        """Look at every table now instead of within a few seconds."""
        service.wake()

    routes.include_router(manager)


def _add_health(routes: APIRouter, service: ManagerService) -> None:
    unwell: dict[int | str, dict[str, object]] = {503: {"model": HealthAnswer}}
    health = APIRouter(tags=["health"], responses=unwell)

    @health.get("/livez", summary="Is it alive")
    async def livez(response: Response) -> HealthAnswer:
        """503 when the manager's loop does not tick: start it again. Needs no token."""
        found = service.health()
        return _with_status(HealthAnswer(found.is_alive, found.problems), response)

    @health.get("/readyz", summary="Is it ready")
    async def readyz(response: Response) -> HealthAnswer:
        """503 until every table was looked at once, or while something is wrong. Needs no token."""
        found = service.health()
        return _with_status(
            HealthAnswer(found.is_alive and found.is_ready, found.problems), response
        )

    routes.include_router(health)


def listed(views: tuple[TableView, ...], wanted: TableFilter) -> TableList:
    """Return one page of the tables that pass a filter."""
    found = [view for view in views if _passes(view, wanted)]
    rest = [view for view in found if view.name > wanted.after]
    page = rest if wanted.limit is None else rest[: wanted.limit]
    shown = tuple(
        view if len(view.recent) <= wanted.recent else _shortened(view, wanted.recent)
        for view in page
    )
    return TableList(shown, len(found), page[-1].name if len(page) < len(rest) else None)


def _passes(view: TableView, wanted: TableFilter) -> bool:
    """Whether a filter lets a table through; what it does not name does not matter."""
    return (
        wanted.contains.lower() in view.name.lower()
        and wanted.status in {None, view.status}
        and wanted.refresh_mode in {None, view.refresh_mode}
        and wanted.freshness_status in {None, view.freshness_status}
        and wanted.failing in {None, view.failures > 0}
    )


def _shortened(view: TableView, recent: int) -> TableView:
    return replace(view, recent=view.recent[len(view.recent) - recent :])


def _with_status(answer: HealthAnswer, response: Response) -> HealthAnswer:
    response.status_code = 200 if answer.ok else 503
    return answer
