"""REST client of the manager, with the standard library only.

Answers are the JSON values that the manager sends; their fields are those of `manager/views.py`.
The manager also executes statements for the sessions of its Spark Connect server.
"""

from __future__ import annotations

import json
import time
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from http.client import HTTPException
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
)

from dbt.adapters.spark_mt.client.liveness import watched
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import Column
from dbt.adapters.spark_mt.definition.conditions import made_again
from dbt.adapters.spark_mt.definition.errors import ManagerRefusedError, MaterializedTableError
from dbt.adapters.spark_mt.execution.results import result_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.client.discovery import Discovered
    from dbt.adapters.spark_mt.definition.columns import Pairs
    from dbt.adapters.spark_mt.execution.results import RelayedStatement, StatementResult


_TABLES = "/v3/materialized-tables"
_TIMEOUT_S = 30.0
_NO_CONTENT = 204
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})

Json = dict[str, Any]


PATIENCE_S = 24 * 3600.0
"""How long a statement may take: filling a table from a long log takes as long as it takes."""
BUSY = "MATERIALIZED_TABLE_MANAGER_BUSY"
"""The condition of a request that a manager does not begin, as others keep it busy."""
_BUSY_S = 1.0
_BUSY_TRIES = 300
"""A client that polls must not report a refresh as failed because others poll as well."""
_ANY_CONF = "spark.sql.session.timeZone"
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class ManagerClient:
    """A manager's REST interface.

    Args:
        url: `http://host:port`.
        token: What it asks for; empty if for nothing.
        timeout_s: How long to wait for an answer.
    """

    url: str
    token: str = field(default="", repr=False)
    timeout_s: float = _TIMEOUT_S

    def about(self) -> Json:
        """Return the manager's own state."""
        return self._ask("GET", "/v3/manager")

    def names(self, schema: str, catalog: str) -> list[str]:
        """Return the names of a schema's tables, as the registry has them now."""
        path = f"/v3/schemas/{quote(schema, safe='')}/materialized-tables"
        found: list[str] = self._ask("GET", f"{path}?catalog={quote(catalog, safe='')}")["names"]
        return found

    def tables(self) -> list[Json]:
        """Return every table, ordered by name."""
        found: list[Json] = self._ask("GET", _TABLES)["tables"]
        return found

    def table(self, name: str) -> Json:
        """Describe one table."""
        return self._ask("GET", f"{_TABLES}/{quote(name, safe='')}")

    def job(self, job_id: str) -> Json:
        """Return one refresh; a manager that is busy is asked again for a while.

        Raises:
            ManagerRefusedError: There is no such one, or the manager stays busy.
        """
        for _ in range(_BUSY_TRIES):
            try:
                return self._ask("GET", f"/v3/jobs/{quote(job_id, safe='')}")
            except ManagerRefusedError as error:  # noqa: PERF203 - as seldom as a refusal
                if error.answer.get("condition") != BUSY:
                    raise
                time.sleep(_BUSY_S)
        return self._ask("GET", f"/v3/jobs/{quote(job_id, safe='')}")

    def plan(self, statement: str) -> Json:
        """Plan a CREATE or ALTER statement."""
        return self._ask("POST", f"{_TABLES}/plan", {"statement": statement})

    def execute(
        self, statement: RelayedStatement, request_id: str, session: str, owner: Mapping[str, str]
    ) -> Json:
        """Let the manager carry out a statement in its driver; returns at its end.

        Args:
            statement: CREATE, ALTER or REFRESH of a materialized table.
            request_id: Names the request for `interrupt`.
            session: The id of a session of its Spark Connect server, in which it is carried out.
            owner: Who declares the table.

        Returns:
            Columns, rows and outcome, as `execution/results.py` knows them.
        """
        body: Json = {
            "statement": statement.text,
            "requestID": request_id,
            "sessionID": session,
            "owner": dict(owner),
        }
        if statement.refresh is not None:
            body["refreshPolicy"] = statement.refresh
        if (adopt := statement.adopt) is not None:
            body |= {"adopting": True, "ifEqual": adopt.if_equal}
            if adopt.as_of is not None:
                body["asOf"] = adopt.as_of.isoformat()
        return self._ask("POST", f"{_TABLES}/execute", body)

    def columns(self, query: str, session: str) -> list[Json]:
        """Return the columns that a query has in a session of the Spark Connect server."""
        path = f"/v3/sessions/{quote(session, safe='')}/columns"
        found: list[Json] = self._ask("POST", path, {"query": query})["columns"]
        return found

    def interrupt(self, request_id: str) -> None:
        """Interrupt what the statement of a request runs at this moment."""
        self._ask("POST", f"/v3/statements/{quote(request_id, safe='')}/interrupt", {})

    def refresh(
        self,
        name: str,
        *,
        schedule_time: str | None = None,
        pattern: str | None = None,
        config: Mapping[str, str] | None = None,
    ) -> str:
        """Begin a refresh.

        Args:
            name: The table's name, in backticks where it needs them.
            schedule_time: The scheduled time of a run that a scheduler starts.
            pattern: The Spark datetime pattern of `schedule_time`.
            config: Run options of this refresh only.

        Returns:
            The job's id.
        """
        body: Json = {"materializedTable": name, "isPeriodic": schedule_time is not None}
        if schedule_time is not None:
            body["scheduleTime"] = schedule_time
            if pattern is not None:
                body["scheduleTimeFormat"] = pattern
        if config:
            body["config"] = dict(config)
        return str(self._ask("POST", f"{_TABLES}/refresh", body)["jobID"])

    def _ask(self, method: str, path: str, body: Json | None = None) -> Json:
        opener = _opener(self.url)
        request = Request(self.url.rstrip("/") + path, method=method)  # noqa: S310 - see `_opener`
        request.add_header("Accept", "application/json")
        if self.token:
            request.add_header("Authorization", f"Bearer {self.token}")
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        try:
            with opener.open(request, timeout=self.timeout_s) as response:
                answer = {} if response.status == _NO_CONTENT else json.load(response)
        except HTTPError as error:
            raise self._refusal(error) from error
        except (OSError, HTTPException, ValueError) as error:
            problem = str(getattr(error, "reason", error) or type(error).__name__)
            raise conditions.MANAGER_UNREACHABLE(url=self.url, problem=problem) from error
        if not isinstance(answer, dict):
            raise conditions.MANAGER_UNREACHABLE(
                url=self.url, problem="the answer is not a manager's"
            )
        return answer

    def _refusal(self, error: HTTPError) -> MaterializedTableError:
        with error:
            try:
                answer = json.load(error)
            except ValueError:
                answer = {}
        problem: Json = answer if isinstance(answer, dict) else {}
        detail = problem.get("detail") or problem.get("title") or error.reason
        condition = problem.get("condition")
        return conditions.MANAGER_REFUSED(
            url=self.url,
            status=error.code,
            detail=f"[{condition}] {detail}" if condition else detail,
            advice=_advice(error.code, problem),
            violations=tuple(map(str, problem.get("violations") or ())),
            answer=problem,
        )


