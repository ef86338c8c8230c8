"""A small manager: its REST interface over a table list and jobs that a test sets.

Values and bodies are those of the real interface (`manager/views.py`, `manager/http/schemas.py`).
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition.freshness import FreshnessStatus
from dbt.adapters.spark_mt.manager.http.routes import RefreshTableRequest
from dbt.adapters.spark_mt.manager.http.schemas import JobAnswer, TableList
from dbt.adapters.spark_mt.manager.views import ScheduleView, TableView

if TYPE_CHECKING:
    from collections.abc import Iterator

TOKEN = "a-token-that-nobody-guesses"  # noqa: S105 - of a manager that ends with the test


def table(name: str, mode: str = "FULL", **more: Any) -> TableView:
    """A table of the list; ACTIVATED, refreshed every hour in UTC."""
    schedule = ScheduleView("every hour", "UTC", cron="0 * * * *")
    values: dict[str, Any] = {
        "freshness": "INTERVAL '1' HOUR",
        "freshness_seconds": 3600,
        "status": "ACTIVATED",
        "schedule": schedule if mode == "FULL" else None,
        **more,
    }
    return TableView(
        name=name,
        refresh_mode=mode,
        declared_refresh_mode=mode,
        status_reason="",
        engine="batch",
        strategy="recompute",
        reason="",
        activity="scheduled",
        freshness_status=FreshnessStatus.MET,
        lag_seconds=None,
        rows=None,
        last_refresh_at_ms=None,
        next_run_at_ms=None,
        failures=0,
        problem="",
        refresh_handler="",
        **values,
    )


def job(status: str, error: str = "") -> JobAnswer:
    """A job as the interface returns it."""
    return JobAnswer(
        job_id="job-1",
        table="c.s.t",
        kind="SCHEDULED",
        status=status,
        trigger="SCHEDULED",
        creates=False,
        refresh_mode="FULL",
        freshness="INTERVAL '1' HOUR",
        owner="process 1 on here",
        started_at_ms=0,
        last_heartbeat_ms=0,
        ended_at_ms=None if status == "RUNNING" else 1,
        rows=None if status == "RUNNING" else 7,
        error=error,
    )


class FakeManager:
    """What the interface returns, and what it was asked."""

    def __init__(self) -> None:
        self.url = ""
        self.tables: list[TableView] = []
        self.jobs: list[JobAnswer | None] = []
        """What each request for the job returns; None hangs up, and the last one stays."""
        self.requested: list[RefreshTableRequest] = []

    def get(self, path: str) -> tuple[int, dict[str, Any] | None]:
        """Answer a GET: status and body; None hangs up."""
        if path == "/v3/materialized-tables":
            return 200, asdict(TableList(tuple(self.tables), len(self.tables), None))
        if path == "/v3/jobs/job-1":
            found = self.jobs.pop(0) if len(self.jobs) > 1 else self.jobs[0]
            return 200, None if found is None else asdict(found)
        return 404, {"title": "Not found", "detail": path}

    def post(self, path: str, body: bytes) -> tuple[int, dict[str, Any]]:
        """Answer a POST."""
        if path != "/v3/materialized-tables/refresh":
            return 404, {"title": "Not found", "detail": path}
        self.requested.append(RefreshTableRequest.model_validate_json(body))
        return 200, {"jobID": "job-1", "clusterInfo": {}}


@contextmanager
def running() -> Iterator[FakeManager]:
    """Serve on a free port of this machine."""
    manager = FakeManager()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(*manager.get(self.path))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self._answer(*manager.post(self.path, body))

        def _answer(self, status: int, body: dict[str, Any] | None) -> None:
            if body is None:
                self.close_connection = True
                return
            if self.headers["Authorization"] != f"Bearer {TOKEN}":
                status, body = 401, {"title": "Unauthorized", "detail": "A token is needed."}
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(body, default=lambda value: value.value).encode())

        def log_message(self, *_args: object) -> None:
            """Not into the tests' output."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    manager.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield manager
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
