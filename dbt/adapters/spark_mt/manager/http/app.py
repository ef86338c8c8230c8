"""HTTP application of a manager: OpenAPI document, limits, request log, and its server.

No body but that of a sign-in is read before the client is authenticated: see `auth.Guard`.
"""

from __future__ import annotations

import asyncio
import inspect
import re
import threading
import time
import uuid
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import anyio
import structlog
import uvicorn
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from pydantic import TypeAdapter
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.manager import views
from dbt.adapters.spark_mt.manager.http import errors as http_errors
from dbt.adapters.spark_mt.manager.http import metrics, pages, routes, schemas
from dbt.adapters.spark_mt.manager.http.auth import HEALTH, Guard
from dbt.adapters.spark_mt.manager.http.connections import BoundedProtocol, bind, listen

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from dbt.adapters.spark_mt.manager.http.auth import Access
    from dbt.adapters.spark_mt.manager.views import ManagerService

    Limits = Callable[[str], int]
    """Returns how many bytes the body of a request may have, by its path."""


TITLE = "Refresh manager of materialized tables"
VERSION = "3.0"
"""Of the interface, as in its paths; grows when it can do more."""
ABOUT = (
    "Lists, describes, refreshes, suspends and resumes materialized tables. Names in JSON are as "
    "in the command line's output; `refresh` has the names of Flink's interface. Times are "
    "milliseconds since the epoch, UTC."
)
_ARGUMENT = re.compile(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)
LARGEST_STATEMENT = 1024 * 1024
"""Bytes of a body that has the text of a statement. JSON is parsed on the event loop, where a body
of this length takes a tenth of a second or two, and a statement of it half a minute in a thread."""
LARGEST_BODY = 64 * 1024
"""Bytes of every other body, also of forms, and so of all that is read without a token."""
STATEMENTS = frozenset(
    {
        "/plan",
        "/v3/materialized-tables/execute",
        "/v3/materialized-tables/plan",
    }
)
_COLUMNS = re.compile("/v3/sessions/[^/]+/columns")
MOST_STRINGS = 4_000
"""Keys and strings of a body. Each key that no field has would be an error with a text of its own,
which takes seconds for hundreds of thousands of them."""
MOST_HELD = 64 * 1024 * 1024
"""Bytes of all bodies that are being read."""
BODY_SECONDS = 20.0
"""How long a client has to send a body."""
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

START_SECONDS = 30.0
STOP_SECONDS = 10.0
_STEP_SECONDS = 0.01

log = structlog.get_logger("dbt.adapters.spark_mt.http")

Document = dict[str, Any]


def largest_body(path: str) -> int:
    """Return how many bytes the body of a request may have."""
    has_statement = path in STATEMENTS or _COLUMNS.fullmatch(path) is not None
    return LARGEST_STATEMENT if has_statement else LARGEST_BODY


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
    """Take the meaning of a schema and of its fields from the docstring of its class."""
    kind = getattr(schemas, name, None) or getattr(views, name, None)
    text = inspect.getdoc(kind) or ""
    schema["description"] = " ".join(text.partition("\n\n")[0].split())
    meanings = dict(_ARGUMENT.findall(text.partition("Args:\n")[2]))
    for field, described in schema.get("properties", {}).items():
        if field in meanings:
            described["description"] = " ".join(meanings[field].split())