def _advice(status: int, problem: Json) -> str:
    if problem.get("remedy"):
        return str(problem["remedy"])
    if status == 401:
        return "Give the manager's token with --token-file or SPARK_MT_TOKEN."
    if status >= 500:
        return "Look into the manager's log. Nothing is known to have been done."
    return "Nothing was done."


def _opener(url: str) -> OpenerDirector:
    """Return an opener for HTTP alone. It follows no redirects: a token stays with the manager.

    A proxy is never asked for this machine's own addresses.

    Raises:
        ManagerUnreachableError: The address is not one of HTTP.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise conditions.MANAGER_UNREACHABLE(
            url=url, problem="it is no http:// or https:// address"
        )
    opener = OpenerDirector()
    for handler in (HTTPHandler, HTTPSHandler, HTTPErrorProcessor, HTTPDefaultErrorHandler):
        opener.add_handler(handler())
    if parts.hostname not in _LOOPBACK:
        opener.add_handler(ProxyHandler())
    return opener


@contextmanager
def _errors_of_statements() -> Iterator[None]:
    """Raise the error of a statement, which the manager sent, instead of the manager's refusal."""
    try:
        yield
    except ManagerRefusedError as error:
        document = error.answer
        condition, parameters = document.get("condition", ""), document.get("parameters", {})
        known = made_again(condition, parameters, document.get("violations", ()))
        if known is None:
            raise
        raise known from error


