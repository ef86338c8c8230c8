"""Tokens, sessions and origins, as rules; `test_auth_routes.py` has them for every route."""

from __future__ import annotations

import pytest
from starlette.requests import Request
from starlette.responses import Response

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.manager.http.auth import (
    MOST_ADDRESSES,
    PATIENCE_SECONDS,
    SESSION_SECONDS,
    WRONG_TOKENS,
    Access,
    AccessRules,
    Visitor,
    is_own_page,
)
from tests.support.errors import raises
from tests.unit.manager.http.client import OWN_PAGE, TOKEN


class Clock:
    """A time that does not move until it is moved."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def request(*, cookie="", scheme="http", client="127.0.0.1", **headers):
    found = {"host": "127.0.0.1:8765", **{k.replace("_", "-"): v for k, v in headers.items()}}
    if cookie:
        found["cookie"] = cookie
    raw = [(k.encode(), v.encode("latin-1")) for k, v in found.items()]
    scope = {"type": "http", "method": "POST", "path": "/", "query_string": b"", "scheme": scheme}
    return Request({**scope, "headers": raw, "client": (client, 50_000)})


def guarded(clock=None, token=TOKEN, **rules):
    return Access(AccessRules(token=token, **rules), clock or Clock())


def session(access, **headers):
    """The cookie of a new session, as a browser sends it."""
    response = Response()
    access.sign_in(request(**OWN_PAGE, **headers), response, TOKEN)
    return response.headers["set-cookie"].partition(";")[0]


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.9.9.9", "localhost", "LOCALHOST", "::1", "[::1]"]
)
def test_loopback_needs_no_token(host):
    assert not Access(AccessRules(host)).has_token


@pytest.mark.parametrize("host", ["10.0.0.7", "::", "manager.example.com", ""])
def test_other_addresses_need_a_token(host):
    with raises(conditions.TOKEN_REQUIRED) as error:
        Access(AccessRules(host))
    assert error.value.parameters["host"] == host
    assert Access(AccessRules(host, TOKEN)).has_token


def test_further_names_need_a_token():
    with raises(conditions.TOKEN_REQUIRED):
        Access(AccessRules(names=("Tables.example.com",)))


@pytest.mark.parametrize("others", [{"host": "::"}, {"host": "10.0.0.7"}, {"names": ("a.b",)}])
def test_reads_are_open_on_loopback_only(others):
    assert not guarded(open_reads=True).reading_needs_token
    assert guarded(open_reads=True, **others).reading_needs_token


@pytest.mark.parametrize(
    "token",
    ["", "sh0rt-Kn", "a" * 40, "has a blank inside it", "schlüssel-mit-umlaut"],
)
def test_weak_tokens_are_refused(token):
    with raises(conditions.WEAK_TOKEN) as error:
        guarded(token=token)
    assert not token or token not in str(error.value)


def test_rules_do_not_show_their_token():
    assert TOKEN not in repr(AccessRules(token=TOKEN))
    assert TOKEN not in str(vars(guarded())["_rules"])


@pytest.mark.parametrize(
    ("authorization", "visitor"),
    [
        (f"Bearer {TOKEN}", Visitor.TOKEN),
        (f"bearer  {TOKEN} ", Visitor.TOKEN),
        (f"Bearer {TOKEN}x", Visitor.NOBODY),
        (f"Bearer {TOKEN[:-1]}", Visitor.NOBODY),
        (f"Basic {TOKEN}", Visitor.NOBODY),
        (TOKEN, Visitor.NOBODY),
        ("Bearer", Visitor.NOBODY),
        ("Bearer \xff\xfe", Visitor.NOBODY),
    ],
)
def test_bearer(authorization, visitor):
    assert guarded().visitor(request(authorization=authorization)) is visitor


def test_a_session_stands_for_the_token():
    access = guarded()
    cookie = session(access)
    assert access.visitor(request(cookie=cookie)) is Visitor.SESSION
    assert access.is_signed_in(request(cookie=cookie))
    assert TOKEN not in cookie


def test_the_cookie_is_sent_to_no_other_site():
    response = Response()
    guarded().sign_in(request(**OWN_PAGE), response, TOKEN)
    attributes = {a.strip().lower() for a in response.headers["set-cookie"].split(";")[1:]}
    assert attributes == {"httponly", "samesite=strict", "path=/", f"max-age={SESSION_SECONDS}"}


def test_over_https_the_cookie_stays_there():
    response = Response()
    guarded().sign_in(request(scheme="https"), response, TOKEN)
    assert "; secure" in response.headers["set-cookie"].lower()


def test_sessions_end():
    clock = Clock()
    access = guarded(clock)
    cookie = session(access)
    clock.now += SESSION_SECONDS - 1
    assert access.is_signed_in(request(cookie=cookie))
    clock.now += 1
    assert not access.is_signed_in(request(cookie=cookie))


def test_signing_out_ends_the_session_everywhere():
    access = guarded()
    cookie, other, response = session(access), session(access), Response()
    access.sign_out(request(cookie=cookie), response)
    assert "max-age=0" in response.headers["set-cookie"].lower()
    assert not access.is_signed_in(request(cookie=cookie))
    assert access.is_signed_in(request(cookie=other))


def test_sessions_are_valid_after_a_restart_until_the_token_changes():
    cookie = session(guarded())
    assert guarded().is_signed_in(request(cookie=cookie))
    assert not guarded(token=TOKEN + "-2").is_signed_in(request(cookie=cookie))


@pytest.mark.parametrize("change", ["9", "x", ".", "\xff"])
def test_a_cookie_cannot_be_changed(change):
    access = guarded()
    name, _, value = session(access).partition("=")
    for at in range(len(value)):
        if value[at] != change:
            forged = value[:at] + change + value[at + 1 :]
            assert not access.is_signed_in(request(cookie=f"{name}={forged}"))


def test_a_wrong_token_begins_no_session():
    response = Response()
    with raises(conditions.WRONG_TOKEN):
        guarded().sign_in(request(**OWN_PAGE), response, TOKEN + "x")
    assert "set-cookie" not in response.headers


def test_without_a_token_there_is_no_sign_in():
    with raises(conditions.WRONG_TOKEN):
        Access(AccessRules()).sign_in(request(**OWN_PAGE), Response(), "")


def test_after_too_many_wrong_tokens_sign_in_is_limited_and_the_right_one_is_accepted():
    clock = Clock()
    access = guarded(clock)
    for _ in range(WRONG_TOKENS):
        with raises(conditions.WRONG_TOKEN):
            access.sign_in(request(**OWN_PAGE), Response(), "wrong")
        clock.now += 1
    with raises(conditions.TOO_MANY_TRIES) as error:
        access.sign_in(request(**OWN_PAGE), Response(), TOKEN + "x")
    assert error.value.parameters == {"seconds": str(PATIENCE_SECONDS - WRONG_TOKENS)}
    with raises(conditions.WRONG_TOKEN):
        access.sign_in(request(client="10.0.0.8", **OWN_PAGE), Response(), "wrong")
    session(access)
    assert access.visitor(request(authorization=f"Bearer {TOKEN}")) is Visitor.TOKEN
    clock.now += PATIENCE_SECONDS
    with raises(conditions.WRONG_TOKEN):
        access.sign_in(request(**OWN_PAGE), Response(), "wrong")


def test_the_addresses_of_wrong_tokens_are_remembered_up_to_a_limit():
    access = guarded()
    for number in range(MOST_ADDRESSES + 10):
        with raises(conditions.WRONG_TOKEN):
            access.sign_in(request(client=f"10.0.0.{number}", **OWN_PAGE), Response(), "wrong")
    assert len(access._wrong_tokens) == MOST_ADDRESSES


def test_forms_carry_the_token_of_their_session():
    access = guarded()
    first, second = session(access), session(access)
    csrf = access.csrf_token(request(cookie=first))
    assert access.may_act(request(cookie=first, **OWN_PAGE), csrf)
    assert not access.may_act(request(cookie=second, **OWN_PAGE), csrf)
    assert not access.may_act(request(cookie=first, **OWN_PAGE), "")
    assert not access.may_act(request(**OWN_PAGE), csrf)
    assert not access.may_act(request(**OWN_PAGE), "")
    assert not access.may_act(request(cookie=first, origin="http://evil.example"), csrf)
    assert csrf not in first


def test_without_a_session_there_is_nothing_to_forge():
    assert guarded().csrf_token(request()) == ""


@pytest.mark.parametrize(
    ("headers", "own"),
    [
        ({}, True),
        ({"origin": "http://127.0.0.1:8765"}, True),
        ({"origin": "https://127.0.0.1:8765"}, True),  # behind a proxy that supports TLS
        ({"origin": "http://127.0.0.1:3000"}, False),
        ({"origin": "http://evil.example"}, False),
        ({"origin": "null"}, False),
        ({"sec_fetch_site": "same-origin"}, True),
        ({"sec_fetch_site": "none"}, True),
        ({"sec_fetch_site": "same-site"}, False),
        ({"sec_fetch_site": "cross-site"}, False),
        ({"sec_fetch_site": "same-origin", "origin": "http://evil.example"}, False),
    ],
)
def test_where_a_request_came_from(headers, own):
    assert is_own_page(request(**headers)) is own


@pytest.mark.parametrize(
    ("host", "answers"),
    [
        ("127.0.0.1:8765", True),
        ("localhost", True),
        ("LocalHost:80", True),
        ("[::1]:8765", True),
        ("[::1]", True),
        ("tables.example.com", True),
        ("evil.example:8765", False),
        ("127.0.0.1.evil.example", False),
        ("localhost:8765.evil.example", False),
        ("", False),
    ],
)
def test_names_on_loopback(host, answers):
    assert guarded(names=("Tables.example.com",)).answers_to(host) is answers


def test_names_elsewhere():
    assert guarded(host="10.0.0.7").answers_to("whatever.example")


def test_an_address_of_its_own_on_loopback():
    assert Access(AccessRules("127.0.0.2")).answers_to("127.0.0.2:8765")
