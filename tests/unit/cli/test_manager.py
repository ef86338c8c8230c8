"""Commands that ask a manager, over a real HTTP server."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from structlog.testing import capture_logs

from dbt.adapters.spark_mt.cli import refresh
from dbt.adapters.spark_mt.client import discovery
from dbt.adapters.spark_mt.client.rest import ManagerClient
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import ManagerRefusedError, ManagerUnreachableError
from dbt.adapters.spark_mt.definition.job import JobStatus
from dbt.adapters.spark_mt.execution.context import LocalProcesses
from dbt.adapters.spark_mt.manager.http.app import HttpServer, create_app
from dbt.adapters.spark_mt.manager.http.auth import Access, AccessRules
from tests.unit.manager.fake import FakeManager
from tests.unit.manager.samples import full_name

TOKEN = "0123456789abcdef0123456789abcdef"  # noqa: S105 - of the test's own manager
CREATE = "CREATE MATERIALIZED TABLE flights.new_one AS SELECT 1"


class EagerManager(FakeManager):
    """A manager whose refreshes end as soon as a client asks for the second time."""

    def __init__(self) -> None:
        super().__init__()
        self.looks = 0
        self.error = ""

    def job(self, job_id):
        self.looks += 1
        found = super().job(job_id)
        if found is not None and found.ended_at_ms is None and self.looks > 1:
            self.looks = -99
            status = JobStatus.FAILED if self.error else JobStatus.FINISHED
            self.finish(job_id, status, self.error)
            self.looks = 0
            return super().job(job_id)
        return found


@pytest.fixture
def manager():
    """A manager in memory."""
    return EagerManager()


@pytest.fixture
def url(manager):
    """Where it answers."""
    server = HttpServer(create_app(manager, Access(AccessRules(token=TOKEN))), "127.0.0.1", 0)
    with capture_logs():
        server.start()
        yield server.url
        assert server.stop()


@pytest.fixture
def asking(run, url, nowhere, monkeypatch):
    """Runs a command that asks the manager, with its token in a file."""
    monkeypatch.setattr(refresh, "_FIRST_POLL_S", 0.01)
    file = nowhere / "token"
    file.write_text(f"{TOKEN}\n")
    file.chmod(0o600)

    def asking(*arguments):
        return run(*arguments, "--url", url, "--token-file", str(file))

    return asking


def test_status_as_json(asking, manager):
    done = asking("status", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert [table["name"] for table in found["tables"]] == [v.name for v in manager.tables()]
    assert found["manager"]["role"] == "ACTIVE"
    assert TOKEN not in done.output


def test_status_as_text(asking, manager):
    done = asking("status")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("manager: process 4711 on node-1")
    for view in manager.tables():
        assert view.name.rpartition(".")[2] in done.stdout


def test_status_of_some(asking):
    done = asking("status", "flights.*daily*", "--json")
    names = [table["name"] for table in json.loads(done.stdout)["tables"]]
    assert names
    assert all("daily" in name for name in names)


def test_a_refresh_is_waited_for(asking, manager):
    name = manager.tables()[0].name
    done = asking("refresh", name, "--json")
    assert done.exit_code == 0, done.output
    (row,) = json.loads(done.stdout)
    assert (row["table"], row["status"], row["rows"], row["error"]) == (name, "REFRESHED", 10, "")
    (requested,) = [what for method, what in manager.requested if method == "refresh"]
    assert (requested.table, requested.is_periodic) == (name, False)


def test_a_failed_refresh_has_its_reason(asking, manager):
    manager.error = "[SPARK_JOB_CANCELLED] nobody wanted it"
    done = asking("refresh", manager.tables()[0].name)
    assert done.exit_code == 1
    assert "nobody wanted it" in done.stderr
    assert "1 table, 1 failed" in done.stdout


def test_waiting_is_optional(asking, manager):
    done = asking("refresh", manager.tables()[0].name, "--no-wait", "--json")
    (row,) = json.loads(done.stdout)
    assert row["status"] == "SUBMITTED"
    assert manager.job(row["job_id"]).ended_at_ms is None


def test_a_scheduled_time_is_shown_in_the_zone_of_the_table(asking, manager):
    name, schedule = next((v.name, v.schedule) for v in manager.tables() if v.schedule)
    manager.change(name, schedule=replace(schedule, zone="America/New_York"))
    assert asking("refresh", name, "--scheduled", "2026-01-02T05:00:00Z").exit_code == 0
    assert asking("refresh", name, "--scheduled", "2026-01-02 00:00").exit_code == 0
    requested = [what for method, what in manager.requested if method == "refresh"]
    assert {each.schedule_time for each in requested} == {"2026-01-02 00:00:00"}
    assert {each.schedule_time_format for each in requested} == {"yyyy-MM-dd HH:mm:ss"}
    assert all(each.is_periodic for each in requested)


def test_all_tables_upstream_first(asking, manager):
    done = asking("refresh", "--all", "--json")
    rows = json.loads(done.stdout)
    active = {view.name: view for view in manager.tables() if view.status == "ACTIVATED"}
    assert {row["table"] for row in rows} == set(active)
    turns = {row["table"]: turn for turn, row in enumerate(rows)}
    upstream = [(name, r) for name, view in active.items() for r in view.reads if r in active]
    assert upstream
    assert all(turns[read] < turns[name] for name, read in upstream)


def test_a_refusal_has_everything_that_the_manager_says(asking):
    done = asking("refresh", "flights.nope")
    assert done.exit_code == 1
    assert "[MATERIALIZED_TABLE_NOT_FOUND]" in done.stderr
    assert "answered 404" in done.stderr
    assert "SHOW MATERIALIZED TABLES lists" in done.stderr


def test_plans(asking):
    done = asking("plan", CREATE, "--json")
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    assert (answer["table"], answer["action"]) == ("spark_catalog.flights.new_one", "CREATED")
    refused = asking("plan", CREATE.replace("SELECT 1", "SELECT 1 AS dropped_column"))
    assert refused.exit_code == 1
    assert "REFUSED" in refused.stdout


def test_without_the_token(run, url):
    done = run("refresh", full_name("x"), "--url", url)
    assert done.exit_code == 1
    assert "[MATERIALIZED_TABLE_UNAUTHENTICATED]" in done.stderr


def test_a_token_of_the_environment(run, url, monkeypatch):
    monkeypatch.setenv("SPARK_MT_TOKEN", TOKEN)
    assert run("status", "--json", "--url", url).exit_code == 0


def test_a_token_file_that_others_can_read(run, url, nowhere):
    (nowhere / "token").write_text(TOKEN)
    (nowhere / "token").chmod(0o644)
    done = run("status", "--url", url, "--token-file", "token")
    assert done.exit_code == 0
    assert "chmod 600" in done.stderr
    (nowhere / "token").chmod(0o440)  # as systemd and Kubernetes give it
    assert run("status", "--url", url, "--token-file", "token").stderr == ""
    (nowhere / "token").chmod(0o600)
    (nowhere / "token").write_text("")
    (nowhere / "token").chmod(0o600)
    assert run("status", "--url", url, "--token-file", "token").exit_code == 2


@pytest.mark.parametrize("content", [b"\xff\xfe", TOKEN.encode("utf-16"), b"\x80" * 40])
def test_a_token_file_that_is_no_text(run, url, nowhere, content):
    (nowhere / "token").write_bytes(content)
    (nowhere / "token").chmod(0o600)
    for command in ("status", "serve"):
        more = ("--url", url) if command == "status" else ()
        done = run(command, *more, "--token-file", "token")
        assert done.exit_code == 2
        assert "not text in UTF-8" in done.stderr


def discover(nowhere, **found):
    """Let a manager of this folder's warehouse have written its file."""
    file = discovery.place(nowhere / "metastore_db")
    discovery.write(file, discovery.Discovered(owner=LocalProcesses().owner(), **found))


