"""Statements that a manager executes for a session, over a real HTTP server."""

from __future__ import annotations

import socket
import threading
from dataclasses import replace
from datetime import datetime, timezone
from types import SimpleNamespace

import pytest
from structlog.testing import capture_logs

from dbt.adapters.spark_mt.client import rest
from dbt.adapters.spark_mt.client.discovery import Discovered
from dbt.adapters.spark_mt.client.rest import ManagerRelay
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import ManagerUnreachableError, TableNotFoundError
from dbt.adapters.spark_mt.execution.context import LocalProcesses
from dbt.adapters.spark_mt.execution.results import Action, AdoptionTerms, RelayedStatement
from dbt.adapters.spark_mt.manager.http import routes
from dbt.adapters.spark_mt.manager.http.app import HttpServer, create_app
from dbt.adapters.spark_mt.manager.http.auth import Access, AccessRules
from tests.support.errors import raises
from tests.unit.manager.fake import FakeManager

CREATE = RelayedStatement("CREATE MATERIALIZED TABLE shop.t AS SELECT 1 AS n", "auto")
_PATIENCE_S = 30.0


@pytest.fixture
def manager():
    return FakeManager()


@pytest.fixture
def url(manager):
    server = HttpServer(create_app(manager, Access(AccessRules())), "127.0.0.1", 0)
    with capture_logs():
        server.start()
        yield server.url
        server.stop()


def relay_to(url, **arguments):
    found = Discovered(LocalProcesses().owner(), "sc://localhost:1", "token", url)
    used = []
    conf = SimpleNamespace(get=used.append)
    spark = SimpleNamespace(session_id="s1", conf=conf, used=used)
    return ManagerRelay(spark, found, lambda: (("dbt", "model.shop.t"),), **arguments)


def test_a_statement_is_executed_in_the_session(url, manager):
    outcome = relay_to(url)(CREATE).outcome
    assert outcome.action is Action.CREATED
    ((_, request),) = manager.requested
    assert (request.statement, request.session) == (CREATE, "s1")
    assert request.owner == (("dbt", "model.shop.t"),)


@pytest.mark.parametrize(
    "terms",
    [
        AdoptionTerms(),
        AdoptionTerms(if_equal=True),
        AdoptionTerms(datetime(2026, 11, 21, tzinfo=timezone.utc)),
    ],
    ids=["trusted", "compared", "as of an instant"],
)
def test_the_terms_of_an_adoption_reach_the_manager(url, manager, terms):
    statement = replace(CREATE, adopt=terms)
    relay_to(url)(statement)
    ((_, request),) = manager.requested
    assert request.statement == statement


def test_the_server_has_the_session_before_the_manager_asks_for_it(url):
    relay = relay_to(url)
    relay(CREATE)
    relay.columns("SELECT 1")
    assert len(relay._spark.used) == 1


def test_names_come_from_the_manager(url):
    assert "daily_report" in relay_to(url).names("flights", "spark_catalog")


def test_columns_come_from_the_session(url, manager):
    found = relay_to(url).columns("SELECT 1")
    assert found == manager.columns("SELECT 1", "s1")
    assert manager.requested == [("columns", ("SELECT 1", "s1"))] * 2


def test_its_error_is_that_of_the_statement(url, manager):
    with raises(conditions.NOT_EXECUTABLE) as caught:
        relay_to(url)(RelayedStatement("DROP MATERIALIZED TABLE t"))
    assert str(caught.value) == str(
        conditions.NOT_EXECUTABLE(statement="DROP MATERIALIZED TABLE t")
    )
    error = conditions.NOT_FOUND(table="shop.t")
    manager.before = lambda _: _raise(error)
    with pytest.raises(TableNotFoundError) as found:
        relay_to(url)(CREATE)
    assert str(found.value) == str(error)


def test_a_manager_that_is_gone():
    with pytest.raises(ManagerUnreachableError):
        relay_to("http://127.0.0.1:9")(CREATE)


@pytest.mark.parametrize(
    "ask",
    [
        lambda relay: relay(CREATE),
        lambda relay: relay.names("flights", "spark_catalog"),
        lambda relay: relay.columns("SELECT 1"),
    ],
)
def test_a_busy_manager_is_asked_again(url, manager, ask):
    assert conditions.MANAGER_BUSY.name == rest.BUSY
    left = [conditions.MANAGER_BUSY(limit=1), conditions.MANAGER_BUSY(limit=1)]
    manager.before = lambda _: _raise(left.pop()) if left else None
    pauses = []
    ask(relay_to(url, pause=pauses.append))
    assert pauses == [1.0, 1.0]


def test_a_statement_that_waits_for_a_busy_manager_is_cancelled(url, manager):
    left = [conditions.MANAGER_BUSY(limit=1)]
    manager.before = lambda method: _raise(left.pop()) if left and method == "execute" else None
    relay = relay_to(url, pause=lambda _: relay.cancel())
    with raises(conditions.MANAGER_BUSY):
        relay(CREATE)
    assert [method for method, _ in manager.requested] == ["execute", "interrupt"]


def test_cancelling_interrupts_what_runs(url, manager):
    interrupted = threading.Event()

    def before(method):
        if method == "interrupt":
            interrupted.set()
        elif method == "execute":
            relay.cancel()
            assert interrupted.wait(_PATIENCE_S)

    manager.before = before
    relay = relay_to(url)
    relay(CREATE)
    (_, executed), (_, request_id) = manager.requested
    assert request_id == executed.request_id
    relay.cancel()
    assert len(manager.requested) == 2


def test_a_client_that_goes_away_interrupts_its_statement(url, manager, monkeypatch):
    monkeypatch.setattr(routes, "WATCH_S", 0.01)
    began, interrupted = threading.Event(), threading.Event()

    failing = [OSError()]

    def before(method):
        if method == "interrupt":
            if failing:
                raise failing.pop()
            interrupted.set()
        elif method == "execute":
            began.set()
            interrupted.wait(_PATIENCE_S)

    manager.before = before
    host, _, port = url.removeprefix("http://").partition(":")
    body = b'{"statement": "CREATE MATERIALIZED TABLE t AS SELECT 1 AS n", "requestID": "r1"}'
    with socket.create_connection((host, int(port))) as client:
        client.sendall(
            b"POST /v3/materialized-tables/execute HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            b"Content-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
        )
        assert began.wait(_PATIENCE_S)
    assert interrupted.wait(_PATIENCE_S)
    assert ("interrupt", "r1") in manager.requested


def _raise(error):
    raise error