def relay_to(
    spark: SparkSession,
    manager: Discovered | None,
    owner: Callable[[], Pairs] = tuple,
    say: Callable[[str], object] = lambda _: None,
) -> ManagerRelay | None:
    """Return what executes statements in a session's driver; None without a manager with REST.

    `say` is called with a sentence when the manager does not answer for a while.
    """
    if manager is None or not manager.rest_url:
        return None
    return ManagerRelay(spark, manager, owner, say=say)


class ManagerRelay:
    """Executes statements of a session in the driver of the manager that serves it.

    There they are carried out in the same session, with its confs, current schema and temporary
    views.

    Args:
        spark: The session, of Spark Connect.
        manager: The manager.
        owner: Returns who declares the table of the statement that runs.
        pause: Waits some seconds.
        say: Called with a sentence when the manager does not answer for a while.
    """

    def __init__(
        self,
        spark: SparkSession,
        manager: Discovered,
        owner: Callable[[], Pairs] = tuple,
        pause: Callable[[float], None] = time.sleep,
        say: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._spark = spark
        self._manager = manager
        self._say = say
        self._client = ManagerClient(manager.rest_url, manager.rest_token, PATIENCE_S)
        self._owner = owner
        self._pause = pause
        self._is_interrupted: dict[str, bool] = {}
        """By the id of each request that is not answered yet."""

    def __call__(self, statement: RelayedStatement) -> StatementResult:
        """Execute a statement; returns at its end.

        A manager that carries out as many requests as it can is asked again each second.

        Raises:
            MaterializedTableError: The error of the statement.
            ManagerRefusedError: It failed for a reason that this release does not know.
            ManagerUnreachableError: The manager does not answer.
        """
        request_id = uuid.uuid4().hex
        self._is_interrupted[request_id] = False
        try:
            with _errors_of_statements():
                owner = dict(self._owner())
                ask = partial(self._client.execute, statement, request_id, self._session, owner)
                return result_of(self._patiently(ask, request_id))
        finally:
            del self._is_interrupted[request_id]

    def names(self, schema: str, catalog: str) -> frozenset[str]:
        """Return the names of a schema's tables, as the registry has them now.

        Raises:
            ManagerRefusedError: The manager cannot read it.
            ManagerUnreachableError: The manager does not answer.
        """
        return frozenset(self._patiently(partial(self._client.names, schema, catalog)))

    def columns(self, query: str) -> tuple[Column, ...]:
        """Return the columns that a query has in the session; nothing is computed.

        Raises:
            QueryError: Spark refuses the query.
            ManagerUnreachableError: The manager does not answer.
        """
        with _errors_of_statements():
            found = self._patiently(partial(self._client.columns, query, self._session))
        return tuple(Column(**each) for each in found)

    def cancel(self) -> None:
        """Interrupt what the statements run at this moment.

        Raises:
            ManagerUnreachableError: The manager does not answer.
        """
        for request_id in tuple(self._is_interrupted):
            self._is_interrupted[request_id] = True
            self._client.interrupt(request_id)

    @cached_property
    def _session(self) -> str:
        """The session's id. The server has the session from the first call on."""
        spark: Any = self._spark
        spark.conf.get(_ANY_CONF)
        return str(spark.session_id)

    def _patiently(self, ask: Callable[[], _T], request_id: str = "") -> _T:
        """Ask a manager that is busy again each second, until the request is interrupted."""
        while True:
            try:
                with watched(self._manager, self._say):
                    return ask()
            except ManagerRefusedError as error:
                if error.answer.get("condition") != BUSY:
                    raise
                refusal = error
            self._pause(_BUSY_S)
            if self._is_interrupted.get(request_id):
                raise refusal
