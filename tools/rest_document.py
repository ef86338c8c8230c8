"""The REST interface as its application describes it: docs/openapi.json, and tables of a page."""

from __future__ import annotations

import json
from functools import cache
from unittest.mock import create_autospec

from dbt.adapters.spark_mt.manager.http import app
from dbt.adapters.spark_mt.manager.http.app import create_app
from dbt.adapters.spark_mt.manager.http.auth import Access, AccessRules
from dbt.adapters.spark_mt.manager.views import ManagerService


@cache
def document() -> app.Document:
    """The OpenAPI document; nothing is asked of a manager for it."""
    service = create_autospec(ManagerService, instance=True)
    return app.document(create_app(service, Access(AccessRules())))


def as_text() -> str:
    """The document as a file."""
    return json.dumps(document(), indent=2, ensure_ascii=False) + "\n"


def routes() -> list[tuple[str, str]]:
    """Every route with its method, and what it does."""
    return [
        (f"`{method.upper()} {path}`", f"{found['summary']}. {found['description']}")
        for path, methods in document()["paths"].items()
        for method, found in methods.items()
    ]


def keys(schema: str) -> list[tuple[str, str, str]]:
    """The keys of a request's body: name, default, meaning."""
    described = document()["components"]["schemas"][schema]
    required = described.get("required", [])
    return [
        (f"`{name}`", _default(name in required, found), found.get("description", ""))
        for name, found in described["properties"].items()
    ]


def _default(required: bool, found: app.Document) -> str:  # noqa: FBT001 - one of two words
    if required:
        return "required"
    value = found.get("default")
    return "" if value is None else f"`{json.dumps(value)}`"