def create_app(
    service: ManagerService, access: Access, *, limits: Limits = largest_body
) -> FastAPI:
    """Return the application.

    Args:
        service: The manager.
        access: Who may see and do what.
        limits: Returns how many bytes a body may have, by the path of its request.
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
    for kind in (MaterializedTableError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, _answer_error)
    # The last one that is added sees a request first.
    app.add_middleware(BodyLimit, limits=limits)
    app.add_middleware(Guard, access=access)
    app.add_middleware(HeadRequests)
    app.add_middleware(RequestLog, access=access)
    app.include_router(routes.router(service))
    registry = metrics.registry(service)
    described = cache(partial(document, app))

    @app.get("/metrics", include_in_schema=False)
    def scrape(request: Request) -> Response:
        content, media_type = metrics.exposition(registry, request.headers.get("accept", ""))
        return Response(content, media_type=media_type)

    @app.get("/openapi.json", include_in_schema=False)
    def describe() -> Document:
        return described()

    app.include_router(pages.router(service, access), include_in_schema=False)
    return app


async def _answer_error(request: Request, error: Exception) -> Response:
    if isinstance(error, RequestValidationError):
        error = http_errors.of_validation(error, request)
    elif isinstance(error, HTTPException):
        error = http_errors.of_http(error, request)
    assert isinstance(error, MaterializedTableError)  # noqa: S101 - for no other it is registered
    return http_errors.problem_response(error, request)


class BodyLimit:
    """Reads the body of a request as far as it may be long, and as long as it may take.

    A body that is longer is never held in memory, and all that are being read share a limit.
    Starlette limits the parts of forms with files, and no other body; uvicorn waits for ever.

    Args:
        app: Gets the whole body as one message.
        limits: Bytes by path, whether the client sent the length or not.
        seconds: How long the client has to send it.
    """

    def __init__(self, app: ASGIApp, limits: Limits, seconds: float = BODY_SECONDS) -> None:
        self._app = app
        self._limits = limits
        self._seconds = seconds
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = HTTPConnection(scope)
        body: bytes | MaterializedTableError | None
        try:
            with anyio.fail_after(self._seconds):
                body = await self._body(request, receive)
        except TimeoutError:
            body = conditions.REQUEST_TIMEOUT(seconds=round(self._seconds))
        except MaterializedTableError as error:
            body = error
        if isinstance(body, MaterializedTableError):
            problem = http_errors.problem_response(body, request)
            problem.headers["connection"] = "close"  # the rest of the body is not read
            await problem(scope, receive, send)
            return
        if body is None:  # a part of a body may name another table
            return
        read: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return read.pop() if read else await receive()

        await self._app(scope, replay, send)

    async def _body(self, request: HTTPConnection, receive: Receive) -> bytes | None:
        """Return the whole body; None where the client ended the connection before."""
        limit = self._limits(request.url.path)
        length = request.headers.get("content-length", "0")
        if length.isdigit() and int(length) > limit:
            raise conditions.REQUEST_TOO_LARGE(limit=limit)
        body, has_more = bytearray(), True
        try:
            while has_more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return None
                more = message.get("body", b"")
                self._held += len(more)
                body += more
                has_more = message.get("more_body", False)
                if len(body) > limit:
                    raise conditions.REQUEST_TOO_LARGE(limit=limit)
                if self._held > MOST_HELD:
                    raise conditions.MANAGER_BUSY(limit="as many large")
        finally:
            self._held -= len(body)
        if _strings(body) > MOST_STRINGS:
            many = f"The body has more than {MOST_STRINGS:,} keys and strings."
            raise conditions.INVALID_REQUEST(violations=[many])
        return bytes(body)


def _strings(body: bytearray) -> int:
    """Return at least how many keys and strings a JSON document has, without parsing it.

    A quote that begins one has no backslash before it, and one within a string has.
    """
    return body.count(b'"') - body.count(b'\\"')


class HeadRequests:
    """Answers HEAD as GET, without the body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def send_head(message: Message) -> None:
            is_body = message["type"] == "http.response.body"
            await send({**message, "body": b""} if is_body else message)

        await self._app({**scope, "method": "GET"}, receive, send_head)


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
                problem = http_errors.problem_response(
                    conditions.MANAGER_STOPPING(), HTTPConnection(scope)
                )
                await problem(scope, receive, answer.send)
        except Exception:  # whatever it is, the client gets an answer and the log the stack
            log.exception("request failed", request_id=answer.request_id, path=scope["path"])
            if answer.status:
                raise
            problem = http_errors.problem_response(
                conditions.INTERNAL_ERROR(), HTTPConnection(scope)
            )
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


class HttpServer:
    """Serves an application at an address of this machine.

    Args:
        app: What answers.
        host: The address to listen at.
        port: The port; 0 takes a free one.
        bound: A socket that has the address already.
    """

    def __init__(
        self, app: ASGIApp, host: str, port: int, bound: socket.socket | None = None
    ) -> None:
        self._app = app
        self._host = host.strip("[]")
        self._port = port
        self._socket = bound
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None

    @property
    def port(self) -> int:
        """The port that it listens at; the wanted one before it does."""
        return self._port

    @property
    def url(self) -> str:
        """Where programs of this machine reach it."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self._host, self._host)  # noqa: S104 - not bound
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    @property
    def is_running(self) -> bool:
        """Whether it answers."""
        return self._thread is not None and self._thread.is_alive() and self._is_up()

    def start(self) -> None:
        """Listen, and return when requests are answered.

        Raises:
            MaterializedTableError: The address is not free, or not of this machine.
            MaterializedTableError: It did not come up in time.
        """
        self._socket = self._socket or bind(self._host, self._port)
        listen(self._socket, self._host, self._port)
        self._port = int(self._socket.getsockname()[1])
        self._server = uvicorn.Server(
            uvicorn.Config(
                self._app,
                log_config=None,  # `manager/logging.py` says where it goes
                access_log=False,
                server_header=False,
                ws="none",
                lifespan="off",
                http=BoundedProtocol,
            )
        )
        work = partial(self._run, self._server, self._socket)
        self._thread = threading.Thread(target=work, name="http", daemon=True)
        self._thread.start()
        if not self._wait_until_up():
            problem = str(self._failure or f"no answer within {START_SECONDS:.0f} seconds")
            self.stop()
            raise conditions.HTTP_SERVER_NOT_STARTED(
                host=self._host, port=self._port, problem=problem
            ) from self._failure
        log.info("listening", url=self.url)

    def stop(self, within: float = STOP_SECONDS) -> bool:
        """Take no more requests, let those in progress end, and close.

        Args:
            within: Seconds; connections that are still open after them are cut.

        Returns:
            Whether all of it ended; a call of the service that still runs in its thread continues.
        """
        if self._server is None or self._thread is None:
            return True
        until = time.monotonic() + within
        self._server.config.timeout_graceful_shutdown = max(1, int(within) - 1)
        self._server.should_exit = True
        self._thread.join(max(0.0, until - time.monotonic()))
        if self._thread.is_alive():
            self._server.force_exit = True
            self._thread.join(1.0)
        if self._socket is not None:
            self._socket.close()
        ended = not self._thread.is_alive()
        self._server = None
        log.info("stopped listening", ended=ended)
        return ended

    def _run(self, server: uvicorn.Server, listening: socket.socket) -> None:
        try:
            server.run([listening])
        except (Exception, SystemExit) as error:
            self._failure = error
            log.warning("the HTTP server ended", exc_info=True)

    def _wait_until_up(self) -> bool:
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until and self._thread is not None and self._thread.is_alive():
            if self._is_up():
                return True
            time.sleep(_STEP_SECONDS)
        return self._is_up()

    def _is_up(self) -> bool:
        return self._server is not None and self._server.started
