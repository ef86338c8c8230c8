"""Requests that schemathesis makes from openapi.json: no answer is an error of the manager."""

from __future__ import annotations

import pytest
import schemathesis
from hypothesis import settings

from dbt.adapters.spark_mt.manager.http.app import HttpServer, create_app, document
from dbt.adapters.spark_mt.manager.http.auth import Access, AccessRules
from tests.unit.manager.fake import FakeManager
from tests.unit.manager.http.client import BEARER, TOKEN

APP = create_app(FakeManager(), Access(AccessRules(token=TOKEN)))
schema = schemathesis.openapi.from_dict(document(APP))


@pytest.fixture(scope="module")
def url():
    """Where a server answers."""
    server = HttpServer(APP, "127.0.0.1", 0)
    server.start()
    yield server.url
    server.stop(5)


@schema.parametrize()
@settings(max_examples=20, derandomize=True, deadline=None, database=None)
def test_no_request_is_an_error_of_the_manager(case, url):
    answer = case.call(base_url=url, headers=BEARER)
    assert answer.status_code < 500, answer.text
