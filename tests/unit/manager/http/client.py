"""A client that asks the application in memory, as a program or as a browser."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx

from dbt.adapters.spark_mt.manager.http.app import create_app
from dbt.adapters.spark_mt.manager.http.auth import Access, AccessRules
from tests.unit.manager.fake import FakeManager

TOKEN = "correct-horse-battery-staple"  # noqa: S105 - of no manager that exists
ORIGIN = "http://127.0.0.1:8765"
TABLES = "/v3/materialized-tables"
DAILY = "flights.daily_report"
DAILY_FULL = "spark_catalog.flights.daily_report"
JSON = {"content-type": "application/json"}
BEARER = {"authorization": f"Bearer {TOKEN}"}
OWN_PAGE = {"origin": ORIGIN, "sec-fetch-site": "same-origin"}


class Client:
    """Asks one application; keeps cookies as a browser does.

    Args:
        manager: The fake that it calls; a fresh one if left out.
        rules: Who may reach it; loopback without a token if left out.
        settings: For `create_app`.
    """

    def __init__(
        self,
        manager: FakeManager | None = None,
        rules: AccessRules | None = None,
        *,
        access: Access | None = None,
        **settings: Any,
    ) -> None:
        self.manager = manager or FakeManager()
        self.access = access or Access(rules or AccessRules())
        self.app = create_app(self.manager, self.access, **settings)
        self.cookies = httpx.Cookies()

    def open(self, **settings: Any) -> httpx.AsyncClient:
        """An asynchronous client, for several requests at a time."""
        transport = httpx.ASGITransport(self.app, client=("127.0.0.1", 50_000))
        return httpx.AsyncClient(
            transport=transport, base_url=ORIGIN, cookies=self.cookies, **settings
        )

    def ask(self, method: str, path: str, **request: Any) -> httpx.Response:
        """Send one request."""

        async def send() -> httpx.Response:
            async with self.open() as client:
                answer = await client.request(method, path, **request)
                self.cookies = client.cookies
                return answer

        return asyncio.run(send())

    def get(self, path: str, **request: Any) -> httpx.Response:
        """GET, for reading."""
        return self.ask("GET", path, **request)

    def post(self, path: str, body: object = None, **request: Any) -> httpx.Response:
        """POST, with a JSON body."""
        return self.ask("POST", path, json={} if body is None else body, **request)

    def sign_in(self, token: str = TOKEN) -> httpx.Response:
        """Type the token into the page."""
        return self.ask("POST", "/login", data={"token": token}, headers=OWN_PAGE)


def problem(answer: httpx.Response) -> tuple[int, str]:
    """Status and condition of a problem document, which must be a whole one."""
    assert answer.headers["content-type"] == "application/problem+json"
    found = answer.json()
    assert set(found) == {
        "type",
        "title",
        "status",
        "detail",
        "instance",
        "condition",
        "parameters",
        "violations",
        "remedy",
    }
    assert found["status"] == answer.status_code
    assert found["type"] == f"docs/errors.md#{found['condition'].lower()}"
    assert found["instance"] == f"urn:uuid:{answer.headers['x-request-id']}"
    return answer.status_code, found["condition"].removeprefix("MATERIALIZED_TABLE_")
