"""The status page over a manager in memory, and a reader of its HTML."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.testclient import TestClient

from dbt.adapters.spark_mt.manager.http.auth import Access, AccessRules
from dbt.adapters.spark_mt.manager.http.pages import router
from tests.unit.manager.samples import NOW_MS

if TYPE_CHECKING:
    from tests.unit.manager.fake import FakeManager

TOKEN = "correct-horse-battery-staple"  # noqa: S105 - of a manager in memory
VOID = {"meta", "link", "input", "br", "rect", "wbr"}
INLINE = {"a", "b", "span", "code", "strong", "time", "wbr"}


class Clock:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.ms = NOW_MS

    def __call__(self) -> int:
        return self.ms


class Site:
    """A browser without scripts at the status page."""

    def __init__(
        self, manager: FakeManager, *, token: str | None = TOKEN, open_reads: bool = True
    ) -> None:
        rules = AccessRules(token=token, open_reads=open_reads and token is not None)
        self.manager = manager
        self.clock = Clock()
        app = FastAPI()
        app.include_router(router(manager, Access(rules), self.clock))
        self.client = TestClient(app, base_url="http://127.0.0.1:8765", follow_redirects=False)

    def get(self, path: str, status: int = 200) -> Page:
        """Open a page."""
        response = self.client.get(path)
        assert response.status_code == status, response.text
        return Page(response.text)

    def sign_in(self) -> None:
        """Begin a session."""
        response = self.client.post("/login", data={"token": TOKEN, "next": "/"})
        assert response.status_code == 303

    def csrf_token(self) -> str:
        """What forms carry."""
        page = self.get("/")
        return page.attributes("input", name="csrf_token")[0]["value"]

    def press(self, verb: str, table: str, **fields: str):
        """Press a button of a table's page."""
        data = {"csrf_token": self.csrf_token(), "table": table, **fields}
        return self.client.post(f"/actions/{verb}", data=data)


class Page(HTMLParser):
    """The elements and the text of a page; every element must be closed where it was opened."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.html = html
        self.elements: list[tuple[str, dict[str, str]]] = []
        self._texts: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        self._texts.append("" if tag in INLINE else " ")

    def handle_endtag(self, tag):
        assert self._open.pop() == tag
        self._texts.append("" if tag in INLINE else " ")

    def handle_data(self, data):
        self._texts.append(data)

    @property
    def text(self) -> str:
        """What is read, with single blanks."""
        return " ".join("".join(self._texts).split())

    def attributes(self, tag: str, **wanted: str) -> list[dict[str, str]]:
        """The attributes of every element of a kind that has the wanted ones."""
        return [
            found
            for name, found in self.elements
            if name == tag and all(found.get(key) == value for key, value in wanted.items())
        ]
