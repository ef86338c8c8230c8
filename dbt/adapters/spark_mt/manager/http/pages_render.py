"""Templates of the status page, and the headers of every page."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse, Response

from dbt.adapters.spark_mt.manager.http import pages_format
from dbt.adapters.spark_mt.manager.http.pages_format import sparkline
from dbt.adapters.spark_mt.manager.http.pages_tables import State

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from dbt.adapters.spark_mt.manager.http.auth import Access
    from dbt.adapters.spark_mt.manager.views import ManagerService


REFRESH_SECONDS = 5
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    # `no-referrer` would let browsers send `Origin: null` with our own forms.
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


def address_of(name: str) -> str:
    """The address of a table's page."""
    return f"/tables/{quote(name, safe='')}"


def breakable(name: str) -> Markup:
    """A name that may break into lines after a dot or an underscore."""
    return Markup(re.sub(r"([._])", r"\1<wbr>", str(escape(name))))  # noqa: S704 - escaped


@cache
def environment() -> Environment:
    """Templates that escape everything, and fail on undefined names."""
    found = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters.update(
        duration=pages_format.duration,
        count=pages_format.count,
        instant=pages_format.instant,
        machine_instant=pages_format.machine_instant,
        address=address_of,
        breakable=breakable,
        gist=pages_format.gist,
        sparkline=sparkline,
    )
    found.globals.update(
        State=State,
        chart=pages_format,
        plural=pages_format.plural,
        refresh_seconds=REFRESH_SECONDS,
    )
    return found


class Renderer:
    """Writes pages.

    Args:
        service: The manager that the frame of each page shows.
        access: Who may do what.
        now: The clock, milliseconds.
    """

    def __init__(self, service: ManagerService, access: Access, now: Callable[[], int]) -> None:
        self._service = service
        self._access = access
        self._now = now
        self._environment = environment()

    def page(
        self, request: Request, template: str, *, status: int = 200, **values: object
    ) -> Response:
        """Write a page with its frame."""
        now_ms = self._now()
        manager = self._service.about()
        text = self._environment.get_template(template).render(
            now_ms=now_ms,
            ago=lambda at_ms: pages_format.distance(at_ms, now_ms),
            short=lambda name: pages_format.short_name(name, manager.catalog),
            manager=manager,
            health=self._service.health(),
            has_token=self._access.has_token,
            signed_in=self._access.is_signed_in(request),
            csrf_token=self._access.csrf_token(request),
            here=here(request),
            **values,
        )
        return HTMLResponse(text, status, HEADERS)

    def sign_in_page(
        self, request: Request, *, status: int = 200, problem: str = "", leads_to: str = "/"
    ) -> Response:
        """Write the page that asks for the token; it shows nothing of the manager."""
        text = self._environment.get_template("login.html").render(
            problem=problem,
            leads_to=leads_to,
            has_token=self._access.has_token,
            signed_in=self._access.is_signed_in(request),
        )
        return HTMLResponse(text, status, HEADERS)


def here(request: Request) -> str:
    """The address of a request within this site, as the browser wrote it."""
    path = request.scope.get("raw_path") or quote(request.url.path).encode()
    query = f"?{request.url.query}" if request.url.query else ""
    return f"{path.decode('ascii', 'replace')}{query}"
