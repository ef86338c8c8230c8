"""HTTP errors as problem documents (RFC 9457)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from starlette.responses import JSONResponse

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import (
    AlreadyResumedError,
    AlreadySuspendedError,
    CommitConflictError,
    Condition,
    ExecutorLostError,
    InvalidValueError,
    MaterializedTableError,
    NotMaterializedError,
    NotPlannableError,
    OutageError,
    RefreshFailedError,
    StatementSyntaxError,
    SuspendedError,
    TableNotFoundError,
    did_you_mean,
)
from dbt.adapters.spark_mt.execution import errors
from dbt.adapters.spark_mt.manager.http.schemas import RequestBody
from dbt.adapters.spark_mt.spark.session.errors import failure_of, is_refusal, is_spark_error

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastapi.exceptions import RequestValidationError
    from starlette.exceptions import HTTPException
    from starlette.requests import HTTPConnection, Request


MOST_NAMED = 50
"""How many violations of a request are named."""
MEDIA_TYPE = "application/problem+json"
CATALOGUE = "docs/errors.md"
_REFERENCE = re.compile(r" \([^()]*\b(?:seed|semantics|message of|RFC)\b[^()]*\)")
_OTHERS = 422
"""The request is understood, and cannot be done."""

STATUSES: dict[type[MaterializedTableError] | Condition[Any], int] = {
    StatementSyntaxError: 400,
    InvalidValueError: 400,
    conditions.INVALID_REQUEST: 400,
    conditions.SCHEDULE_TIME_MISSING: 400,
    conditions.INVALID_SCHEDULE_TIME: 400,
    NotPlannableError: 400,
    conditions.UNAUTHENTICATED: 401,
    conditions.WRONG_TOKEN: 401,
    conditions.CROSS_SITE_REQUEST: 403,
    TableNotFoundError: 404,
    conditions.JOB_NOT_FOUND: 404,
    NotMaterializedError: 404,
    conditions.UNKNOWN_NAME: 404,
    conditions.NO_SUCH_ROUTE: 404,
    conditions.METHOD_NOT_ALLOWED: 405,
    AlreadySuspendedError: 409,
    AlreadyResumedError: 409,
    SuspendedError: 409,
    conditions.INITIALIZING: 409,
    CommitConflictError: 409,
    conditions.REQUEST_IN_PROGRESS: 409,
    conditions.REQUEST_TIMEOUT: 408,
    conditions.REQUEST_TOO_LARGE: 413,
    conditions.UNSUPPORTED_MEDIA_TYPE: 415,
    conditions.UNKNOWN_HOST: 421,
    conditions.TOO_MANY_TRIES: 429,
    conditions.UNEXPECTED_ERROR: 500,
    RefreshFailedError: 500,
    ExecutorLostError: 500,
    OutageError: 500,
    conditions.CHANGE_FAILED: 500,
    conditions.CHANGED_OUTSIDE: 500,
    conditions.INTERNAL_ERROR: 500,
    conditions.MANAGER_BUSY: 503,
    conditions.REFRESH_NOT_ACCEPTED: 503,
    conditions.MANAGER_STOPPING: 503,
}
"""The HTTP status of a condition, or of a class of errors and its subclasses."""


_PLACES = {"query": "The parameter", "path": "The part", "body": "The key"}


def status_of(error: MaterializedTableError) -> int:
    """Return the HTTP status that stands for an error."""
    by_class = (STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)
    return STATUSES.get(error.kind) or next(by_class, _OTHERS)


def problem_document(error: MaterializedTableError, request_id: str) -> dict[str, object]:
    """Return an error as a problem document.

    `type` is the condition's place in the catalogue of errors; `condition`, `parameters`,
    `violations` and `remedy` are extensions, the same as in every other surface.
    """
    kind = error.kind
    return {
        "type": f"{CATALOGUE}#{error.condition.lower()}",
        "title": title_of(kind),
        "status": status_of(error),
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
    status = status_of(error)
    headers = {}
    if status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="spark-mt"'
    if status in {429, 503}:
        headers["Retry-After"] = error.parameters.get("seconds", "5")
    if error.kind is conditions.METHOD_NOT_ALLOWED:
        headers["Allow"] = error.parameters["allowed"]
    return JSONResponse(document, status, headers, MEDIA_TYPE)


def title_of(kind: Condition[Any]) -> str:
    """The first sentence of what docs/errors.md says about the condition."""
    text = " ".join(kind.about.partition("\n\n")[0].split())
    return _REFERENCE.sub("", text).rstrip(".")


def of_validation(error: RequestValidationError, request: Request) -> MaterializedTableError:
    """Name everything that is wrong with a body or a query."""
    known = _known_keys(request.scope.get("endpoint"))
    found = error.errors()
    named = [_violation(each, known) for each in found[:MOST_NAMED]]
    rest = len(found) - len(named)
    return conditions.INVALID_REQUEST(
        violations=[*named, f"There are {rest} more."] if rest else named
    )


def of_http(error: HTTPException, request: Request) -> MaterializedTableError:
    """Say what Starlette says by a status."""
    path = request.url.path
    if error.status_code == 404:
        return conditions.NO_SUCH_ROUTE(path=path)
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "")
        return conditions.METHOD_NOT_ALLOWED(path=path, method=request.method, allowed=allowed)
    if error.status_code < 500:
        return conditions.INVALID_REQUEST(violations=[str(error.detail)])
    return conditions.INTERNAL_ERROR()


def of_call(error: BaseException) -> BaseException:
    """Return the error of a call of the service; what Spark refuses is an error of the request."""
    if not is_spark_error(error):
        return error
    failure = failure_of(error)
    if failure.is_missing_table:
        return conditions.UNKNOWN_NAME(problem=errors.problem_of(error))
    return (
        conditions.REQUEST_REFUSED(problem=errors.problem_of(error)) if is_refusal(error) else error
    )


def _violation(found: Mapping[str, Any], known: list[str]) -> str:
    place, *keys = (str(part) for part in found["loc"])
    if found["type"] == "json_invalid":
        problem = found.get("ctx", {}).get("error", "it cannot be read")
        return f"The body is no JSON, at character {keys[0] if keys else 0}: {problem}."
    if not keys:
        return (
            "The body is missing." if found["type"] == "missing" else f"The {place}: {_why(found)}."
        )
    name = f"{_PLACES.get(place, place)} '{'.'.join(keys)}'"
    if found["type"] == "extra_forbidden":
        there_are = f" There are {', '.join(known)}." if known else ""
        return f"{name} is not known.{did_you_mean(keys[-1], known) or there_are}"
    return f"{name} is missing." if found["type"] == "missing" else f"{name}: {_why(found)}."


def _why(found: Mapping[str, Any]) -> str:
    text = str(found["msg"]).rstrip(".")
    return text[:1].lower() + text[1:]


def _known_keys(endpoint: object) -> list[str]:
    hints = get_type_hints(endpoint) if callable(endpoint) else {}
    kinds = [kind for hint in hints.values() for kind in (hint, *get_args(hint))]
    models = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, RequestBody)]
    return [key for model in models for key in model.model_fields]
