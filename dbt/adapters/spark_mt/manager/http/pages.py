"""Status page: every table, whether it meets its freshness, and if not, why.

Pages are rendered on the server, so that they work without scripts. A small script updates the
page, and draws the lineage and the chart of a table. Pages use the manager through its interface in
`manager/views.py` only.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.manager.http.pages_render import HEADERS, Renderer, here
from dbt.adapters.spark_mt.manager.http.pages_tables import (
    Choice,
    Row,
    advise,
    choose,
    counts,
    lineage_around,
    lineage_of,
)
from dbt.adapters.spark_mt.manager.views import ChangeView, RefreshRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from dbt.adapters.spark_mt.manager.http.auth import Access
    from dbt.adapters.spark_mt.manager.views import ManagerService, TableDetails, TableView


FOLDER = Path(__file__).parent / "static"


class _Files(StaticFiles):
    """Files of the pages, of which a browser asks each time whether they have changed."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:  # noqa: ANN401 - as Starlette's
        response = super().file_response(*args, **kwargs)
        response.headers["cache-control"] = "no-cache"
        return response


_MOST_FIELDS = 20
_KIND = "application/x-www-form-urlencoded"


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
    try:
        text = (await request.body()).decode("ascii")
        fields = parse_qsl(
            text, keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict"
        )
    except ValueError as error:
        raise FormError(400) from error
    return dict(fields)


def local_path(wanted: str) -> str:
    """Return where to go after signing in: a path of this site, `/` for anything else."""
    elsewhere = wanted.startswith("//") or "\\" in wanted or not wanted.isprintable()
    return wanted if wanted.startswith("/") and not elsewhere else "/"


FRESH_MS = 10_000
"""Younger than this, it is shown whatever happened since."""
OLDEST_MS = 60_000
"""Older than this, it is read again even if nothing is known to have happened."""
MOST = 64


@dataclass(frozen=True, slots=True)
class _Kept:
    details: TableDetails
    seen: TableView
    read_at_ms: int


class DetailsReader:
    """Reads the details of tables for pages that ask every few seconds.

    Args:
        service: Whose catalog is read.
        now: The clock, milliseconds.
    """

    def __init__(self, service: ManagerService, now: Callable[[], int]) -> None:
        self._service = service
        self._now = now
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    def read(self, view: TableView) -> TableDetails:
        """Return the details of a table, at most a minute old.

        Args:
            view: What the list shows of it now.

        Raises:
            MaterializedTableError: The catalog cannot be read.
        """
        with self._lock:
            kept = self._kept.get(view.name)
        if kept is not None and self._serves(kept, view):
            return kept.details
        read_at_ms = self._now()
        details = self._service.table(quoted(view.name))
        with self._lock:
            self._kept[view.name] = _Kept(details, view, read_at_ms)
            self._kept.move_to_end(view.name)
            while len(self._kept) > MOST:
                self._kept.popitem(last=False)
        return details

    def forget(self, name: str) -> None:
        """Read a table again for the next page: it was changed."""
        with self._lock:
            self._kept.pop(name, None)

    def _serves(self, kept: _Kept, view: TableView) -> bool:
        age = self._now() - kept.read_at_ms
        return age < FRESH_MS or (age < OLDEST_MS and _same(kept.seen, view))


def _same(one: TableView, other: TableView) -> bool:
    parts = ("status", "status_reason", "last_refresh_at_ms", "failures", "problem", "recent")
    return all(getattr(one, part) == getattr(other, part) for part in parts)


def quoted(name: str) -> str:
    """Write a full name as statements and services want it, every part in backticks."""
    return TableName.of(*name.split(".", 2)).sql


_NOT_ALLOWED = (
    "Nothing was done: this form does not belong to a session that is signed in. "
    "Sign in, open the page again, and repeat it."
)


