"""Connections of the HTTP server: the address to listen at, their number, and their silence.

uvicorn stays the server, and its protocol over h11 is the place of these limits. It closes a
connection that is idle after an answer, and knows no time for the first request or for its headers.
Its `limit_concurrency` counts silent connections, and refuses health checks as well. Hypercorn
closes silent connections, but one that sends a byte now and then lives on. Granian runs workers in
processes of its own, and a manager answers from its memory.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from dbt.adapters.spark_mt.definition import conditions

if TYPE_CHECKING:
    import asyncio

    from dbt.adapters.spark_mt.definition.errors import MaterializedTableError

HEADER_SECONDS = 10.0
"""From the start of a connection, or from the first byte of a later request, to the end of its
headers."""
MOST_CONNECTIONS = 512
"""Of more, one that does not get on is closed: it sends or reads too slowly."""
_BACKLOG = 128
_LAST_PORT = 65_535


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that has an address of this machine, and does not listen yet.

    Args:
        host: A name or an address.
        port: The port; 0 takes a free one.

    Raises:
        MaterializedTableError: The address is not free, or not of this machine.
    """
    try:
        if not 0 <= port <= _LAST_PORT:
            raise OverflowError(f"ports end at {_LAST_PORT}")  # noqa: TRY003, TRY301, EM102 - as socket does
        family, kind, protocol, _, address = socket.getaddrinfo(
            host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        found = socket.socket(family, kind, protocol)
        try:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            found.bind(address)
        except OSError:
            found.close()
            raise
    except (OSError, OverflowError) as error:
        raise _taken(host, port, error) from error
    return found


def listen(found: socket.socket, host: str, port: int) -> None:
    """Begin to take connections.

    Raises:
        MaterializedTableError: Another process has begun to listen there meanwhile.
    """
    try:
        found.listen(_BACKLOG)
    except OSError as error:
        raise _taken(host, port, error) from error


def _taken(host: str, port: int, error: Exception) -> MaterializedTableError:
    problem = getattr(error, "strerror", None) or str(error)
    return conditions.ADDRESS_TAKEN(host=host, port=port, problem=problem)


class BoundedProtocol(H11Protocol):
    """HTTP over h11 with a time for the headers of a request, and a limit of connections."""

    header_seconds = HEADER_SECONDS
    most_connections = MOST_CONNECTIONS

    def __init__(self, *arguments: Any, **options: Any) -> None:  # noqa: ANN401 - those of uvicorn
        super().__init__(*arguments, **options)
        self._header_timer: asyncio.TimerHandle | None = None
        self.since = self.loop.time()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, and close another one if there are too many."""
        super().connection_made(transport)
        self._header_timer = self.loop.call_later(self.header_seconds, self._close_if_silent)
        if len(self.connections) > self.most_connections:
            others = [each for each in self.connections if isinstance(each, BoundedProtocol)]
            stalled = [each for each in others if each is not self and each.is_stalled]
            if stalled:
                min(stalled, key=lambda each: each.since).transport.abort()

    def data_received(self, data: bytes) -> None:
        """Take bytes; those of a request's headers have to come within a time."""
        if self._header_timer is None and self._awaits_request():
            self.since = self.loop.time()
            self._header_timer = self.loop.call_later(self.header_seconds, self._close_if_silent)
        super().data_received(data)
        if not self._awaits_request():
            self._stop_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_timer()
        super().connection_lost(exc)

    def _awaits_request(self) -> bool:
        """Whether no request is being answered; what comes is headers, or an unused body."""
        cycle: RequestResponseCycle | None = self.cycle  # uvicorn says that there is always one
        return cycle is None or cycle.response_complete

    @property
    def is_stalled(self) -> bool:
        """Whether the client sends slowly, or does not read its answer."""
        return self._awaits_request() or self.cycle.more_body or self.flow.write_paused

    def _close_if_silent(self) -> None:
        self._header_timer = None
        if self._awaits_request():
            self.transport.abort()

    def _stop_timer(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None
