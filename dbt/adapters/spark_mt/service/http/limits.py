"""Bounds of what a request may cost: the size of its body, and how many wait for the catalog."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from starlette.requests import HTTPConnection

from dbt.adapters.spark_mt.service.http.errors import ManagerBusyError, RequestTooLargeError
from dbt.adapters.spark_mt.service.http.problems import problem_response

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

T = TypeVar("T")

LARGEST_BODY = 1024 * 1024
MOST_CALLS = 16


class BodyLimit:
    """Reads the body of a request as far as it may be long; a longer one is never held in memory.

    Args:
        app: Gets the whole body as one message.
        limit: Bytes, whether the client told the length or not.
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
        body = None if self._says_too_much(request) else await self._read(receive)
        if body is None:
            await problem_response(RequestTooLargeError(limit=self._limit), request)(
                scope, receive, send
            )
            return
        await self._app(scope, _replay(body, receive), send)

    def _says_too_much(self, request: HTTPConnection) -> bool:
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

    Health and lists never wait for one; who comes when as many run as may is told so at once. The
    threads do not keep the process alive when it shall end.

    Args:
        at_most: How many run at a time.
    """

    def __init__(self, at_most: int = MOST_CALLS) -> None:
        self._at_most = at_most
        self._running = 0
        self._lock = threading.Lock()

    async def run(self, call: Callable[[], T]) -> T:
        """Run a call in a thread, and wait for it without holding up anybody.

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

    def _end(self, done: Future[T], tell: Callable[[], None]) -> None:
        with self._lock:
            self._running -= 1
        if done.set_running_or_notify_cancel():
            tell()
