"""REST catalog as a process of its own, and a proxy that loses its answers.

The server is the one that Iceberg's own tests use. `python -m tests.iceberg.rest_catalog` fetches
it.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.ivy import java, resolved, spark_jars
from tests.support.free_ports import free_port
from tests.support.port_servers import HOST, PortServer

_MODULE = Path(__file__).with_name("ivy.xml")
_STARTS_WITHIN_S = 120
_MAIN = "org.apache.iceberg.rest.RESTCatalogServer"
_OPTIONS = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


class RestCatalog:
    """A catalog that can be stopped and started again on the same port.

    Args:
        folder: Where its database, its tables and its log are.
        port: Where it answers; a free port by default.
        settings: More properties of the catalog, such as `table-default.…`.
    """

    def __init__(self, folder, port=None, settings=None):
        self.port = port or free_port()
        self._server = PortServer(self.port, folder / "rest.log", _STARTS_WITHIN_S)
        self._settings = {
            "rest.port": str(self.port),
            "uri": f"jdbc:sqlite:{folder}/catalog.db?journal_mode=WAL",
            "warehouse": f"{folder}/warehouse",
            "jdbc.schema-version": "V1",
            "clients": "1",  # SQLite has one writer
            **(settings or {}),
        }

    @property
    def uri(self):
        return f"http://{HOST}:{self.port}"

    def start(self):
        """Start it, and wait until it accepts connections."""
        jars = [*resolved(_MODULE, "rest"), *map(str, spark_jars().glob("hadoop-client-*.jar"))]
        command = [java(), *_OPTIONS, "-cp", os.pathsep.join(jars), _MAIN]
        variables = {_variable(key): value for key, value in self._settings.items()}
        self._server.start(command, variables)

    def kill(self):
        """End it at once, with every connection that it has."""
        self._server.kill()


def _variable(key):
    """The environment variable that the server reads a property from."""
    return "CATALOG_" + key.replace("-", "__").replace(".", "_").upper()


class Fault:
    """What a proxy does to requests.

    Args:
        path: A part of the path of the requests, whose method is POST.
        is_made: Whether the server gets the request.
        status: What the client gets in the place of the answer; None for a closed connection.
        times: To how many requests that happens.
        is_answered: Whether the client gets the answer all the same.
        then_away: Whether no request is answered after it.
    """

    def __init__(self, path, *, is_made, status=None, times=1, is_answered=False, then_away=False):
        self.path, self.is_made, self.status, self.times = path, is_made, status, times
        self.is_answered, self.then_away = is_answered, then_away
        self.met = 0

    def meets(self, method, path):
        found = method == "POST" and self.path in path and self.met < self.times
        self.met += found
        return found


class LosingProxy(ThreadingHTTPServer):
    """A proxy of a REST catalog that loses requests or answers.

    Args:
        catalog: The catalog.
        port: Where the proxy answers.
    """

    daemon_threads = True

    def __init__(self, catalog, port):
        super().__init__((HOST, port), _Handler)
        self.catalog, self.fault, self.is_away = catalog, None, False
        self._thread = threading.Thread(target=self.serve_forever, daemon=True)
        self._thread.start()

    def stop(self):
        self.shutdown()
        self.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    """The requests of one connection."""

    protocol_version = "HTTP/1.1"

    def _pass(self):
        proxy = self.server
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if proxy.is_away:
            self._lose(None)
            return
        fault = proxy.fault
        is_met = fault is not None and fault.meets(self.command, self.path)
        if is_met and not fault.is_made:
            self._lose(fault.status)
            return
        status, kind, body = self._answer(content)
        if is_met:
            proxy.is_away = fault.then_away
        if is_met and not fault.is_answered:
            self._lose(fault.status)
        else:
            self._send(status, kind, body)

    do_GET = do_POST = do_DELETE = do_HEAD = _pass  # noqa: N815 - of the base class

    def _answer(self, content):
        """Return status, type and body of what the catalog answers."""
        inner = http.client.HTTPConnection(HOST, self.server.catalog.port)
        hidden = {"host", "connection", "accept-encoding"}
        headers = {k: v for k, v in self.headers.items() if k.lower() not in hidden}
        inner.request(self.command, self.path, content, headers)
        answer = inner.getresponse()
        body = answer.read()
        inner.close()
        return answer.status, answer.headers.get("Content-Type", ""), body

    def _lose(self, status):
        if status is None:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        error = {"message": "injected", "type": "InjectedException", "code": status}
        self._send(status, "application/json", json.dumps({"error": error}).encode())

    def _send(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_):
        """Say nothing."""


@contextmanager
def running_catalog(folder, port=None, settings=None):
    """Start a catalog, and end it afterwards; as `RestCatalog`."""
    catalog = RestCatalog(folder, port, settings)
    try:
        catalog.start()
        yield catalog
    finally:
        catalog.kill()


if __name__ == "__main__":
    sys.exit(0 if resolved(_MODULE, "rest") else 1)
