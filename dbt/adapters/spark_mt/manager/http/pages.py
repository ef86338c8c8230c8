"""Status page: every table, whether it meets its freshness, and if not, why.

Pages are rendered on the server, so that they work without scripts. A small script updates the
page, and draws the lineage and the chart of a table. Pages use the manager through its interface in
`manager/views.py` only.
"""

from __future__ import annotations

import re
import threading
import time
from collections import OrderedDict
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, urlencode

from fastapi import APIRouter
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.manager.http import pages_format, pages_tables
from dbt.adapters.spark_mt.manager.views import ChangeView, RefreshRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from dbt.adapters.spark_mt.manager.http.auth import Access
    from dbt.adapters.spark_mt.manager.views import ManagerService, TableDetails, TableView


FOLDER = Path(__file__).parent / "static"
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


FRESH_MS = 10_000
"""Younger than this, the details of a table are shown whatever happened since."""
OLDEST_MS = 60_000
"""Older than this, they are read again even if nothing is known to have happened."""
MOST = 64
_NOT_ALLOWED = (
    "Nothing was done: this form does not belong to a session that is signed in. "
    "Sign in, open the page again, and repeat it."
)
_MOST_FIELDS = 20
_KIND = "application/x-www-form-urlencoded"


def router(
    service: ManagerService,
    access: Access,
    now: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
) -> APIRouter:
    """Make the routes of the status page.

    Args:
        service: What is shown, and asked to act.
        access: Who may see it, and press its buttons.
        now: The clock, milliseconds since the epoch.
    """
    page = StatusPage(service, access, now)
    found = APIRouter(include_in_schema=False)
    found.routes.extend(
        (
            Route("/", page.tables),
            Route("/tables/{name:path}", page.table),
            Route("/login", page.sign_in_page),
            Route("/login", page.sign_in, methods=["POST"]),
            Route("/logout", page.sign_out, methods=["POST"]),
            Route("/actions/{verb}", page.act, methods=["POST"]),
            Route("/plan", page.plan, methods=["POST"]),
            Mount("/static", _Files(directory=FOLDER)),
        )
    )
    return found


class _Files(StaticFiles):
    """Files of the pages, of which a browser asks each time whether they have changed."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:  # noqa: ANN401 - as Starlette's
        response = super().file_response(*args, **kwargs)
        response.headers["cache-control"] = "no-cache"
        return response


class FormError(ValueError):
    """A form that no page of ours sends; its text says what is wrong with it.

    Args:
        status: The HTTP status that fits.
    """

    def __init__(self, status: int) -> None:
        only = "This address takes forms only."
        super().__init__(only if status == 415 else "The form cannot be read.")
        self.status = status


async def read_form(request: Request) -> dict[str, str]:
    """Read the fields of a form; of a repeated field, the last.

    The middleware limits the size of the body. `Request.form` of Starlette needs another package,
    python-multipart, for files, which no page sends.

    Raises:
        FormError: It is of another kind, or no UTF-8.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _KIND:
        raise FormError(415)
    body = await request.body()
    try:
        return await run_in_threadpool(_fields, body)
    except ValueError as error:
        raise FormError(400) from error


def _fields(body: bytes) -> dict[str, str]:
    text = body.decode("ascii")
    fields = parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict")
    return dict(fields)


def local_path(wanted: str) -> str:
    """Return where to go after signing in: a path of this site, `/` for anything else."""
    elsewhere = wanted.startswith("//") or "\\" in wanted or not wanted.isprintable()
    return wanted if wanted.startswith("/") and not elsewhere else "/"


