"""Stands before every route: nothing is read, and nobody gets in, before it is known who asks."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse

from dbt.adapters.spark_mt.service.http.access import CSRF_HEADER, Visitor, is_browser, is_own_page
from dbt.adapters.spark_mt.service.http.errors import (
    ForeignRequestError,
    UnauthenticatedError,
    UnknownHostError,
    UnsupportedMediaTypeError,
)
from dbt.adapters.spark_mt.service.http.problems import problem_response

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
    from dbt.adapters.spark_mt.service.http.access import Access

SIGN_IN = "/login"
"""Where people type the token."""
HEALTH = frozenset({"/livez", "/readyz"})
STATIC = "/static/"
REST = "/v3/"
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class Guard:
    """Answers what may not pass, and lets the rest through.

    Forms of the status page carry their CSRF token in the body, so their handlers check it.
    """

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = HTTPConnection(scope)
        problem = self.refusal(request)
        if problem is None:
            await self._app(scope, receive, send)
        elif isinstance(problem, UnauthenticatedError) and _is_person(request):
            query = urlencode({"next": _here(request)})
            await RedirectResponse(f"{SIGN_IN}?{query}", 303)(scope, receive, send)
        else:
            await problem_response(problem, request)(scope, receive, send)

    def refusal(self, request: HTTPConnection) -> MaterializedTableError | None:
        """Tell why a request may not pass; None if it may."""
        path = request.url.path
        if not self._access.answers_to(request.headers.get("host", "")):
            return UnknownHostError()
        if path in HEALTH:
            return None
        if request.scope["method"] in _SAFE:
            return self._refused_reading(request, path)
        return self._refused_change(request, path)

    def _refused_reading(self, request: HTTPConnection, path: str) -> MaterializedTableError | None:
        is_open = path == SIGN_IN or path.startswith(STATIC)
        return None if is_open or self._access.may_read(request) else UnauthenticatedError()

    def _refused_change(self, request: HTTPConnection, path: str) -> MaterializedTableError | None:
        visitor = self._access.visitor(request)
        if visitor is not Visitor.TOKEN and not is_own_page(request):
            return ForeignRequestError(reason="another site began the request")
        if visitor is Visitor.NOBODY and path != SIGN_IN:
            return UnauthenticatedError()
        if visitor is Visitor.LOCAL and is_browser(request):
            return ForeignRequestError(reason="it has no token, so that nobody can sign in")
        return self._refused_rest(request, visitor) if path.startswith(REST) else None

    def _refused_rest(
        self, request: HTTPConnection, visitor: Visitor
    ) -> MaterializedTableError | None:
        if visitor is Visitor.SESSION:
            csrf_token = request.headers.get(CSRF_HEADER, "")
            if not self._access.may_act(request, csrf_token):
                return ForeignRequestError(reason=f"the header {CSRF_HEADER} is missing or wrong")
        found = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        return None if found == "application/json" else UnsupportedMediaTypeError(found=found)


def _here(request: HTTPConnection) -> str:
    query = request.url.query
    return f"{request.url.path}?{query}" if query else request.url.path


def _is_person(request: HTTPConnection) -> bool:
    """Whether a browser asks for a page of its own."""
    wants_page = "text/html" in request.headers.get("accept", "")
    rest = request.url.path.startswith(REST)
    return wants_page and not rest and request.scope["method"] in {"GET", "HEAD"}
