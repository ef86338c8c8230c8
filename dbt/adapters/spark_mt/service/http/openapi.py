"""The OpenAPI document: FastAPI's, with what the docstrings say about each field."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

from fastapi.openapi.utils import get_openapi
from pydantic import TypeAdapter

from dbt.adapters.spark_mt.service import views
from dbt.adapters.spark_mt.service.http import schemas

if TYPE_CHECKING:
    from fastapi import FastAPI

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