class DetailsReader:
    """Reads the details of tables for pages that ask every few seconds."""

    def __init__(self, service: ManagerService, now: Callable[[], int]) -> None:
        self._service = service
        self._now = now
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[TableDetails, TableView, int]] = OrderedDict()

    def read(self, view: TableView) -> TableDetails:
        """Return the details of a table, at most a minute old.

        Args:
            view: What the list shows of it now.

        Raises:
            MaterializedTableError: The catalog cannot be read.
        """
        with self._lock:
            kept = self._kept.get(view.name)
        read_at_ms = self._now()
        if kept is not None:
            details, seen, kept_at_ms = kept
            age = read_at_ms - kept_at_ms
            if age < FRESH_MS or (age < OLDEST_MS and _same(seen, view)):
                return details
        details = self._service.table(_quoted(view.name))
        with self._lock:
            self._kept[view.name] = details, view, read_at_ms
            self._kept.move_to_end(view.name)
            while len(self._kept) > MOST:
                self._kept.popitem(last=False)
        return details

    def forget(self, name: str) -> None:
        """Read a table again for the next page: it was changed."""
        with self._lock:
            self._kept.pop(name, None)


def _same(one: TableView, other: TableView) -> bool:
    parts = ("status", "status_reason", "last_refresh_at_ms", "failures", "problem", "recent")
    return all(getattr(one, part) == getattr(other, part) for part in parts)


def _quoted(name: str) -> str:
    """Write a full name as statements and services want it, every part in backticks."""
    return TableName.of(*name.split(".", 2)).sql


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
        sparkline=pages_format.sparkline,
    )
    found.globals.update(
        State=pages_tables.State,
        chart=pages_format,
        plural=pages_format.plural,
        refresh_seconds=REFRESH_SECONDS,
    )
    return found


