"""What the buttons of the status page do: sign in and out, suspend, resume, refresh, plan."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.service.http.pages_details import quoted
from dbt.adapters.spark_mt.service.http.pages_forms import FormError, local_path, read_form
from dbt.adapters.spark_mt.service.http.pages_render import HEADERS
from dbt.adapters.spark_mt.service.views import ChangeView, RefreshRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from dbt.adapters.spark_mt.service.http.pages_access import PageAccess
    from dbt.adapters.spark_mt.service.http.pages_details import DetailsReader
    from dbt.adapters.spark_mt.service.http.pages_render import Renderer
    from dbt.adapters.spark_mt.service.port import ManagerService

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
        access: PageAccess,
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
        """Tell what an edited statement would do."""
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
