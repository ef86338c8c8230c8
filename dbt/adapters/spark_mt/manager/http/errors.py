"""HTTP errors as problem documents (RFC 9457)."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from starlette.responses import JSONResponse

from dbt.adapters.spark_mt.definition.errors import (
    InvalidValueError,
    MaterializedTableError,
    did_you_mean,
)
from dbt.adapters.spark_mt.execution import errors
from dbt.adapters.spark_mt.execution.ports import CommitConflictError
from dbt.adapters.spark_mt.manager import views
from dbt.adapters.spark_mt.manager.http.schemas import RequestBody
from dbt.adapters.spark_mt.manager.runs import RefreshNotAcceptedError
from dbt.adapters.spark_mt.spark.session.errors import failure_of, is_refusal, is_spark_error
from dbt.adapters.spark_mt.spark.session.types import InvalidScheduleTimeError
from dbt.adapters.spark_mt.statements.errors import StatementSyntaxError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastapi.exceptions import RequestValidationError
    from starlette.exceptions import HTTPException
    from starlette.requests import HTTPConnection, Request


class TokenRequiredError(MaterializedTableError):
    """The manager shall be reached from other machines, and has no token."""

    condition = "MATERIALIZED_TABLE_TOKEN_REQUIRED"
    text = "The manager does not listen at {host} without a token: {reason}."
    remedy = (
        "Give it a token of {length} characters or more in a file (--token-file) or in "
        "SPARK_MT_TOKEN, or let it listen at 127.0.0.1, where only this machine reaches it."
    )


class WeakTokenError(MaterializedTableError):
    """A token that is easily guessed, or cannot be sent in a header."""

    condition = "MATERIALIZED_TABLE_WEAK_TOKEN"
    text = "The token of the manager cannot be used: {reason}."
    remedy = (
        "Use {length} or more letters, digits and signs without blanks, such as the output of "
        "`openssl rand -hex 32`; nothing else depends on the token."
    )


class AddressTakenError(MaterializedTableError):
    """The manager cannot listen where it should."""

    condition = "MATERIALIZED_TABLE_ADDRESS_TAKEN"
    text = "The manager cannot listen at {host}, port {port}: {problem}."
    remedy = "Stop what listens there, or choose another port or address; port 0 takes a free one."


class ServerNotStartedError(MaterializedTableError):
    """The HTTP server did not come up."""

    condition = "MATERIALIZED_TABLE_HTTP_SERVER_NOT_STARTED"
    text = "The HTTP server at {host}, port {port} did not start: {problem}."
    remedy = "The manager's log has the details. No table was touched; start the manager again."


class UnauthenticatedError(MaterializedTableError):
    """A request carries no token or session that is valid, and needs one."""

    condition = "MATERIALIZED_TABLE_UNAUTHENTICATED"
    text = "This request needs the manager's token."
    remedy = (
        "Send it in the header `Authorization: Bearer`, or sign in on the status page. On the "
        "manager's machine `spark-mt token` prints it."
    )


class WrongTokenError(UnauthenticatedError):
    """The token that was typed into the page is not the manager's."""

    condition = "MATERIALIZED_TABLE_WRONG_TOKEN"
    text = "That is not the manager's token."
    remedy = "On the manager's machine `spark-mt token` prints it."


class CrossSiteRequestError(MaterializedTableError):
    """A browser asks for a change, and nothing shows that the manager's own page began it."""

    condition = "MATERIALIZED_TABLE_CROSS_SITE_REQUEST"
    text = "The manager takes no changes from this page: {reason}."
    remedy = (
        "Use the buttons of the status page after signing in, or send the manager's token in the "
        "header `Authorization: Bearer`. Nothing was done."
    )


class UnknownHostError(MaterializedTableError):
    """The manager was addressed by a name that is not its own, as by a page that rebinds DNS."""

    condition = "MATERIALIZED_TABLE_UNKNOWN_HOST"
    text = "The manager is not known under the name that the request has in its Host header."
    remedy = (
        "Address it as 127.0.0.1 or localhost, or start it with the names under which it shall "
        "answer and with a token. Nothing was done."
    )