class StatusPage:
    """The endpoints of the status page."""

    def __init__(self, service: ManagerService, access: Access, now: Callable[[], int]) -> None:
        self._service = service
        self._access = access
        self._now = now
        self._details = DetailsReader(service, now)
        self._verbs: dict[str, Callable[[str], ChangeView]] = {
            "suspend": service.suspend,
            "resume": service.resume,
            "refresh": self._refresh,
        }

    def tables(self, request: Request) -> Response:
        """Show the list of tables, and their lineage."""
        if not self._access.may_read(request):
            return _to_sign_in(request)
        rows = self._rows()
        chosen = pages_tables.choose(
            tuple(rows.values()), pages_tables.Choice.of(request.query_params)
        )
        return self._page(
            request,
            "tables.html",
            chosen=chosen,
            counts=pages_tables.counts(chosen.matching),
            all_counts=pages_tables.counts(rows.values()),
            total=len(rows),
            advice={row.key: pages_tables.advise(row, rows) for row in chosen.rows},
            rows=rows,
            lineage=pages_tables.lineage_of(chosen.rows, rows),
        )

    def table(self, request: Request) -> Response:
        """Show one table."""
        if not self._access.may_read(request):
            return _to_sign_in(request)
        name = request.path_params["name"]
        rows = self._rows()
        row = rows.get(name) or next(
            (r for n, r in rows.items() if n.lower() == name.lower()), None
        )
        if row is None:
            return self._page(request, "missing.html", status=404, name=name)
        details: TableDetails | None = None
        problem = ""
        try:
            details = self._details.read(row.view)
        except MaterializedTableError as error:
            problem = str(error)
        return self._page(
            request,
            "table.html",
            row=row,
            rows=rows,
            advice=pages_tables.advise(row, rows),
            details=details,
            details_problem=problem,
            readers=tuple(r.view.name for r in rows.values() if name in r.view.reads),
            lineage=pages_tables.lineage_around(row, rows),
        )

    def _rows(self) -> dict[str, pages_tables.Row]:
        now_ms = self._now()
        return {view.name: pages_tables.Row(view, now_ms) for view in self._service.tables()}

    def sign_in_page(self, request: Request) -> Response:
        """Ask for the token."""
        leads_to = local_path(request.query_params.get("next", "/"))
        return self._sign_in_page(request, leads_to=leads_to)

    async def sign_in(self, request: Request) -> Response:
        """Begin a session."""
        try:
            form = await read_form(request)
        except FormError as error:
            return self._sign_in_page(request, status=error.status, problem=str(error))
        leads_to = local_path(form.get("next", "/"))
        response = _go(leads_to)
        try:
            self._access.sign_in(request, response, form.get("token", ""))
        except MaterializedTableError as error:
            return self._not_signed_in(request, error, leads_to)
        return response

    def _not_signed_in(
        self, request: Request, error: MaterializedTableError, leads_to: str
    ) -> Response:
        text = f"{error.kind.text} {error.kind.remedy}".format_map(error.parameters)
        status = 429 if error.kind is conditions.TOO_MANY_TRIES else 403
        found = self._sign_in_page(request, status=status, problem=text, leads_to=leads_to)
        if status == 429:
            found.headers["retry-after"] = error.parameters["seconds"]
        return found

    async def sign_out(self, request: Request) -> Response:
        """End a session."""
        response = _go("/")
        try:
            form = await read_form(request)
        except FormError as error:
            return self._refused(request, str(error), error.status)
        if self._access.may_act(request, form.get("csrf_token", "")):
            self._access.sign_out(request, response)
        return response

    async def act(self, request: Request) -> Response:
        """Suspend, resume or refresh a table."""
        verb = self._verbs.get(request.path_params["verb"])
        if verb is None:
            return self._refused(request, "There is no such button.", 404)
        return await self._on_form(request, "table", partial(self._act, verb))

    async def plan(self, request: Request) -> Response:
        """Plan an edited statement."""
        return await self._on_form(request, "statement", self._service.plan)

    async def _on_form(
        self, request: Request, field: str, action: Callable[[str], ChangeView]
    ) -> Response:
        try:
            form = await read_form(request)
        except FormError as error:
            return self._refused(request, str(error), error.status)
        if not self._access.may_act(request, form.get("csrf_token", "")):
            return self._refused(request, _NOT_ALLOWED, 403)
        try:
            change = await run_in_threadpool(action, form.get(field, ""))
        except MaterializedTableError as error:
            return self._refused(request, str(error), 409, form.get("table", ""))
        return self._page(request, "outcome.html", change=change, problem="", table=change.table)

    def _refused(self, request: Request, text: str, status: int, table: str = "") -> Response:
        return self._page(
            request, "outcome.html", status=status, change=None, problem=text, table=table
        )

    def _act(self, verb: Callable[[str], ChangeView], name: str) -> ChangeView:
        try:
            return replace(verb(_quoted(name)), table=name)
        finally:
            self._details.forget(name)

    def _refresh(self, name: str) -> ChangeView:
        submitted = self._service.refresh(RefreshRequest(name))
        message = f"A refresh has begun: job {submitted.job_id}."
        return ChangeView(name, "REFRESHING", message=message)

    def _page(
        self, request: Request, template: str, *, status: int = 200, **values: object
    ) -> Response:
        now_ms = self._now()
        manager = self._service.about()
        frame = environment().get_template(template)
        text = frame.render(
            now_ms=now_ms,
            ago=lambda at_ms: pages_format.distance(at_ms, now_ms),
            short=lambda name: pages_format.short_name(name, manager.catalog),
            manager=manager,
            health=self._service.health(),
            has_token=self._access.has_token,
            signed_in=self._access.is_signed_in(request),
            csrf_token=self._access.csrf_token(request),
            here=_here(request),
            **values,
        )
        return HTMLResponse(text, status, HEADERS)

    def _sign_in_page(
        self, request: Request, *, status: int = 200, problem: str = "", leads_to: str = "/"
    ) -> Response:
        """Write the page that asks for the token; it shows nothing of the manager."""
        frame = environment().get_template("login.html")
        text = frame.render(
            problem=problem,
            leads_to=leads_to,
            has_token=self._access.has_token,
            signed_in=self._access.is_signed_in(request),
        )
        return HTMLResponse(text, status, HEADERS)


def _here(request: Request) -> str:
    """The address of a request within this site, as the browser wrote it."""
    path = request.scope.get("raw_path") or quote(request.url.path).encode()
    query = f"?{request.url.query}" if request.url.query else ""
    return f"{path.decode('ascii', 'replace')}{query}"


def _go(path: str) -> RedirectResponse:
    return RedirectResponse(path, status_code=303, headers=HEADERS)


def _to_sign_in(request: Request) -> Response:
    return _go(f"/login?{urlencode({'next': _here(request)})}")