class Actions:
    """The endpoints that take forms.

    Args:
        service: What is asked to act.
        access: Who may.
        renderer: Writes what came of it.
        details: Forgets what was changed.
    """

    def __init__(
        self,
        service: ManagerService,
        access: Access,
        renderer: Renderer,
        details: DetailsReader,
    ) -> None:
        self._service = service
        self._access = access
        self._renderer = renderer
        self._details = details
        self._verbs: dict[str, Callable[[str], ChangeView]] = {
            "suspend": service.suspend,
            "resume": service.resume,
            "refresh": self._refresh,
        }

    def sign_in_page(self, request: Request) -> Response:
        """Ask for the token."""
        leads_to = local_path(request.query_params.get("next", "/"))
        return self._renderer.sign_in_page(request, leads_to=leads_to)

    async def sign_in(self, request: Request) -> Response:
        """Begin a session."""
        try:
            form = await read_form(request)
        except FormError as error:
            return self._renderer.sign_in_page(request, status=error.status, problem=str(error))
        leads_to = local_path(form.get("next", "/"))
        response = _go(leads_to)
        if self._access.sign_in(request, response, form.get("token", "")):
            return response
        return self._renderer.sign_in_page(
            request, status=403, problem="That is not the manager's token.", leads_to=leads_to
        )

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
        return self._renderer.page(
            request, "outcome.html", change=change, problem="", table=change.table
        )

    def _refused(self, request: Request, text: str, status: int, table: str = "") -> Response:
        return self._renderer.page(
            request, "outcome.html", status=status, change=None, problem=text, table=table
        )

    def _act(self, verb: Callable[[str], ChangeView], name: str) -> ChangeView:
        try:
            return replace(verb(quoted(name)), table=name)
        finally:
            self._details.forget(name)

    def _refresh(self, name: str) -> ChangeView:
        submitted = self._service.refresh(RefreshRequest(name))
        message = f"A refresh has begun: job {submitted.job_id}."
        return ChangeView(name, "REFRESHING", message=message)


def _go(path: str) -> RedirectResponse:
    return RedirectResponse(path, status_code=303, headers=HEADERS)


def _system_clock() -> int:
    return time.time_ns() // 1_000_000


def router(
    service: ManagerService, access: Access, now: Callable[[], int] = _system_clock
) -> APIRouter:
    """Make the routes of the status page.

    Args:
        service: What is shown, and asked to act.
        access: Who may see it, and press its buttons.
        now: The clock, milliseconds since the epoch.
    """
    renderer = Renderer(service, access, now)
    details = DetailsReader(service, now)
    pages = Pages(service, access, renderer, details, now)
    actions = Actions(service, access, renderer, details)
    found = APIRouter(include_in_schema=False)
    found.routes.extend(
        (
            Route("/", pages.tables),
            Route("/tables/{name:path}", pages.table),
            Route("/login", actions.sign_in_page),
            Route("/login", actions.sign_in, methods=["POST"]),
            Route("/logout", actions.sign_out, methods=["POST"]),
            Route("/actions/{verb}", actions.act, methods=["POST"]),
            Route("/plan", actions.plan, methods=["POST"]),
            Mount("/static", _Files(directory=FOLDER)),
        )
    )
    return found


class Pages:
    """The endpoints that show something.

    Args:
        service: What is shown.
        access: Who may see it.
        renderer: Writes it.
        details: Reads tables from the catalog, not too often.
        now: The clock, milliseconds.
    """

    def __init__(
        self,
        service: ManagerService,
        access: Access,
        renderer: Renderer,
        details: DetailsReader,
        now: Callable[[], int],
    ) -> None:
        self._service = service
        self._access = access
        self._renderer = renderer
        self._details = details
        self._now = now

    def tables(self, request: Request) -> Response:
        """Show the list of tables, and their lineage."""
        if not self._access.may_read(request):
            return _to_sign_in(request)
        rows = self._rows()
        chosen = choose(tuple(rows.values()), Choice.of(request.query_params))
        return self._renderer.page(
            request,
            "tables.html",
            chosen=chosen,
            counts=counts(chosen.matching),
            all_counts=counts(rows.values()),
            total=len(rows),
            advice={row.key: advise(row, rows) for row in chosen.rows},
            rows=rows,
            lineage=lineage_of(chosen.rows, rows),
        )

    def table(self, request: Request) -> Response:
        """Show one table."""
        if not self._access.may_read(request):
            return _to_sign_in(request)
        name = request.path_params["name"]
        rows = self._rows()
        row = rows.get(name)
        if row is None:
            return self._renderer.page(request, "missing.html", status=404, name=name)
        details, problem = self._read(row)
        return self._renderer.page(
            request,
            "table.html",
            row=row,
            rows=rows,
            advice=advise(row, rows),
            details=details,
            details_problem=problem,
            readers=tuple(r.view.name for r in rows.values() if name in r.view.reads),
            lineage=lineage_around(row, rows),
        )

    def _rows(self) -> dict[str, Row]:
        now_ms = self._now()
        return {view.name: Row(view, now_ms) for view in self._service.tables()}

    def _read(self, row: Row) -> tuple[TableDetails | None, str]:
        try:
            return self._details.read(row.view), ""
        except MaterializedTableError as error:
            return None, str(error)


def _to_sign_in(request: Request) -> Response:
    query = urlencode({"next": here(request)})
    return RedirectResponse(f"/login?{query}", status_code=303, headers=HEADERS)
