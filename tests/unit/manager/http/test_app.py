"""A real server at a real port: starts, answers, and is gone within its bound."""

from __future__ import annotations

import json
import socket
import threading
import time
from contextlib import suppress

import httpx
import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.manager.http.app import BodyLimit, HttpServer, create_app
from dbt.adapters.spark_mt.manager.http.auth import Access, AccessRules
from dbt.adapters.spark_mt.manager.http.connections import BoundedProtocol, bind, listen
from tests.support.errors import raises
from tests.unit.manager.fake import FakeManager
from tests.unit.manager.http.client import BEARER, DAILY, TABLES, TOKEN, problem

SUSPEND = f"{TABLES}/{DAILY}/suspend"


@pytest.fixture
def manager():
    return FakeManager()


@pytest.fixture
def server(manager):
    app = create_app(manager, Access(AccessRules(token=TOKEN)), limits=lambda _: 10_000)
    found = HttpServer(app, "127.0.0.1", 0)
    found.start()
    yield found
    found.stop(5)


@pytest.fixture
def short_limits(monkeypatch):
    """The times and limits of connections, small enough for a test."""
    monkeypatch.setattr(BoundedProtocol, "header_seconds", 0.3)
    monkeypatch.setattr(BoundedProtocol, "most_connections", 8)