def test_a_manager_of_the_same_warehouse_is_found(run, shop, url, nowhere, manager):
    discover(nowhere, rest_url=url, rest_token=TOKEN)
    done = run("status", "--json")
    assert len(json.loads(done.stdout)["tables"]) == len(manager.tables())
    assert shop.opened == []


PROFILES = """
shop:
  outputs: {default: {type: spark_mt, schema: flights, catalog: spark_catalog}}
"""


def test_a_refresh_looks_names_up_where_the_models_of_the_profile_are(
    run, shop, url, nowhere, manager, monkeypatch
):
    monkeypatch.setattr(refresh, "_FIRST_POLL_S", 0.01)
    discover(nowhere, rest_url=url, rest_token=TOKEN)
    (nowhere / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    (nowhere / "profiles.yml").write_text(PROFILES)
    full = manager.tables()[0].name
    _, schema, name = full.split(".")
    quoted = ".".join(f"`{part}`" for part in full.split("."))
    for text in (f"`{name}`", f"{schema}.`{name}`", quoted):
        done = run("refresh", text, "--json")
        assert done.exit_code == 0, done.output
    requested = [what.table for method, what in manager.requested if method == "refresh"]
    assert requested == [quoted] * 3
    done = run("refresh", f"{schema}.*")
    assert done.exit_code == 1
    assert "[MATERIALIZED_TABLE_SYNTAX_ERROR]" in done.stderr
    assert "1 table, 1 failed" in done.stdout
    assert shop.opened == []


def test_a_manager_that_does_not_answer_gets_no_request(run, shop, nowhere):
    discover(nowhere, rest_url="http://127.0.0.1:9", rest_token=TOKEN)
    assert json.loads(run("status", "--json").stdout) == {"manager": None, "tables": []}
    assert len(shop.opened) == 1


def test_once_asks_no_manager(run, shop, url, nowhere, manager):
    discover(nowhere, rest_url=url, rest_token=TOKEN)
    assert run("refresh", "--once", "--all").exit_code == 0
    assert manager.requested == []
    assert len(shop.opened) == 1


class OtherServer(BaseHTTPRequestHandler):
    """Answers as no manager does; `seen` has the headers of every request."""

    seen: list = []  # noqa: RUF012 - one server at a time

    def do_GET(self):
        self.seen.append(dict(self.headers))
        answers = {
            "/html": (200, b"<html>"),
            "/list": (200, b"[]"),
            "/elsewhere": (302, b""),
            "/broken": (502, b"<h1>Bad gateway</h1>"),
        }
        status, body = answers["/" + self.path.split("/")[1]]
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/list/v3/manager")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def other_server():
    """Where something answers that is no manager."""
    OtherServer.seen.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), OtherServer)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("path", ["html", "list"])
