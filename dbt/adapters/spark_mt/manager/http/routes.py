"""REST routes, health, and the JSON bodies that ask for a refresh.

Calls that read memory run in the common threads. Calls that read or change the catalog run in
threads of their own (`LongCalls`). Health runs on the event loop and never waits.

FLIP-435 drafts a refresh with the table in the body. Released Flink (2.0 and later) has the table
in the path, other keys, and a session before it.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from threading import BoundedSemaphore, Thread
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from fastapi import APIRouter, Path, Query
from pydantic import Field, StrictBool, StrictStr, model_validator
from pydantic_core import PydanticCustomError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request  # noqa: TC002 - FastAPI reads the annotations
from starlette.responses import Response  # noqa: TC002 - FastAPI reads the annotations
from typing_extensions import Self

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.manager import views
from dbt.adapters.spark_mt.manager.http import errors as http_errors
from dbt.adapters.spark_mt.manager.http import schemas

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbt.adapters.spark_mt.manager.views import ManagerService, RefreshSubmitted, TableView


_LOGGER = logging.getLogger(__name__)
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
RequestId = Annotated[str, Path(alias="requestID", description="As the request was named.")]
SessionId = Annotated[str, Path(alias="sessionID", description="The client's session_id.")]
Schema = Annotated[str, Path(description="The schema's name.")]
Catalog = Annotated[str, Query(description="The schema's catalog; empty for the manager's.")]
Limit = Annotated[int, Query(ge=1, le=MOST_REFRESHES, description="How many at most.")]
Filter = Annotated[schemas.TableFilter, Query()]


T = TypeVar("T")
MOST_CALLS = 16
WATCH_S = 1.0
"""How often it is checked whether the client of a statement is still there."""
# FastAPI 0.115 reads the text `None` of an annotation as a type (fastapi/fastapi#9424), and refuses
# a body with 204.
_NO_CONTENT: dict[str, Any] = {"status_code": 204, "response_model": None}


_DIFFER = "isPeriodic and periodic differ"


class LongCalls:
    """Runs what may take seconds or minutes, each call in a thread of its own.

    Health and lists never wait for a call. A call beyond the limit is refused at once. The threads
    do not keep the process alive when it shall end; those of anyio's CapacityLimiter would.
    """

    def __init__(self) -> None:
        self._free = BoundedSemaphore(MOST_CALLS)

    async def run(self, call: Callable[[], T]) -> T:
        """Run a call in a thread, and wait for it without blocking other requests.

        Raises:
            MaterializedTableError: Too many run already; nothing was called.
        """
        if not self._free.acquire(blocking=False):
            raise conditions.MANAGER_BUSY(limit=MOST_CALLS)
        done: Future[T] = Future()
        work = partial(contextvars.copy_context().run, self._work, call, done)
        Thread(target=work, name="http-call", daemon=True).start()
        return await asyncio.wrap_future(done)

    def _work(self, call: Callable[[], T], done: Future[T]) -> None:
        try:
            notify = partial(done.set_result, call())
        except BaseException as error:  # noqa: BLE001 - whoever waits for it gets it
            notify = partial(done.set_exception, http_errors.of_call(error))
        self._free.release()
        if done.set_running_or_notify_cancel():
            notify()


class RefreshTableRequest(schemas.RequestBody):
    """A refresh, as FLIP-435 describes the request of a workflow scheduler."""

    materializedTable: StrictStr = Field(  # noqa: N815 - the paper's name
        min_length=1,
        description="The table's name in one to three parts, in backticks where it needs them.",
        examples=["flights.daily_report"],
    )
    isPeriodic: StrictBool = Field(  # noqa: N815 - the paper's name
        default=False,
        description="Whether a schedule asks: of a table with date formatters only the partitions "
        "of the scheduled time are written. Otherwise the whole table is computed.",
    )
    scheduleTime: StrictStr | None = Field(  # noqa: N815 - the paper's name
        default=None,
        description="The scheduled time in the table's time zone; needed if isPeriodic.",
        examples=["2026-11-21 00:00:00"],
    )
    scheduleTimeFormat: StrictStr | None = Field(  # noqa: N815 - the paper's name
        default=None,
        description="Spark's datetime pattern of scheduleTime; yyyy-MM-dd HH:mm:ss if left out.",
    )
    config: dict[StrictStr, StrictStr] = Field(
        default_factory=dict, description="Run options, which hold for this refresh only."
    )


class GatewayRefreshRequest(schemas.RequestBody):
    """A refresh, as workflow schedulers ask Flink's SQL Gateway for it (Flink 2.0 and later)."""

    isPeriodic: StrictBool = Field(  # noqa: N815 - Flink's name
        default=False,
        description="Whether a schedule asks: of a table with date formatters only the partitions "
        "of the scheduled time are written.",
    )
    periodic: StrictBool | None = Field(
        default=None,
        description="The same as isPeriodic: Flink's own client sends the value under both names.",
    )
    scheduleTime: StrictStr | None = Field(  # noqa: N815 - Flink's name
        default=None,
        description="The scheduled time in the table's time zone, as yyyy-MM-dd HH:mm:ss; needed "
        "if isPeriodic.",
        examples=["2026-11-21 00:00:00"],
    )
    staticPartitions: dict[StrictStr, StrictStr] | None = Field(  # noqa: N815 - Flink's name
        default=None,
        description="The value of each partition column to refresh; the whole table without it. "
        "As in Flink, it does not count if isPeriodic.",
        examples=[{"ds": "2026-11-21"}],
    )
    dynamicOptions: dict[StrictStr, StrictStr] | None = Field(  # noqa: N815 - Flink's name
        default=None, description="Run options, which hold for this refresh only."
    )
    executionConfig: dict[StrictStr, StrictStr] | None = Field(  # noqa: N815 - Flink's name
        default=None, description="Run options, too: SQL confs of Spark."
    )

    @model_validator(mode="after")
    def _is_periodic_or_not(self) -> Self:
        if self.periodic not in {None, self.isPeriodic}:
            raise PydanticCustomError(_DIFFER, _DIFFER)
        return self


