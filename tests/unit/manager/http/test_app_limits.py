"""Limits of what a request may cost; a slow one delays no other."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.manager.http.app import (
    LARGEST_BODY,
    LARGEST_STATEMENT,
    MOST_HELD,
    BodyLimit,
)
from dbt.adapters.spark_mt.manager.http.errors import MOST_NAMED
from dbt.adapters.spark_mt.manager.http.routes import MOST_CALLS
from tests.unit.manager.http.client import (
    BEARER,
    DAILY,
    DAILY_FULL,
    JSON,
    TABLES,
    AccessRules,
    Client,
    problem,
)

if TYPE_CHECKING:
    import httpx

TOKEN = BEARER["authorization"].removeprefix("Bearer ")
PLAN = f"{TABLES}/plan"


def statement(length: int) -> bytes:
    """A JSON body of so many bytes."""
    frame = b'{"statement":""}'
    return frame[:-2] + b"x" * (length - len(frame)) + frame[-2:]


def test_a_body_as_long_as_allowed():
    client = Client(limits=lambda _: 2_000)
    answer = client.ask("POST", PLAN, content=statement(2_000), headers=JSON)
    assert problem(answer) == (400, "SYNTAX_ERROR")
    assert client.manager.requested[0][0] == "plan"


def test_a_body_that_says_that_it_is_longer():
    client = Client(limits=lambda _: 2_000)
    answer = client.ask("POST", PLAN, content=statement(2_001), headers=JSON)
    assert problem(answer) == (413, "REQUEST_TOO_LARGE")
    assert answer.json()["parameters"] == {"limit": "2000"}
    assert client.manager.requested == []


def test_forms_of_the_page_are_limited_as_well():
    client = Client(limits=lambda _: 2_000)
    kind = {"content-type": "application/x-www-form-urlencoded"}
    answer = client.ask("POST", "/login", content=b"token=" + b"x" * 2_000, headers=kind)
    assert problem(answer) == (413, "REQUEST_TOO_LARGE")


def test_a_body_that_ends_in_the_middle_is_not_used():
    """A form without its last bytes names another table."""
    messages = [
        {"type": "http.request", "body": b"table=flights", "more_body": True},
        {"type": "http.disconnect"},
    ]

    async def receive():
        return messages.pop(0)

    async def unused(*_):
        pytest.fail("the request was handled")

    scope = {"type": "http", "headers": [], "path": "/login"}
    asyncio.run(BodyLimit(unused, lambda _: 2_000)(scope, receive, unused))
    assert messages == []


def test_all_bodies_that_are_being_read_share_a_limit():
    held, refused = [], []

    async def app(*_):
        pytest.fail("a request was handled")

    async def run():
        limit = BodyLimit(app, lambda _: MOST_HELD)
        more = asyncio.Event()

        async def ask(parts):
            async def receive():
                if not parts:
                    held.append(1)
                    await more.wait()
                    return {"type": "http.disconnect"}
                return {"type": "http.request", "body": parts.pop(), "more_body": True}

            async def send(message):
                refused.append(message.get("status"))

            await limit({"type": "http", "headers": [], "path": "/login"}, receive, send)

        first = asyncio.create_task(ask([b"x" * (MOST_HELD - 10)]))
        while not held:
            await asyncio.sleep(0)
        await ask([b"x" * 11])
        more.set()
        await first
        assert refused[0] == 503
        assert limit._held == 0

    asyncio.run(run())


def test_the_longest_bodies_are_those_with_a_statement():
    client = Client()
    long = statement(LARGEST_BODY + 1)
    assert problem(client.ask("POST", PLAN, content=long, headers=JSON)) == (400, "SYNTAX_ERROR")
    for path in (f"{TABLES}/refresh", f"{TABLES}/{DAILY}/suspend", "/login", "/actions/refresh"):
        answer = client.ask("POST", path, content=long, headers={**JSON})
        assert problem(answer) == (413, "REQUEST_TOO_LARGE")
        assert answer.headers["connection"] == "close"


@pytest.mark.parametrize("form", [',"a%d":1', ',"a%d" : [1]', ',"a%d\\\\":{}'])
def test_a_body_of_many_keys_is_refused_before_it_is_parsed(form):
    body = ('{"statement":"x"' + "".join(form % n for n in range(50_000)) + "}").encode()
    answer = Client().ask("POST", PLAN, content=body, headers=JSON)
    assert problem(answer) == (400, "INVALID_REQUEST")
    assert answer.json()["violations"] == ["The body has more than 4,000 keys and strings."]


def test_a_statement_may_have_any_number_of_quotes():
    text = '"\\"' * 100_000
    client = Client()
    client.ask("POST", PLAN, json={"statement": text})
    assert client.manager.requested == [("plan", text)]


def test_of_many_violations_some_are_named():
    body = {f"a{number}": 1 for number in range(1_000)}
    found = Client().post(PLAN, body).json()["violations"]
    assert (len(found), found[-1]) == (MOST_NAMED + 1, "There are 951 more.")


def test_a_body_in_chunks_without_a_length_is_bounded():
    client = Client(limits=lambda _: 2_000)
    sent = []

    async def chunks():
        for _ in range(100):
            sent.append(1)
            yield b"x" * 500

    async def send() -> httpx.Response:
        async with client.open() as asking:
            return await asking.post(PLAN, content=chunks(), headers=JSON)

    assert problem(asyncio.run(send())) == (413, "REQUEST_TOO_LARGE")
    assert len(sent) <= 6, "it is not read to its end"


def test_chunks_that_fit_are_put_together():
    client = Client()
    body = statement(LARGEST_STATEMENT // 2)

    async def chunks():
        for at in range(0, len(body), 10_000):
            yield body[at : at + 10_000]

    async def send() -> httpx.Response:
        async with client.open() as asking:
            return await asking.post(PLAN, content=chunks(), headers=JSON)

    assert problem(asyncio.run(send())) == (400, "SYNTAX_ERROR")
    assert client.manager.requested == [("plan", "x" * (len(body) - 16))]


def test_nothing_is_read_before_it_is_known_who_asks():
    client = Client(rules=AccessRules(token=TOKEN))
    messages = []

    async def send() -> None:
        scope = {"type": "http", "method": "POST", "path": PLAN, "query_string": b""}
        scope |= {"scheme": "http", "server": ("127.0.0.1", 8765), "root_path": ""}
        scope |= {"headers": [(b"host", b"127.0.0.1:8765"), (b"content-length", b"99999999")]}

        async def receive():
            pytest.fail("somebody reads the body")

        async def answer(message):
            messages.append(message)

        await client.app(scope, receive, answer)

    asyncio.run(send())
    assert messages[0]["status"] == 401


def test_slow_calls_delay_no_other_request():
    """As many as may run are blocked; health, lists and metrics answer, another one is refused."""
    client = Client()
    begun, end = threading.Semaphore(0), threading.Event()

    def wait(_: str) -> None:
        begun.release()
        assert end.wait(60)

    client.manager.before = lambda method: wait(method) if method == "suspend" else None

    async def run() -> None:
        async with client.open(timeout=60) as asking:
            slow = [
                asyncio.create_task(asking.post(f"{TABLES}/{DAILY}/suspend", json={}))
                for _ in range(MOST_CALLS)
            ]
            await asyncio.gather(*(asyncio.to_thread(begun.acquire) for _ in slow))
            reads = ("/livez", "/readyz", TABLES, f"{TABLES}/{DAILY}", "/v3/manager", "/metrics")
            for path in reads:
                assert (await asking.get(path)).status_code == 200
            refused = await asking.post(f"{TABLES}/{DAILY}/resume", json={})
            assert problem(refused) == (503, "MANAGER_BUSY")
            assert int(refused.headers["retry-after"]) > 0
            end.set()
            answers = await asyncio.gather(*slow)
            assert sorted(answer.status_code for answer in answers) == [200] + [409] * 15
            assert (await asking.get(f"{TABLES}/{DAILY}")).status_code == 200

    asyncio.run(run())


def test_a_client_that_goes_away_frees_its_place():
    client = Client()
    begun, end = threading.Semaphore(0), threading.Event()

    def wait(_: str) -> None:
        begun.release()
        assert end.wait(60)

    client.manager.before = wait

    async def run() -> None:
        async with client.open(timeout=60) as asking:
            gone = asyncio.create_task(asking.post(f"{TABLES}/{DAILY}/suspend", json={}))
            await asyncio.to_thread(begun.acquire)
            gone.cancel()
            await asyncio.gather(gone, return_exceptions=True)
            end.set()
            calls = [asking.get(f"{TABLES}/{DAILY}") for _ in range(MOST_CALLS - 1)]
            answers = await asyncio.gather(*calls)
            assert {answer.status_code for answer in answers} == {200}

    asyncio.run(run())
    assert client.manager.table(DAILY_FULL).view.status == "SUSPENDED"
