"""Random requests: an answer that can be read, and no access without the right to it."""

from __future__ import annotations

import asyncio
import json
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbt.adapters.spark_mt.manager.http.auth import AccessRules
from tests.unit.manager.http.client import DAILY, JSON, TABLES, TOKEN, Client, problem

OPEN = Client()
GUARDED = Client(rules=AccessRules("10.0.0.7", TOKEN))
KEYS = st.sampled_from(
    ["materializedTable", "isPeriodic", "scheduleTime", "scheduleTimeFormat", "config", "x"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just(DAILY),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(KEYS | st.text(), inner, max_size=4)
    ),
    max_leaves=8,
)


def is_answered(answer):
    return answer.status_code < 300 or problem(answer)[0] < 500


@settings(max_examples=100)
@given(st.dictionaries(KEYS, VALUES) | VALUES)
def test_any_body(body):
    content = json.dumps(body).encode()
    assert is_answered(OPEN.ask("POST", f"{TABLES}/refresh", content=content, headers=JSON))


@settings(max_examples=50)
@given(st.binary(max_size=200))
def test_any_bytes(content):
    assert is_answered(OPEN.ask("POST", f"{TABLES}/plan", content=content, headers=JSON))


@settings(max_examples=50)
@given(st.text(min_size=1, max_size=30), st.sampled_from(["", "/refreshes"]))
def test_any_name(name, rest):
    path = f"{TABLES}/{quote(name, safe='', errors='replace')}{rest}"
    assert is_answered(OPEN.get(path))


PARTS = ["static", "login", "livez", "v3", "manager", "metrics", "..", ".", "", "a b"]


@settings(max_examples=100)
@given(st.lists(st.sampled_from(PARTS), max_size=5))
def test_no_path_leads_around_the_guard(parts):
    status, text = answer_at("/" + "/".join(parts))
    is_open = parts in (["login"], ["livez"]) or (parts[:1] == ["static"] and len(parts) > 1)
    assert status in ({200, 404} if is_open else {401})
    assert "spark_mt_" not in text
    assert "term" not in text


def answer_at(path):
    """Status and text of a path as it is; clients tidy them up."""
    scope = {"type": "http", "method": "GET", "path": path, "query_string": b""}
    scope |= {"scheme": "http", "root_path": "", "headers": [(b"host", b"x")]}
    sent = []

    async def receive():
        return {"type": "http.request"}

    async def send(message):
        sent.append(message)

    asyncio.run(GUARDED.app(scope, receive, send))
    text = b"".join(message.get("body", b"") for message in sent)
    return sent[0]["status"], text.decode()


@pytest.mark.parametrize("key", [b'"\\ud800"', b'"a\\u0000b"'])
def test_texts_that_are_no_unicode(key):
    content = b'{"materializedTable":' + key + b"}"
    answer = OPEN.ask("POST", f"{TABLES}/refresh", content=content, headers=JSON)
    assert problem(answer)[0] == 400