class InvalidRequestError(MaterializedTableError):
    """The body or the query of a request is not what the route takes."""

    condition = "MATERIALIZED_TABLE_INVALID_REQUEST"
    text = "The request is not valid; nothing was done."
    remedy = "Correct it as /openapi.json says, and send it again."


class UnsupportedMediaTypeError(MaterializedTableError):
    """A request that changes something is not sent as JSON."""

    condition = "MATERIALIZED_TABLE_UNSUPPORTED_MEDIA_TYPE"
    text = "The request is of the media type '{found}', not application/json; nothing was done."
    remedy = "Send the header `Content-Type: application/json`, without a body too."


class RequestTimeoutError(MaterializedTableError):
    """The body of a request did not come in time."""

    condition = "MATERIALIZED_TABLE_REQUEST_TIMEOUT"
    text = "The body of the request did not come within {seconds} seconds; nothing was done."
    remedy = "Send the request again, with all of its body at once."


class TooManyTriesError(MaterializedTableError):
    """Too many wrong tokens came from an address."""

    condition = "MATERIALIZED_TABLE_TOO_MANY_TRIES"
    text = "There were too many tries with wrong tokens from this address; this one is wrong, too."
    remedy = (
        "Try again after {seconds} seconds, or with the right token, which is taken at any time. "
        "On the manager's machine `spark-mt token` prints it."
    )


class RequestTooLargeError(MaterializedTableError):
    """The body of a request is longer than any that makes sense."""

    condition = "MATERIALIZED_TABLE_REQUEST_TOO_LARGE"
    text = "The body of the request is longer than {limit} bytes; nothing was done."
    remedy = "Send less, or run the statement with `spark-mt sql`."


class NoSuchRouteError(MaterializedTableError):
    """There is nothing at this path."""

    condition = "MATERIALIZED_TABLE_NO_SUCH_ROUTE"
    text = "There is nothing at {path}."
    remedy = "/openapi.json lists what there is."


class WrongMethodError(MaterializedTableError):
    """There is something at this path, but not for this method."""

    condition = "MATERIALIZED_TABLE_METHOD_NOT_ALLOWED"
    text = "{path} does not take {method}; nothing was done."
    remedy = "It takes {allowed}; /openapi.json has what for."


class ManagerBusyError(MaterializedTableError):
    """So many requests are being carried out that another one would only wait."""

    condition = "MATERIALIZED_TABLE_MANAGER_BUSY"
    text = "The manager is carrying out {limit} requests already; nothing was done."
    remedy = "Send the request again in a few seconds."


class ManagerStoppingError(MaterializedTableError):
    """The manager stops, and does not wait any longer for what a request began."""

    condition = "MATERIALIZED_TABLE_MANAGER_STOPPING"
    text = "The manager stops; whether the request is carried out is not known."
    remedy = (
        "Ask again when it runs: SHOW JOBS and the page of the table show what was done. Repeating "
        "a request does no harm."
    )


class InternalError(MaterializedTableError):
    """The manager failed at a request in a way that it does not know."""

    condition = "MATERIALIZED_TABLE_INTERNAL_ERROR"
    text = "The manager failed at this request; whether anything was done is not known."
    remedy = (
        "Its log has the details under the request's id; SHOW JOBS and the page of the table show "
        "what was done. Repeating a request does no harm."
    )


class ScheduleTimeMissingError(MaterializedTableError):
    """A periodic refresh does not say for when (message of Flink)."""

    condition = "MATERIALIZED_TABLE_SCHEDULE_TIME_MISSING"
    text = (
        "The scheduler time must not be null during the periodic refresh of the materialized "
        "table {table}."
    )
    remedy = (
        "Send scheduleTime, in the format of scheduleTimeFormat and the table's time zone; or send "
        "isPeriodic = false, which computes the whole table."
    )