def test_what_is_no_manager(other_server, path):
    with pytest.raises(ManagerUnreachableError):
        ManagerClient(f"{other_server}/{path}").about()


def test_a_token_follows_no_redirect(other_server):
    with pytest.raises(ManagerRefusedError) as caught:
        ManagerClient(f"{other_server}/elsewhere", TOKEN).about()
    assert caught.value.parameters["status"] == "302"
    assert [headers["Authorization"] for headers in OtherServer.seen] == [f"Bearer {TOKEN}"]


def test_a_gateway_between(other_server):
    with pytest.raises(ManagerRefusedError) as caught:
        ManagerClient(f"{other_server}/broken").about()
    assert "Bad Gateway" in str(caught.value)
    assert "log" in str(caught.value)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:9", "ftp://127.0.0.1/", "file:///etc/passwd", "nonsense", "http://"]
)
def test_no_manager_at_the_address(url):
    with pytest.raises(ManagerUnreachableError) as caught:
        ManagerClient(url, TOKEN).about()
    assert TOKEN not in str(caught.value)
    assert TOKEN not in repr(ManagerClient(url, TOKEN))


def test_a_proxy_is_not_asked_for_this_machine(url, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    assert ManagerClient(url, TOKEN).about()["pid"] != os.getpid()


class SilentClient:
    """A manager that does not answer for some questions; each takes ten seconds."""

    def __init__(self, silent, error=TimeoutError):
        self.silent, self.error, self.now = silent, error, 0.0

    def client(self, monkeypatch):
        def job(_, job_id):
            self.now += 10
            if self.silent:
                self.silent -= 1
                raise conditions.MANAGER_UNREACHABLE(url="u", problem="p") from self.error()
            return {"job_id": job_id, "status": "FINISHED"}

        monkeypatch.setattr(ManagerClient, "job", job)
        return ManagerClient("http://127.0.0.1:1")


def test_waiting_for_a_manager_without_an_answer_prints_a_line_a_minute(monkeypatch, capsys):
    silent = SilentClient(20)
    client = silent.client(monkeypatch)
    job = refresh._ended_job(client, "j1", lambda: silent.now, lambda _: None)
    assert job["status"] == "FINISHED"
    said = capsys.readouterr().err.splitlines()
    assert [line.partition("answered for ")[2].split(".")[0] for line in said] == [
        "10 s",
        "1 min 10 s",
        "2 min 10 s",
        "3 min 10 s",
    ]
    assert all(client.url in line for line in said)


@pytest.mark.parametrize(("silent", "error"), [(1, ConnectionRefusedError), (99, TimeoutError)])
def test_a_manager_that_ended_or_does_not_answer_for_long_is_not_waited_for(
    monkeypatch, silent, error
):
    fake = SilentClient(silent, error)
    client = fake.client(monkeypatch)
    with pytest.raises(ManagerUnreachableError):
        refresh._ended_job(client, "j1", lambda: fake.now, lambda _: None)
