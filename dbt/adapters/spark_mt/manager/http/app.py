"""HTTP application of a manager, and its OpenAPI document."""

from __future__ import annotations

import inspect
import re
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from pydantic import TypeAdapter
from starlette.exceptions import HTTPException
from starlette.requests import Request  # noqa: TC002 - FastAPI reads the annotations
from starlette.responses import Response

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.manager import views
from dbt.adapters.spark_mt.manager.http import metrics, pages, routes, schemas
from dbt.adapters.spark_mt.manager.http.errors import of_http, of_validation, problem_response
from dbt.adapters.spark_mt.manager.http.middleware import LARGEST_BODY, BodyLimit, Guard, RequestLog

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.manager.http.auth import Access
    from dbt.adapters.spark_mt.manager.views import ManagerService


TITLE = "Refresh manager of materialized tables"
VERSION = "3.0"
"""Of the interface, as in its paths; grows when it can do more."""
ABOUT = (
    "Lists, describes, refreshes, suspends and resumes materialized tables. Names in JSON are as "
    "in the command line's output; `refresh` has the names of Flink's interface. Times are "
    "milliseconds since the epoch, UTC."
)
_ARGUMENT = re.compile(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)
_REFERENCE = re.compile(r" \([^()]*\b(?:seed|semantics) \d[^()]*\)")

Document = dict[str, Any]


def document(app: FastAPI) -> Document:
    """Return the OpenAPI document of an application."""
    found = get_openapi(title=TITLE, version=VERSION, description=ABOUT, routes=app.routes)
    components = found.setdefault("components", {})
    known = components.setdefault("schemas", {})
    problem = TypeAdapter(schemas.ProblemAnswer).json_schema()
    known[schemas.ProblemAnswer.__name__] = problem
    for name, schema in known.items():
        _explain(schema, name)
    components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    found["security"] = [{"token": []}, {}]
    return found


def _explain(schema: Document, name: str) -> None:
    kind = getattr(schemas, name, None) or getattr(views, name, None)
    text = inspect.getdoc(kind) or ""
    schema["description"] = _without_references(text.partition("\n\n")[0])
    meanings = dict(_ARGUMENT.findall(text.partition("Args:\n")[2]))
    for field, described in schema.get("properties", {}).items():
        if field in meanings:
            described["description"] = _without_references(meanings[field])


def _without_references(text: str) -> str:
    return _REFERENCE.sub("", " ".join(text.split()))


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
        title=TITLE,
        version=VERSION,
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
    described = cache(partial(document, app))

    @app.get("/metrics", include_in_schema=False)
    def scrape(request: Request) -> Response:
        content, media_type = metrics.exposition(registry, request.headers.get("accept", ""))
        return Response(content, media_type=media_type)

    @app.get("/openapi.json", include_in_schema=False)
    def describe() -> Document:
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
