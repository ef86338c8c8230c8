"""S3 server of a test run, which counts its requests; it runs in the environment .work/lake.

`python tests/lake/s3_server.py` prints its port and serves until its standard input ends. Requests
are served one at a time, so that a conditional PUT is atomic, as S3 documents it.
"""

from __future__ import annotations

import json
import sys
import time
from threading import Lock, Thread
from urllib.parse import parse_qs, unquote

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

CONTROL = "/--control/"


class CountedRequests:
    """WSGI application that notes each request to S3 and passes it on.

    `GET /--control/requests` returns the requests since the last such call, as pairs of a kind and
    a key. `GET /--control/hold?seconds=…` makes later PUTs of Delta's commits wait before they
    are carried out, as on a slow connection.
    """

    def __init__(self, application) -> None:
        self._application = application
        self._requests: list[tuple[str, str]] = []
        self._hold_s = 0.0
        self._one_at_a_time = Lock()

    def __call__(self, environ, start_response):
        path = unquote(environ["PATH_INFO"])
        if path.startswith(CONTROL):
            return self._control(path, environ["QUERY_STRING"], start_response)
        kind = kind_of(environ)
        prefix = parse_qs(environ["QUERY_STRING"]).get("prefix", [""])[0] if kind == "LIST" else ""
        self._requests.append((kind, f"{path}/{prefix}".strip("/")))
        if kind == "PUT" and is_commit(path):
            time.sleep(self._hold_s)
        with self._one_at_a_time:
            return list(self._application(environ, start_response))

    def _control(self, path: str, query: str, start_response):
        answer: object = None
        if path == CONTROL + "requests":
            answer, self._requests = self._requests, []
        elif path == CONTROL + "hold":
            self._hold_s = float(parse_qs(query)["seconds"][0])
        body = json.dumps(answer).encode()
        headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
        start_response("200 OK", headers)
        return [body]


def kind_of(environ) -> str:
    """The kind of a request: its method, but LIST for a listing and COPY for a copy."""
    method, query = environ["REQUEST_METHOD"], environ["QUERY_STRING"]
    if method == "GET" and ("list-type=" in query or "prefix=" in query):
        return "LIST"
    if method == "PUT" and "HTTP_X_AMZ_COPY_SOURCE" in environ:
        return "COPY"
    if method == "POST" and "delete" in query:
        return "DELETE"
    return method


def is_commit(path: str) -> bool:
    directory, _, name = path.rpartition("/")
    return directory.endswith("/_delta_log") and name.endswith(".json") and name[0].isdigit()


class _Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_request(self, *_args) -> None:
        """Nothing: the requests are counted."""


def main() -> None:
    application = CountedRequests(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=_Quiet)
    Thread(target=server.serve_forever, daemon=True).start()
    print("serving", server.server_port, flush=True)  # noqa: T201 - read by `running_store`
    sys.stdin.read()
    server.shutdown()


if __name__ == "__main__":
    main()