MOST_NAMED = 50
"""How many violations of a request are named."""
MEDIA_TYPE = "application/problem+json"
CATALOGUE = "docs/errors.md"
_REFERENCE = re.compile(r" \([^()]*\b(?:seed|semantics|message of|RFC)\b[^()]*\)")
_OTHERS = 422
"""The request is understood, and cannot be done."""

STATUSES: dict[type[MaterializedTableError], int] = {
    StatementSyntaxError: 400,
    InvalidValueError: 400,
    InvalidRequestError: 400,
    ScheduleTimeMissingError: 400,
    InvalidScheduleTimeError: 400,
    errors.NotPlannableError: 400,
    UnauthenticatedError: 401,
    CrossSiteRequestError: 403,
    errors.TableNotFoundError: 404,
    errors.JobNotFoundError: 404,
    errors.NotMaterializedError: 404,
    views.UnknownNameError: 404,
    NoSuchRouteError: 404,
    WrongMethodError: 405,
    errors.AlreadySuspendedError: 409,
    errors.AlreadyResumedError: 409,
    errors.SuspendedError: 409,
    errors.TableInitializingError: 409,
    CommitConflictError: 409,
    views.RequestInProgressError: 409,
    RequestTimeoutError: 408,
    RequestTooLargeError: 413,
    UnsupportedMediaTypeError: 415,
    UnknownHostError: 421,
    TooManyTriesError: 429,
    errors.UnexpectedError: 500,
    errors.RefreshFailedError: 500,
    errors.ExecutorLostError: 500,
    errors.ChangeFailedError: 500,
    errors.InconsistentTableError: 500,
    InternalError: 500,
    ManagerBusyError: 503,
    RefreshNotAcceptedError: 503,
    ManagerStoppingError: 503,
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
    if status in {429, 503}:
        headers["Retry-After"] = error.parameters.get("seconds", "5")
    if isinstance(error, WrongMethodError):
        headers["Allow"] = error.parameters["allowed"]
    return JSONResponse(document, status, headers, MEDIA_TYPE)


def title_of(kind: type[MaterializedTableError]) -> str:
    """The first sentence of what docs/errors.md says about the condition."""
    text = " ".join((inspect.getdoc(kind) or "").partition("\n\n")[0].split())
    return _REFERENCE.sub("", text).rstrip(".") or kind.condition


_PLACES = {"query": "The parameter", "path": "The part", "body": "The key"}


def of_validation(error: RequestValidationError, request: Request) -> InvalidRequestError:
    """Name everything that is wrong with a body or a query."""
    known = _known_keys(request.scope.get("endpoint"))
    found = error.errors()
    named = [_violation(each, known) for each in found[:MOST_NAMED]]
    rest = len(found) - len(named)
    return InvalidRequestError(violations=[*named, f"There are {rest} more."] if rest else named)


def of_http(error: HTTPException, request: Request) -> MaterializedTableError:
    """Say what Starlette says by a status."""
    path = request.url.path
    if error.status_code == 404:
        return NoSuchRouteError(path=path)
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "")
        return WrongMethodError(path=path, method=request.method, allowed=allowed)
    if error.status_code < 500:
        return InvalidRequestError(violations=[str(error.detail)])
    return InternalError()


def of_call(error: BaseException) -> BaseException:
    """Return the error of a call of the service; what Spark refuses is an error of the request."""
    if not is_spark_error(error):
        return error
    failure = failure_of(error)
    if failure.is_missing_table:
        return views.UnknownNameError(problem=errors.problem_of(error))
    return (
        views.RequestRefusedError(problem=errors.problem_of(error)) if is_refusal(error) else error
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
    """The keys that the model of a route has."""
    hints = get_type_hints(endpoint) if callable(endpoint) else {}
    kinds = [kind for hint in hints.values() for kind in (hint, *get_args(hint))]
    models = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, RequestBody)]
    return [key for model in models for key in model.model_fields]
