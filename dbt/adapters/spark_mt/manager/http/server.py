"""HTTP server of a manager: uvicorn in a thread, started and stopped within a bound."""

from __future__ import annotations

import socket
import threading
import time
from typing import TYPE_CHECKING

import structlog
import uvicorn

from dbt.adapters.spark_mt.manager.http.errors import AddressTakenError, ServerNotStartedError

if TYPE_CHECKING:
    from starlette.types import ASGIApp


START_SECONDS = 30.0
STOP_SECONDS = 10.0
MOST_CONNECTIONS = 512
_BACKLOG = 128
_STEP_SECONDS = 0.01
_LAST_PORT = 65_535

log = structlog.get_logger("dbt.adapters.spark_mt.http")


class HttpServer:
    """Serves an application at an address of this machine.

    Args:
        app: What answers.
        host: The address to listen at.
        port: The port; 0 takes a free one.
    """

    def __init__(self, app: ASGIApp, host: str, port: int) -> None:
        self._app = app
        self._host = host.strip("[]")
        self._port = port
        self._socket: socket.socket | None = None
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
            AddressTakenError: The address is not free, or not of this machine.
            ServerNotStartedError: It did not come up in time.
        """
        self._socket = _listen(self._host, self._port)
        self._port = int(self._socket.getsockname()[1])
        self._server = uvicorn.Server(
            uvicorn.Config(
                self._app,
                log_config=None,  # `manager/logging.py` says where it goes
                access_log=False,
                server_header=False,
                ws="none",
                lifespan="off",
                limit_concurrency=MOST_CONNECTIONS,
            )
        )
        arguments = (self._server, self._socket)
        self._thread = threading.Thread(target=self._run, args=arguments, name="http", daemon=True)
        self._thread.start()
        if not self._wait_until_up():
            problem = str(self._failure or f"no answer within {START_SECONDS:.0f} seconds")
            self.stop()
            raise ServerNotStartedError(
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


def _listen(host: str, port: int) -> socket.socket:
    try:
        if not 0 <= port <= _LAST_PORT:
            raise OverflowError(f"ports end at {_LAST_PORT}")  # noqa: TRY003, TRY301, EM102 - as socket does
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        found = socket.socket(family, kind, protocol)
        try:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            found.bind(address)
            found.listen(_BACKLOG)
        except OSError:
            found.close()
            raise
    except (OSError, OverflowError) as error:
        problem = getattr(error, "strerror", None) or str(error)
        raise AddressTakenError(host=host, port=port, problem=problem) from error
    return found
