"""Errors as problem documents (RFC 9457)."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING

from starlette.responses import JSONResponse

from dbt.adapters.spark_mt.definition.errors import InvalidValueError, MaterializedTableError
from dbt.adapters.spark_mt.execution import errors as execution
from dbt.adapters.spark_mt.execution.ports import CommitConflictError
from dbt.adapters.spark_mt.service.errors import NotPlannableError
from dbt.adapters.spark_mt.service.http import errors as http
from dbt.adapters.spark_mt.spark.schedule_time import InvalidScheduleTimeError
from dbt.adapters.spark_mt.statements.errors import StatementSyntaxError

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection

MEDIA_TYPE = "application/problem+json"
CATALOGUE = "docs/errors.md"
_REFERENCE = re.compile(r" \([^()]*\b(?:seed|semantics|message of|RFC)\b[^()]*\)")
_OTHERS = 422
"""The request is understood, and cannot be done."""

STATUSES: dict[type[MaterializedTableError], int] = {
    StatementSyntaxError: 400,
    InvalidValueError: 400,
    http.InvalidRequestError: 400,
    http.ScheduleTimeMissingError: 400,
    InvalidScheduleTimeError: 400,
    NotPlannableError: 400,
    http.UnauthenticatedError: 401,
    http.ForeignRequestError: 403,
    execution.TableNotFoundError: 404,
    execution.JobNotFoundError: 404,
    execution.NotMaterializedError: 404,
    http.NoSuchRouteError: 404,
    http.WrongMethodError: 405,
    execution.AlreadySuspendedError: 409,
    execution.AlreadyResumedError: 409,
    execution.SuspendedError: 409,
    execution.TableInitializingError: 409,
    CommitConflictError: 409,
    http.RequestTooLargeError: 413,
    http.UnsupportedMediaTypeError: 415,
    http.UnknownHostError: 421,
    execution.RefreshFailedError: 500,
    execution.ChangeFailedError: 500,
    execution.DamagedTableError: 500,
    http.InternalError: 500,
    http.ManagerBusyError: 503,
    http.ManagerStoppingError: 503,
}
"""The HTTP status of each class of errors and its subclasses."""


def status_of(kind: type[MaterializedTableError]) -> int:
    """Return the HTTP status that stands for a class of errors."""
    return next((STATUSES[k] for k in kind.__mro__ if k in STATUSES), _OTHERS)


def problem_document(error: MaterializedTableError, request_id: str) -> dict[str, object]:
    """Return an error as a problem document.

    `type` is the condition's place in the catalogue of errors; `condition`, `parameters`,
    `violations` and `remedy` are extensions, the same as in every other surface.
    """
    kind = type(error)
    return {
        "type": f"{CATALOGUE}#{error.condition.lower()}",
        "title": title_of(kind),
        "status": status_of(kind),
        "detail": kind.text.format_map(error.parameters),
        "instance": f"urn:uuid:{request_id}",
        "condition": error.condition,
        "parameters": error.parameters,
        "violations": list(error.violations),
        "remedy": kind.remedy.format_map(error.parameters),
    }


def problem_response(error: MaterializedTableError, request: HTTPConnection) -> JSONResponse:
    """Answer a request with an error."""
    document = problem_document(error, request.scope.get("state", {}).get("request_id", ""))
    status = status_of(type(error))
    headers = {}
    if status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="spark-mt"'
    if status == 503:
        headers["Retry-After"] = "5"
    if isinstance(error, http.WrongMethodError):
        headers["Allow"] = error.parameters["allowed"]
    return JSONResponse(document, status, headers, MEDIA_TYPE)


def title_of(kind: type[MaterializedTableError]) -> str:
    """The first sentence of what docs/errors.md says about the condition."""
    text = " ".join((inspect.getdoc(kind) or "").partition("\n\n")[0].split())
    return _REFERENCE.sub("", text).rstrip(".") or kind.condition
