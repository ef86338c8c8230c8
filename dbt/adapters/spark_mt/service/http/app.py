"""The HTTP application of a manager: everything that it answers, behind the guard."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request  # noqa: TC002 - FastAPI reads the annotations
from starlette.responses import Response

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.service.http import metrics, openapi, pages, routes
from dbt.adapters.spark_mt.service.http.guard import Guard
from dbt.adapters.spark_mt.service.http.limits import LARGEST_BODY, BodyLimit
from dbt.adapters.spark_mt.service.http.problems import problem_response
from dbt.adapters.spark_mt.service.http.request_errors import of_http, of_validation
from dbt.adapters.spark_mt.service.http.request_log import RequestLog

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.service.http.access import Access
    from dbt.adapters.spark_mt.service.port import ManagerService


def create_app(
    service: ManagerService, access: Access, *, largest_body: int = LARGEST_BODY
) -> FastAPI:
    """Return the application.

    Args:
        service: The manager.
        access: Who may see and do what.
        largest_body: Bytes of a request's body.
    """
    app = FastAPI(
        title=openapi.TITLE,
        version=openapi.VERSION,
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
    )
    _add_errors(app)
    # The last one that is added sees a request first.
    app.add_middleware(BodyLimit, limit=largest_body)
    app.add_middleware(Guard, access=access)
    app.add_middleware(RequestLog, access=access)
    app.include_router(routes.router(service))
    _add_documents(app, service)
    app.include_router(pages.router(service, access), include_in_schema=False)
    return app


def _add_documents(app: FastAPI, service: ManagerService) -> None:
    registry = metrics.registry(service)
    described = cache(partial(openapi.document, app))

    @app.get("/metrics", include_in_schema=False)
    def scrape(request: Request) -> Response:
        content, media_type = metrics.exposition(registry, request.headers.get("accept", ""))
        return Response(content, media_type=media_type)

    @app.get("/openapi.json", include_in_schema=False)
    def describe() -> openapi.Document:
        return described()


def _add_errors(app: FastAPI) -> None:
    async def ours(request: Request, error: Exception) -> Response:
        assert isinstance(error, MaterializedTableError)  # noqa: S101 - as registered below
        return problem_response(error, request)

    async def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)  # noqa: S101 - as registered below
        return problem_response(of_validation(error, request), request)

    async def starlettes(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # noqa: S101 - as registered below
        return problem_response(of_http(error, request), request)

    app.add_exception_handler(MaterializedTableError, ours)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, starlettes)
