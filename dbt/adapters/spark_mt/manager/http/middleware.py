"""Middleware before every route: authentication, limits and request log.

No body is read before the client is authenticated. Limits apply to the size of a body and to the
number of calls that wait for the catalog.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
import uuid
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlencode

import structlog
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse

from dbt.adapters.spark_mt.manager.http.auth import CSRF_HEADER, Visitor, is_browser, is_own_page
from dbt.adapters.spark_mt.manager.http.errors import (
    ForeignRequestError,
    InternalError,
    ManagerBusyError,
    ManagerStoppingError,
    RequestTooLargeError,
    UnauthenticatedError,
    UnknownHostError,
    UnsupportedMediaTypeError,
    problem_response,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
    from dbt.adapters.spark_mt.manager.http.auth import Access


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
        """Return why a request is refused; None if it is not."""
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
            return ForeignRequestError(reason="it has no token, so that no user can sign in")
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


T = TypeVar("T")

LARGEST_BODY = 1024 * 1024
MOST_CALLS = 16


class BodyLimit:
    """Reads the body of a request as far as it may be long; a longer one is never held in memory.

    Starlette limits the parts of forms with files, and no other body.

    Args:
        app: Gets the whole body as one message.
        limit: Bytes, whether the client sent the length or not.
    """

    def __init__(self, app: ASGIApp, limit: int = LARGEST_BODY) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = HTTPConnection(scope)
        body = None if self._is_too_large(request) else await self._read(receive)
        if body is None:
            await problem_response(RequestTooLargeError(limit=self._limit), request)(
                scope, receive, send
            )
            return
        await self._app(scope, _replay(body, receive), send)

    def _is_too_large(self, request: HTTPConnection) -> bool:
        length = request.headers.get("content-length", "0")
        return length.isdigit() and int(length) > self._limit

    async def _read(self, receive: Receive) -> bytes | None:
        body = bytearray()
        while True:
            message = await receive()
            body += message.get("body", b"")
            if len(body) > self._limit:
                return None
            if not message.get("more_body", False):
                return bytes(body)


def _replay(body: bytes, receive: Receive) -> Receive:
    """What was read, and then whatever the client does."""
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def read() -> Message:
        return pending.pop() if pending else await receive()

    return read


class LongCalls:
    """Runs what may take seconds or minutes, each call in a thread of its own.

    Health and lists never wait for a call. A call beyond the limit is refused at once. The threads
    do not keep the process alive when it shall end; those of anyio's CapacityLimiter would.

    Args:
        at_most: How many run at a time.
    """

    def __init__(self, at_most: int = MOST_CALLS) -> None:
        self._at_most = at_most
        self._running = 0
        self._lock = threading.Lock()

    async def run(self, call: Callable[[], T]) -> T:
        """Run a call in a thread, and wait for it without blocking other requests.

        Raises:
            ManagerBusyError: Too many run already; nothing was called.
        """
        with self._lock:
            if self._running >= self._at_most:
                raise ManagerBusyError(limit=self._at_most)
            self._running += 1
        done: Future[T] = Future()
        context = contextvars.copy_context()
        work = partial(context.run, self._work, call, done)
        threading.Thread(target=work, name="http-call", daemon=True).start()
        return await asyncio.wrap_future(done)

    def _work(self, call: Callable[[], T], done: Future[T]) -> None:
        try:
            result = call()
        except BaseException as error:  # noqa: BLE001 - whoever waits for it gets it
            self._end(done, partial(done.set_exception, error))
        else:
            self._end(done, partial(done.set_result, result))

    def _end(self, done: Future[T], notify: Callable[[], None]) -> None:
        with self._lock:
            self._running -= 1
        if done.set_running_or_notify_cancel():
            notify()


QUIET = HEALTH | {"/metrics"}
"""Paths that machines read every few seconds; logged at level DEBUG only."""
HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
}
"""On every answer that has not its own."""

log = structlog.get_logger("dbt.adapters.spark_mt.http")


class RequestLog:
    """Gives each request an id, logs it, and answers with a problem after an unexpected error.

    The query of a URL is not logged, and no header but the length is: there may be secrets in them.
    """

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Answer(send, str(uuid.uuid4()))
        scope.setdefault("state", {})["request_id"] = answer.request_id
        started = time.perf_counter()
        try:
            await self._app(scope, receive, answer.send)
        except asyncio.CancelledError:  # by the server, which closes the connection afterwards
            if not answer.status:
                problem = problem_response(ManagerStoppingError(), HTTPConnection(scope))
                await problem(scope, receive, answer.send)
        except Exception:  # whatever it is, the client gets an answer and the log the stack
            log.exception("request failed", request_id=answer.request_id, path=scope["path"])
            if answer.status:
                raise
            problem = problem_response(InternalError(), HTTPConnection(scope))
            await problem(scope, receive, answer.send)
        finally:
            self._log(scope, answer, time.perf_counter() - started)

    def _log(self, scope: Scope, answer: _Answer, seconds: float) -> None:
        notify = log.debug if scope["path"] in QUIET and answer.status < 400 else log.info
        notify(
            "request",
            request_id=answer.request_id,
            method=scope["method"],
            path=scope["path"],
            status=answer.status,
            milliseconds=round(seconds * 1000, 1),
            bytes=answer.sent,
            client=(scope.get("client") or ("",))[0],
            visitor=self._access.visitor(HTTPConnection(scope)).value,
        )


class _Answer:
    """Watches what is sent, and adds the headers that every answer carries."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self.request_id = request_id
        self.status = 0
        self.sent = 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers["x-request-id"] = self.request_id
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        self.sent += len(message.get("body", b""))
        await self._send(message)