@dataclass(frozen=True, slots=True)
class RefreshAnswer:
    """A refresh that was accepted, with the names of FLIP-435.

    Args:
        jobID: Works in `GET /v3/jobs/{jobID}` and in DESC JOB.
        clusterInfo: Where it runs, by label.
    """

    jobID: str  # noqa: N815 - the paper's name
    clusterInfo: dict[str, str]  # noqa: N815 - the paper's name

    @classmethod
    def of(cls, submitted: RefreshSubmitted) -> RefreshAnswer:
        """Say it in the paper's words."""
        return cls(submitted.job_id, dict(submitted.cluster))


def router(service: ManagerService) -> APIRouter:
    """Return the REST interface of a manager."""
    reads, changes, statements = LongCalls(), LongCalls(), LongCalls()  # none blocks the others
    routes = APIRouter(responses=_PROBLEMS)
    _add_tables(routes, service, reads)
    _add_changes(routes, service, changes)
    _add_statements(routes, service, statements)
    _add_manager(routes, service, reads)
    _add_health(routes, service)
    return routes


def _add_tables(routes: APIRouter, service: ManagerService, calls: LongCalls) -> None:
    tables = APIRouter(prefix="/v3/materialized-tables", tags=["tables"])

    @tables.get("", summary="List tables")
    def list_tables(wanted: Filter) -> schemas.TableList:
        """Every table that the manager knows, ordered by name; from memory."""
        return _listed(service.tables(), wanted)

    @tables.get("/{name}", summary="Describe a table")
    async def describe_table(name: Name) -> schemas.TableAnswer:
        """Definition, columns, source positions and newest refreshes; reads the catalog."""
        return schemas.TableAnswer.of(await calls.run(lambda: service.table(name)))

    @tables.get("/{name}/refreshes", summary="List refreshes")
    async def list_refreshes(name: Name, limit: Limit = 100) -> schemas.JobList:
        """The newest refreshes of a table, the newest first, also running and failed ones."""
        history = await calls.run(lambda: service.history(name, limit))
        return schemas.JobList(tuple(map(schemas.JobAnswer.of, history)))

    @tables.post("/plan", summary="Plan a statement")
    async def plan_statement(body: schemas.PlanRequest) -> views.ChangeView:
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

    @tables.post("/{name}/suspend", summary="Suspend a table")
    async def suspend_table(
        name: Name, _body: schemas.EmptyRequest | None = None
    ) -> views.ChangeView:
        """Stop refreshing a table; it keeps its rows."""
        return await calls.run(lambda: service.suspend(name))

    @tables.post("/{name}/resume", summary="Resume a table")
    async def resume_table(
        name: Name, body: schemas.ResumeRequest | None = None
    ) -> views.ChangeView:
        """Resume the refresh of a table; the answer comes when it has caught up."""
        options = tuple((body or schemas.ResumeRequest()).config.items())
        return await calls.run(lambda: service.resume(name, options))

    routes.include_router(tables)


