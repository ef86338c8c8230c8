"""One line in the log for each request, and an answer to each that failed in an unknown way."""

from __future__ import annotations

import asyncio
import time
import uuid
from typing import TYPE_CHECKING

import structlog
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection

from dbt.adapters.spark_mt.service.http.errors import InternalError, ManagerStoppingError
from dbt.adapters.spark_mt.service.http.guard import HEALTH
from dbt.adapters.spark_mt.service.http.problems import problem_response

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from dbt.adapters.spark_mt.service.http.access import Access

QUIET = HEALTH | {"/metrics"}
"""What machines ask for every few seconds; told only at level DEBUG."""
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
    """Gives each request an id, logs it, and answers with a problem where nobody else could.

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
            self._tell(scope, answer, time.perf_counter() - started)

    def _tell(self, scope: Scope, answer: _Answer, seconds: float) -> None:
        tell = log.debug if scope["path"] in QUIET and answer.status < 400 else log.info
        tell(
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
