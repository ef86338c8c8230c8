"""What FastAPI and Starlette find wrong with a request, in our words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from dbt.adapters.spark_mt.resolution.suggestions import did_you_mean
from dbt.adapters.spark_mt.service.http.errors import (
    InternalError,
    InvalidRequestError,
    NoSuchRouteError,
    WrongMethodError,
)
from dbt.adapters.spark_mt.service.http.schemas import Asked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastapi.exceptions import RequestValidationError
    from starlette.exceptions import HTTPException
    from starlette.requests import Request

    from dbt.adapters.spark_mt.definition.errors import MaterializedTableError

_PLACES = {"query": "The parameter", "path": "The part", "body": "The key"}


def of_validation(error: RequestValidationError, request: Request) -> InvalidRequestError:
    """Name everything that is wrong with a body or a query."""
    known = _known_keys(request.scope.get("endpoint"))
    return InvalidRequestError(violations=[_violation(each, known) for each in error.errors()])


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
        return f"{name} is not known.{did_you_mean(keys[-1], known) or _list(known)}"
    return f"{name} is missing." if found["type"] == "missing" else f"{name}: {_why(found)}."


def _why(found: Mapping[str, Any]) -> str:
    text = str(found["msg"]).rstrip(".")
    return text[:1].lower() + text[1:]


def _list(known: list[str]) -> str:
    return f" There are {', '.join(known)}." if known else ""


def _known_keys(endpoint: object) -> list[str]:
    """The keys that the model of a route has."""
    hints = get_type_hints(endpoint) if callable(endpoint) else {}
    kinds = [kind for hint in hints.values() for kind in (hint, *get_args(hint))]
    models = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Asked)]
    return [key for model in models for key in model.model_fields]
