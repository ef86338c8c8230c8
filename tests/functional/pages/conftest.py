"""A real Chromium at the status page of a manager in memory, served by a real server."""

from __future__ import annotations

import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest
import uvicorn
from playwright.sync_api import sync_playwright

from dbt.adapters.spark_mt.manager.http.app import create_app
from dbt.adapters.spark_mt.manager.http.auth import Access, AccessRules
from tests.unit.manager.fake import FakeManager
from tests.unit.manager.http.site import TOKEN
from tests.unit.manager.http.special_names import tables_with_special_names
from tests.unit.manager.samples import many_tables, sample_tables

ROOT = Path(__file__).parents[3]
DESKTOP = {"width": 1360, "height": 900}
CATALOGS = {
    "sample": sample_tables,
    "empty": tuple,
    "one": lambda: sample_tables()[:1],
    "many": lambda: many_tables(1_000),
    "special": lambda: (*tables_with_special_names(), *sample_tables()),
}


@pytest.fixture(scope="session")
def browser():
    """One browser for all tests."""
    found = subprocess.run(  # noqa: S603 - our own script
        [ROOT / "tools" / "browser.sh"], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=found.stdout.strip())
        yield launched
        launched.close()


class Server:
    """A manager's HTTP server in a thread."""

    def __init__(self, manager: FakeManager, *, open_reads: bool) -> None:
        self.manager = manager
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        rules = AccessRules(token=TOKEN, open_reads=open_reads)
        config = uvicorn.Config(create_app(manager, Access(rules)), log_level="error")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True
        )

    def start(self) -> None:
        """Serve; returns when requests are answered."""
        self._thread.start()
        deadline = time.monotonic() + 20
        while not self._server.started:
            assert time.monotonic() < deadline, "the server does not start"
            time.sleep(0.01)

    def stop(self) -> None:
        """Stop serving."""
        self._server.should_exit = True
        self._thread.join(10)
        self._socket.close()


@pytest.fixture
def serve():
    """Starts servers, by the name of a catalog."""
    started = []

    def start(catalog: str = "sample", *, open_reads: bool = True) -> Server:
        server = Server(FakeManager(CATALOGS[catalog]()), open_reads=open_reads)
        server.start()
        started.append(server)
        return server

    yield start
    for server in started:
        server.stop()


@pytest.fixture
def server(serve):
    """A server of the sample."""
    return serve()


@pytest.fixture
def visit(browser):
    """Opens tabs; nothing may go wrong in any of them that the test does not expect."""
    contexts, complaints = [], []

    def opened(server: Server, path: str = "/", *, signed_in: bool = False, **options):
        context = browser.new_context(
            base_url=server.url, **{"viewport": DESKTOP, "locale": "en-GB", **options}
        )
        context.set_default_timeout(10_000)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: said.type == "error" and complaints.append(said.text))
        page.clock.install()
        page.on("request", lambda request: opened.requested.append(request.url))
        if signed_in:
            context.request.post("/login", form={"token": TOKEN})
        page.goto(path)
        return page

    opened.complaints, opened.requested = complaints, []
    yield opened
    for context in contexts:
        context.close()
    assert complaints == []
