"""The status page: every table, whether it keeps its promise, and why not.

It is rendered here, so that it works without scripts; a small script renews it, draws the lineage
and the chart of a table. It knows the manager through `port.py` only.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from fastapi import APIRouter
from starlette.responses import RedirectResponse
from starlette.routing import Route

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.service.http import pages_static
from dbt.adapters.spark_mt.service.http.pages_actions import Actions
from dbt.adapters.spark_mt.service.http.pages_advice import advise
from dbt.adapters.spark_mt.service.http.pages_choice import Choice, choose
from dbt.adapters.spark_mt.service.http.pages_details import DetailsReader
from dbt.adapters.spark_mt.service.http.pages_lineage import lineage_around, lineage_of
from dbt.adapters.spark_mt.service.http.pages_render import HEADERS, Renderer, here
from dbt.adapters.spark_mt.service.http.pages_rows import Row, counts

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from dbt.adapters.spark_mt.service.http.pages_access import PageAccess
    from dbt.adapters.spark_mt.service.port import ManagerService
    from dbt.adapters.spark_mt.service.views import TableDetails


def _system_clock() -> int:
    return time.time_ns() // 1_000_000


def router(
    service: ManagerService, access: PageAccess, now: Callable[[], int] = _system_clock
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
    files = pages_static.load()
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
            Route("/static/{path:path}", lambda request: pages_static.send(request, files)),
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
        access: PageAccess,
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