def _add_statements(routes: APIRouter, service: ManagerService, calls: LongCalls) -> None:
    statements = APIRouter(prefix="/v3", tags=["tables"])

    @statements.post("/materialized-tables/execute", summary="Carry out a statement")
    async def execute_statement(
        body: schemas.ExecuteRequest, http: Request
    ) -> schemas.ExecuteAnswer:
        """Make, change or refresh a table in the manager's driver, where streams can run."""
        request = body.request()
        work = asyncio.ensure_future(calls.run(lambda: service.execute(request)))
        try:
            while not (await asyncio.wait({work}, timeout=WATCH_S))[0]:
                if await http.is_disconnected():  # a client that was killed asks for nothing more
                    await run_in_threadpool(_interrupt, service, request.request_id)
            return schemas.ExecuteAnswer.of(await work)
        finally:
            work.cancel()

    @statements.post("/statements/{requestID}/interrupt", summary="Interrupt", **_NO_CONTENT)
    async def interrupt_statement(
        request_id: RequestId, _body: schemas.EmptyRequest | None = None
    ) -> None:
        """Interrupt what a statement runs at this moment; one that is over is left alone."""
        await run_in_threadpool(service.interrupt, request_id)

    routes.include_router(statements)


def _interrupt(service: ManagerService, request_id: str) -> None:
    """Interrupt a statement; where that fails, the next attempt comes in a second."""
    try:
        service.interrupt(request_id)
    except Exception:
        _LOGGER.warning("a statement could not be interrupted", exc_info=True)


def _add_manager(routes: APIRouter, service: ManagerService, calls: LongCalls) -> None:
    manager = APIRouter(prefix="/v3", tags=["manager"])

    @manager.get("/jobs/{jobID}", summary="Describe a refresh")
    async def describe_job(job_id: JobId) -> schemas.JobAnswer:
        """How far a refresh has come."""
        found = await calls.run(lambda: service.job(job_id))
        if found is None:
            raise conditions.JOB_NOT_FOUND(job_id=job_id, catalog=service.about().catalog)
        return schemas.JobAnswer.of(found)

    @manager.get("/schemas/{schema}/materialized-tables", summary="Name tables")
    async def name_tables(schema: Schema, catalog: Catalog = "") -> schemas.NameList:
        """The names of a schema's tables as the registry has them now."""
        return schemas.NameList(await calls.run(lambda: service.names(schema, catalog)))

    @manager.get("/manager", summary="Describe the manager")
    def describe_manager() -> views.ManagerView:
        """Versions, role, lease and what runs now; from memory."""
        return service.about()

    @manager.post("/manager/wake", summary="Check now", **_NO_CONTENT)
    def wake_manager(_body: schemas.EmptyRequest | None = None) -> None:
        """Check every table now instead of within a few seconds."""
        service.wake()

    @manager.post("/sessions/{sessionID}/columns", summary="Name the columns of a query")
    async def query_columns(session: SessionId, body: schemas.QueryRequest) -> schemas.ColumnList:
        """The columns that a query has in a session of the manager's Spark Connect server."""
        return schemas.ColumnList(await calls.run(lambda: service.columns(body.query, session)))

    routes.include_router(manager)


