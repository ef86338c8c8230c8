"""REST client of the manager, with the standard library only.

Answers are the JSON values that the manager sends; their fields are those of `manager/views.py`.
The manager also executes statements that a client of its Spark Connect server cannot.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import TYPE_CHECKING, Any
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

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.execution.results import result_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.client.discovery import Discovered
    from dbt.adapters.spark_mt.execution.results import StatementResult


_TABLES = "/v3/materialized-tables"
_TIMEOUT_S = 30.0
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})

Json = dict[str, Any]


class ManagerUnreachableError(MaterializedTableError):
    """No manager answers at the URL."""

    condition = "MATERIALIZED_TABLE_MANAGER_UNREACHABLE"
    text = "No manager answers at {url}: {problem}."
    remedy = (
        "Start it with `spark-mt serve`, or correct --url; without --url the manager of the same "
        "warehouse is asked, if there is one. Nothing is known to have been done."
    )


class ManagerRefusedError(MaterializedTableError):
    """The manager refused a request, or failed at it; `answer` has its own condition.

    Args:
        violations: As the manager listed them.
        answer: The problem document.
        parameters: `url`, `status`, `detail` and `advice`.
    """

    condition = "MATERIALIZED_TABLE_MANAGER_REFUSED"
    text = "The manager at {url} answered {status}: {detail}"
    remedy = "{advice}"

    def __init__(
        self, *, violations: Sequence[str] = (), answer: Json | None = None, **parameters: object
    ) -> None:
        self.answer: Json = answer or {}
        super().__init__(violations=violations, **parameters)


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

    def tables(self) -> list[Json]:
        """Return every table, ordered by name."""
        found: list[Json] = self._ask("GET", _TABLES)["tables"]
        return found

    def table(self, name: str) -> Json:
        """Describe one table."""
        return self._ask("GET", f"{_TABLES}/{quote(name, safe='')}")

    def job(self, job_id: str) -> Json:
        """Return one refresh."""
        return self._ask("GET", f"/v3/jobs/{quote(job_id, safe='')}")

    def plan(self, statement: str) -> Json:
        """Plan a CREATE or ALTER statement."""
        return self._ask("POST", f"{_TABLES}/plan", {"statement": statement})

    def execute(self, statement: str, catalog: str, schema: str, owner: Mapping[str, str]) -> Json:
        """Let the manager carry out a statement in its driver; returns at its end.

        Args:
            statement: CREATE, ALTER or REFRESH of a materialized table.
            catalog: Where names without a catalog belong.
            schema: Where names without a schema belong.
            owner: Who declares the table.

        Returns:
            Columns, rows and outcome, as `execution/results.py` knows them.
        """
        body: Json = {
            "statement": statement,
            "currentCatalog": catalog,
            "currentSchema": schema,
            "owner": dict(owner),
        }
        return self._ask("POST", f"{_TABLES}/execute", body)

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
                answer = json.load(response)
        except HTTPError as error:
            raise self._refusal(error) from error
        except (OSError, HTTPException, ValueError) as error:
            problem = str(getattr(error, "reason", error) or type(error).__name__)
            raise ManagerUnreachableError(url=self.url, problem=problem) from error
        if not isinstance(answer, dict):
            raise ManagerUnreachableError(url=self.url, problem="the answer is not a manager's")
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
        return ManagerRefusedError(
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
        raise ManagerUnreachableError(url=url, problem="it is no http:// or https:// address")
    opener = OpenerDirector()
    for handler in (HTTPHandler, HTTPSHandler, HTTPErrorProcessor, HTTPDefaultErrorHandler):
        opener.add_handler(handler())
    if parts.hostname not in _LOOPBACK:
        opener.add_handler(ProxyHandler())
    return opener


PATIENCE_S = 24 * 3600.0
"""How long a statement may take: filling a table from a long log takes as long as it takes."""


def relayed(
    spark: SparkSession, manager: Discovered, statement: str, owner: Mapping[str, str]
) -> StatementResult:
    """Carry out a statement in the driver of the manager that serves this session.

    Args:
        spark: The session, in whose current schema names belong.
        manager: The manager.
        statement: The statement.
        owner: Who declares the table.

    Raises:
        ManagerRefusedError: It failed there; the manager's own error is in it.
        ManagerUnreachableError: The manager does not answer.
    """
    catalog, schema = spark.catalog.currentCatalog(), spark.catalog.currentDatabase()
    client = ManagerClient(manager.rest_url, manager.rest_token, PATIENCE_S)
    return result_of(client.execute(statement, catalog, schema, owner))