def raw(server, request: bytes) -> bytes:
    """Send bytes as they are, and read until the server closes."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while chunk := connection.recv(65_536):
            answer += chunk
        return answer


def test_it_answers_and_stops(server):
    assert server.is_running
    with httpx.Client(base_url=server.url) as client:
        assert client.get("/livez").json() == {"ok": True, "problems": []}
        assert client.get(TABLES).status_code == 401
        answer = client.get(TABLES, headers=BEARER)
        assert answer.json()["total"] == 9
        assert "server" not in answer.headers
    assert server.stop(5)
    assert not server.is_running
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{server.url}/livez")


def test_running_requests_are_answered_before_the_server_stops(server, manager):
    begun, end = threading.Event(), threading.Event()

    def wait(_: str) -> None:
        begun.set()
        assert end.wait(30)

    manager.before = wait
    answers = []

    def ask() -> None:
        answers.append(httpx.post(server.url + SUSPEND, json={}, headers=BEARER, timeout=30))

    asking = threading.Thread(target=ask)
    asking.start()
    assert begun.wait(30)
    stopping = threading.Thread(target=server.stop, args=(20,))
    stopping.start()
    end.set()
    asking.join(30)
    stopping.join(30)
    assert answers[0].json()["action"] == "SUSPENDED"
    assert not server.is_running


def test_a_call_that_does_not_end_does_not_keep_it_up(server, manager):
    begun, end = threading.Event(), threading.Event()

    def wait(_: str) -> None:
        begun.set()
        end.wait(60)

    manager.before = wait
    answers = []

    def ask() -> None:
        answers.append(httpx.post(server.url + SUSPEND, json={}, headers=BEARER, timeout=60))

    asking = threading.Thread(target=ask)
    asking.start()
    assert begun.wait(30)
    started = time.monotonic()
    server.stop(2)
    assert time.monotonic() - started < 10
    asking.join(30)
    assert not end.is_set(), "the call still stands"
    end.set()
    assert problem(answers[0]) == (503, "MANAGER_STOPPING")


def test_an_address_that_is_taken(server):
    with raises(conditions.ADDRESS_TAKEN) as error:
        HttpServer(server, "127.0.0.1", server.port).start()
    assert error.value.parameters["port"] == str(server.port)


@pytest.mark.parametrize(("host", "port"), [("no.such.host.invalid", 0), ("127.0.0.1", 70_000)])
def test_an_address_that_is_none(host, port):
    with raises(conditions.ADDRESS_TAKEN):
        HttpServer(None, host, port).start()


def test_a_server_that_was_never_started_stops():
    assert HttpServer(None, "127.0.0.1", 0).stop()


def test_its_url_is_one_that_clients_can_use():
    assert HttpServer(None, "::1", 8765).url == "http://[::1]:8765"
    assert HttpServer(None, "::", 8765).url == "http://[::1]:8765"
    assert HttpServer(None, "10.0.0.7", 8765).url == "http://10.0.0.7:8765"


def test_chunks_over_the_wire_are_bounded(server):
    head = f"POST {SUSPEND} HTTP/1.1\r\nhost: 127.0.0.1:{server.port}\r\n"
    head += f"authorization: Bearer {TOKEN}\r\ncontent-type: application/json\r\n"
    head += "transfer-encoding: chunked\r\nconnection: close\r\n\r\n"
    chunks = (b"1000\r\n" + b"x" * 0x1000 + b"\r\n") * 3
    answer = raw(server, head.encode() + chunks + b"0\r\n\r\n")
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 413 ")
    assert json.loads(body)["condition"] == "MATERIALIZED_TABLE_REQUEST_TOO_LARGE"


def test_no_name_is_no_host(server):
    answer = raw(server, b"GET /livez HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 421 ")
    nameless = raw(server, b"GET /livez HTTP/1.0\r\n\r\n")
    assert nameless.startswith(b"HTTP/1.1 421 ")


def test_a_port_in_use_is_known_before_anything_is_started(server):
    with raises(conditions.ADDRESS_TAKEN) as error:
        bind("127.0.0.1", server.port)
    assert error.value.parameters["port"] == str(server.port)
    free = bind("127.0.0.1", 0)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(free.getsockname(), timeout=5)
    late = HttpServer(None, "127.0.0.1", 0, free)
    listen(free, "127.0.0.1", 0)
    assert late.stop()
    free.close()


SLOW = (b"", b"GET", b"GET /livez HTTP/1.1\r\nhost: 127.0.0.1\r\n", b"POST /login HTTP/1.1\r\nx: ")


@pytest.mark.usefixtures("short_limits")
@pytest.mark.parametrize("beginning", SLOW)
def test_a_connection_without_whole_headers_is_closed(server, beginning):
    """Also one that sends a byte now and then."""
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(beginning)
        connection.settimeout(0.05)
        while not _is_closed(connection):
            with suppress(OSError):
                connection.sendall(b"x" if beginning else b"")
            assert time.monotonic() - began < 20


@pytest.mark.usefixtures("short_limits")
def test_a_connection_in_use_has_a_time_for_each_request(server):
    with httpx.Client(base_url=server.url) as client:
        for _ in range(4):
            assert client.get("/livez").status_code == 200
            time.sleep(0.15)
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        head = f"GET /livez HTTP/1.1\r\nhost: 127.0.0.1:{server.port}\r\n"
        connection.sendall(f"{head}\r\n".encode())
        assert connection.recv(65_536).startswith(b"HTTP/1.1 200")
        connection.sendall(head.encode())
        began = time.monotonic()
        while connection.recv(65_536):
            assert time.monotonic() - began < 20
        assert time.monotonic() - began < 4, "uvicorn's own time for idle ones is five seconds"


def test_silent_connections_block_no_other_client(server, monkeypatch):
    monkeypatch.setattr(BoundedProtocol, "most_connections", 8)
    address = ("127.0.0.1", server.port)
    silent = [socket.create_connection(address, timeout=30) for _ in range(40)]
    form = b"POST /login HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 100\r\n\r\nt"
    for connection in silent[::2]:
        with suppress(OSError):
            connection.sendall(form)
    for path in ("/livez", "/readyz", "/login"):
        assert httpx.get(server.url + path, timeout=30).status_code == 200
    for connection in silent:
        connection.close()


def test_a_body_that_does_not_come_ends_with_the_connection(manager, monkeypatch):
    monkeypatch.setattr(BodyLimit.__init__, "__defaults__", (0.2,))
    server = HttpServer(create_app(manager, Access(AccessRules(token=TOKEN))), "127.0.0.1", 0)
    server.start()
    host = f"host: 127.0.0.1:{server.port}\r\n"
    form = "content-type: application/x-www-form-urlencoded\r\ncontent-length: 100\r\n\r\ntoken="
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(f"POST /login HTTP/1.1\r\n{host}{form}".encode())
        answer = b""
        while chunk := connection.recv(65_536):
            answer += chunk
    server.stop(5)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"REQUEST_TIMEOUT" in answer


def test_head_has_the_headers_of_get_and_no_body(server):
    for path in ("/livez", "/readyz", TABLES, "/login", "/nowhere", "/metrics"):
        got = httpx.get(server.url + path, headers=BEARER)
        head = httpx.head(server.url + path, headers=BEARER)
        assert (head.status_code, head.content) == (got.status_code, b"")
        assert head.headers["content-type"] == got.headers["content-type"]
    assert int(httpx.head(server.url + "/livez").headers["content-length"]) > 0


def _is_closed(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True