def _add_health(routes: APIRouter, service: ManagerService) -> None:
    unwell: dict[int | str, dict[str, object]] = {503: {"model": schemas.HealthAnswer}}
    health = APIRouter(tags=["health"], responses=unwell)

    @health.get("/livez", summary="Is it alive")
    async def livez(response: Response) -> schemas.HealthAnswer:
        """503 when the manager's loop does not tick: start it again. Needs no token."""
        found = service.health()
        return _with_status(schemas.HealthAnswer(found.is_alive, found.problems), response)

    @health.get("/readyz", summary="Is it ready")
    async def readyz(response: Response) -> schemas.HealthAnswer:
        """503 until it has read the registry, or while something is wrong. Needs no token.

        The problems also name the tables of which a verification found wrong rows. These alone
        are no 503.
        """
        found = service.health()
        is_ready = found.is_alive and found.is_ready
        problems = (*found.problems, *found.findings)
        return _with_status(schemas.HealthAnswer(is_ready, problems), response)

    routes.include_router(health)


def _listed(tables: tuple[TableView, ...], wanted: schemas.TableFilter) -> schemas.TableList:
    found = [view for view in tables if _passes(view, wanted)]
    rest = [view for view in found if view.name > wanted.after]
    page = rest if wanted.limit is None else rest[: wanted.limit]
    shown = tuple(
        view
        if len(view.recent) <= wanted.recent
        else replace(view, recent=view.recent[len(view.recent) - wanted.recent :])
        for view in page
    )
    return schemas.TableList(shown, len(found), page[-1].name if len(page) < len(rest) else None)


def _passes(view: TableView, wanted: schemas.TableFilter) -> bool:
    """Whether a filter lets a table through; what it does not name does not matter."""
    return (
        wanted.contains.lower() in view.name.lower()
        and wanted.status in {None, view.status}
        and wanted.refresh_mode in {None, view.refresh_mode}
        and wanted.freshness_status in {None, view.freshness_status}
        and wanted.failing in {None, view.failures > 0}
    )


def _with_status(answer: schemas.HealthAnswer, response: Response) -> schemas.HealthAnswer:
    response.status_code = 200 if answer.ok else 503
    return answer


def refresh_request(body: RefreshTableRequest) -> views.RefreshRequest:
    """Check what can be checked without the table.

    Raises:
        MaterializedTableError: A periodic refresh without its time (FLIP-435).
    """
    request = views.RefreshRequest(
        body.materializedTable,
        is_periodic=body.isPeriodic,
        schedule_time=_time(body, body.materializedTable),
        run_options=tuple(body.config.items()),
    )
    pattern = (body.scheduleTimeFormat or "").strip()
    return replace(request, schedule_time_format=pattern) if pattern else request


def gateway_request(name: str, body: GatewayRefreshRequest) -> views.RefreshRequest:
    """Check what can be checked without the table; as in Flink, a schedule names no partition.

    Raises:
        MaterializedTableError: A periodic refresh without its time.
    """
    options = (*(body.dynamicOptions or {}).items(), *(body.executionConfig or {}).items())
    partition = {} if body.isPeriodic else body.staticPartitions or {}
    return views.RefreshRequest(
        name,
        is_periodic=body.isPeriodic,
        schedule_time=_time(body, name),
        run_options=options,
        partition=tuple(partition.items()),
    )


def _time(body: RefreshTableRequest | GatewayRefreshRequest, table: str) -> str | None:
    time = (body.scheduleTime or "").strip() or None
    if body.isPeriodic and time is None:
        raise conditions.SCHEDULE_TIME_MISSING(table=table)
    return time
