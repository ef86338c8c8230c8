"""dbt connections and credentials: Spark sessions opened, cancelled and released for dbt."""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar

from dbt.adapters.contracts.connection import (
    AdapterResponse,
    Connection,
    ConnectionState,
    Credentials,
    LazyHandle,
)
from dbt.adapters.events.types import ConnectionUsed, SQLQuery, SQLQueryStatus
from dbt.adapters.exceptions.connection import FailedToConnectError
from dbt.adapters.sql.connections import SQLConnectionManager
from dbt_common.dataclass_schema import StrEnum
from dbt_common.events.contextvars import get_node_info
from dbt_common.events.functions import fire_event
from dbt_common.exceptions import DbtRuntimeError
from dbt_common.utils.casting import cast_to_str

from dbt.adapters.spark_mt.adapter.config import build_after, is_freshness_of_dbt
from dbt.adapters.spark_mt.adapter.responses import MaterializedTableResponse, response_of
from dbt.adapters.spark_mt.client import discovery
from dbt.adapters.spark_mt.client.target import SparkTarget, automatic_target, server_url
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError, MetastoreInUseError
from dbt.adapters.spark_mt.execution.leases import LeaseCache
from dbt.adapters.spark_mt.handle import (
    Cursor,
    SparkHandle,
    cancel_all,
    cancelled_error,
    logger,
    one_line,
    translated,
)
from dbt.adapters.spark_mt.spark.session.errors import failure_of, is_spark_error

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping
    from multiprocessing.context import SpawnContext

    from dbt.adapters.contracts.connection import AdapterRequiredConfig
    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.columns import Pairs
    from dbt.adapters.spark_mt.execution.results import AdoptionTerms, RefreshPolicy
    from dbt.adapters.spark_mt.statements.parser import ParsedStatement


_CONFS = "server_side_parameters"
_OWN_CATALOG = "spark_catalog"
_SECRET = re.compile(
    r"secret|password|passphrase|token|credential|(access|account|private)[._-]?key|://[^/@]*:[^/@]*@",
    re.IGNORECASE,
)
"""More than the default of Spark's `spark.redaction.regex`: keys of storage accounts, URLs too."""
_REDACTED = "*********(redacted)"


class ConnectionMethod(StrEnum):
    """How dbt connects to Spark."""

    auto = "auto"
    session = "session"
    connect = "connect"


@dataclass
class SparkMTCredentials(Credentials):
    """A target of the profile; `schema` is all that it needs.

    Args:
        database: The catalog, called `catalog` in the profile.
        schema: Where models go that name no schema of their own.
        method: `session` runs Spark in dbt's own process, `connect` uses a Spark Connect server;
            `auto` uses the Spark of the refresh manager that serves the same warehouse, and runs
            its own if there is none.
        host: Of the Spark Connect server, as a name or as `sc://name`.
        port: Of the Spark Connect server.
        token: What the Spark Connect server asks for, if it does.
        use_ssl: Whether the Spark Connect server uses TLS.
        server_side_parameters: Spark confs by name, for the Spark that is started or the session
            that is opened.
    """

    _ALIASES: ClassVar[dict[str, str]] = {"catalog": "database"}

    database: str = "spark_catalog"
    schema: str = ""
    method: ConnectionMethod = ConnectionMethod.auto
    host: str | None = None
    port: int = 15002
    token: str | None = None
    use_ssl: bool = False
    server_side_parameters: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the values against each other.

        Raises:
            DbtRuntimeError: The profile cannot work; everything that is wrong with it is named.
        """
        problems = []
        if not self.schema:
            problems.append("the profile needs `schema`, the schema that models go to")
        if "." in self.schema:
            catalog, _, schema = self.schema.partition(".")
            problems.append(
                f"`schema: {self.schema}` holds a catalog; write `catalog: {catalog}` and "
                f"`schema: {schema}`"
            )
        if self.method == ConnectionMethod.connect and not self.host:
            problems.append("`method: connect` needs `host`, where the Spark Connect server runs")
        if problems:
            raise DbtRuntimeError("; ".join(problems))
        self.server_side_parameters = {
            str(key): str(value).lower() if isinstance(value, bool) else str(value)
            for key, value in self.server_side_parameters.items()
        }

    @classmethod
    def translate_aliases(cls, kwargs: dict[str, Any], recurse: bool = False) -> dict[str, Any]:  # noqa: FBT001, FBT002 - dbt's signature
        """Apply the synonyms of keys; dbt asks for it at every level of a node's config, too.

        dbt has its own key `freshness`. It drops every value without `build_after`, and does not
        say so. So the interval is kept here as `freshness_interval`, rendered and with dbt's own
        precedence of levels. Within a level, an explicit `freshness_interval` wins over the
        `build_after` of dbt's mapping.
        """
        translated: dict[str, Any] = super().translate_aliases(kwargs, recurse)
        requested = translated.get("freshness")
        if requested is None or requested == {}:
            return translated
        explicit = translated.get("freshness_interval")
        if is_freshness_of_dbt(requested):
            if explicit is not None or build_after(requested) is None:
                return translated
        elif explicit is not None and explicit != requested:
            raise DbtRuntimeError("freshness and freshness_interval mean the same and differ")  # noqa: EM101, TRY003 - dbt's error class takes a text
        return {**translated, "freshness_interval": requested}

    @property
    def type(self) -> str:
        """The adapter's name in profiles."""
        return "spark_mt"

    @property
    def unique_field(self) -> str:
        """What dbt hashes to count installations."""
        return self.host or self.method.value

    @property
    def connect_url(self) -> str:
        """The Spark Connect URL, with the token in it."""
        return server_url(self.host or "", self.port, self.token, use_ssl=self.use_ssl)

    def connection_info(self, *, with_aliases: bool = False) -> Iterable[tuple[str, Any]]:
        """Return what `dbt debug` prints, with secrets left out."""
        for key, value in super().connection_info(with_aliases=with_aliases):
            yield key, {k: _shown(k, v) for k, v in value.items()} if key == _CONFS else value

    def _connection_keys(self) -> tuple[str, ...]:
        """What `dbt debug` prints."""
        server = ("host", "port") if self.method == ConnectionMethod.connect else ()
        return ("method", *server, "database", "schema", _CONFS)


def _shown(key: str, value: str) -> str:
    return _REDACTED if _SECRET.search(key) or _SECRET.search(value) else value


class SparkMTConnectionManager(SQLConnectionManager):
    """One Spark session per dbt connection, all in one Spark."""

    TYPE = "spark_mt"

    def __init__(self, profile: AdapterRequiredConfig, mp_context: SpawnContext) -> None:
        super().__init__(profile, mp_context)
        self._cancelling: Hashable | None = None
        """The thread that cancelled all others."""
        self._lease_cache = LeaseCache()
        """What was read of managers' leases, for all connections."""

    def set_connection_name(self, name: str | None = None) -> Connection:
        """Name this thread's connection, for what it does next.

        Raises:
            DbtRuntimeError: Another thread has cancelled this one.
        """
        if self._is_cancelled():
            raise cancelled_error()
        connection = super().set_connection_name(name)
        if connection.state != ConnectionState.OPEN:
            connection.handle = LazyHandle(self._open_unless_cancelled)
        return connection

    def _open_unless_cancelled(self, connection: Connection) -> Connection:
        opened = _opened(connection, self._lease_cache)
        # `cancel_open` sets its mark before it looks which connections are open. So it sees this
        # one, or this thread sees the mark.
        if self._is_cancelled():
            self.close(opened)
            raise cancelled_error()
        return opened

    def _is_cancelled(self) -> bool:
        return self._cancelling not in {None, self.get_thread_identifier()}

    @classmethod
    def open(cls, connection: Connection) -> Connection:
        """Open the connection's session, and start Spark when this is the first one.

        Raises:
            FailedToConnectError: Spark could not be reached or started; the reason is in it.
        """
        return _opened(connection, LeaseCache())

    def cancel(self, connection: Connection) -> None:
        """Stop what an open connection runs, and wait until it has stopped."""
        logger.debug(f"Cancelling connection '{connection.name}'")
        cancel_all([connection.handle])

    def cancel_open(self) -> list[str]:
        """Stop what all other threads run, and let none of them begin a statement.

        dbt's own method opens a connection that is not open yet, and a thread that opens it at the
        same moment then runs its statement to the end on a session that was not cancelled.

        Returns:
            The names of the connections.
        """
        mine = self.get_if_exists()
        self._cancelling = self.get_thread_identifier()
        with self.lock:
            others = [each for each in self.thread_connections.values() if each is not mine]
        cancel_all([each.handle for each in others if each.state == ConnectionState.OPEN])
        return [each.name for each in others if each.name is not None]

    @contextmanager
    def exception_handler(self, sql: str) -> Iterator[None]:
        """Turn every error of Spark or of ours into one that dbt prints well."""
        with translated(sql):
            yield

    def materialize(
        self,
        statement: ParsedStatement,
        *,
        refresh: RefreshPolicy = "auto",
        adopt: AdoptionTerms | None = None,
    ) -> MaterializedTableResponse:
        """Carry out a model's statement, with the events of `add_query`.

        Arguments are those of `MaterializedTables.materialize`.
        """
        connection, node = self.get_thread_connection(), get_node_info()
        name, sql = cast_to_str(connection.name), self._add_query_comment(statement.text)
        fire_event(ConnectionUsed(conn_type=self.TYPE, conn_name=name, node_info=node))
        with self.exception_handler(sql):
            fire_event(SQLQuery(conn_name=name, sql=sql, node_info=node))
            began = perf_counter()
            handle: SparkHandle = connection.handle
            with handle.busy(with_metadata=True):
                # Without the comment: one at the end would be a part of the query.
                outcome = handle.tables().materialize(statement, refresh=refresh, adopt=adopt)
            response = response_of(outcome)
            fire_event(
                SQLQueryStatus(
                    status=str(response),
                    elapsed=perf_counter() - began,
                    node_info=node,
                    query_id=response.query_id,
                )
            )
        return response

    @classmethod
    def get_response(cls, cursor: Cursor) -> AdapterResponse:
        """What the statement did, for the status line and `run_results.json`."""
        return response_of(cursor.outcome) if cursor.outcome else AdapterResponse(_message="OK")

    @classmethod
    def get_result_from_cursor(cls, cursor: Cursor, limit: int | None) -> Any:  # noqa: ANN401 - agate
        """The rows as an agate table; Spark computes them only now."""
        with translated("fetching rows"):
            return super().get_result_from_cursor(cursor, limit)

    @classmethod
    def data_type_code_to_name(cls, type_code: int | str) -> str:
        """Spark's own name of a type, which the cursor's description has already."""
        return str(type_code)

    def add_begin_query(self) -> None:
        """Nothing: Spark has no transactions over statements."""

    def add_commit_query(self) -> None:
        """Nothing: Spark has no transactions over statements."""


def target_of(credentials: SparkMTCredentials) -> SparkTarget:
    """The Spark that a connection works with now."""
    if credentials.method != ConnectionMethod.auto:
        url = credentials.connect_url if credentials.method == ConnectionMethod.connect else ""
        why = f"the profile says `method: {credentials.method.value}`"
        return SparkTarget(why, url, is_fixed=True)
    return automatic_target(credentials.server_side_parameters, Path.cwd(), logger.info)


def _opened(connection: Connection, lease_cache: LeaseCache) -> Connection:
    """As `SparkMTConnectionManager.open`, for connections that share what they know of managers."""
    if connection.state == ConnectionState.OPEN:
        return connection
    try:
        connection.handle = _open_handle(connection.credentials, lease_cache)
    except MaterializedTableError as error:
        connection.state = ConnectionState.FAIL
        raise FailedToConnectError(str(error)) from error
    except Exception as error:
        connection.state = ConnectionState.FAIL
        if not is_spark_error(error):
            raise
        raise FailedToConnectError(one_line(failure_of(error))) from error
    connection.state = ConnectionState.OPEN
    return connection


def _open_handle(credentials: SparkMTCredentials, lease_cache: LeaseCache) -> SparkHandle:
    from dbt.adapters.spark_mt.spark.launch import session  # noqa: PLC0415 - loads PySpark

    requested = credentials.server_side_parameters
    target = target_of(credentials)
    _log_target(target)
    if target.is_connect:
        spark = session.connect_spark(target.url, {}, is_near=target.manager is not None)
    else:
        is_first = not session.is_running_here()
        spark = _own_spark(requested, target).newSession()
        # Derby serves one process, so no manager has its catalog.
        if is_first and session.embedded_metastore(requested, Path.cwd()) is not None:
            lease_cache.exclude(_OWN_CATALOG)
    fixed = session.apply_confs(spark, requested)
    if fixed:
        _warn_of_fixed_confs(fixed)
    close = spark.stop if target.is_connect else None
    return SparkHandle(spark, owner=_owner, on_close=close, target=target, lease_cache=lease_cache)


def _own_spark(requested: Mapping[str, str], target: SparkTarget) -> SparkSession:
    from dbt.adapters.spark_mt.spark.launch import session  # noqa: PLC0415 - loads PySpark

    log = Path(os.environ.get("DBT_LOG_PATH", "logs")).absolute() / "spark.log"
    try:
        return session.classic_spark(requested, Path.cwd(), log, logger.warning)
    except MetastoreInUseError as error:
        reasons = [f"dbt was to run a Spark of its own: {target.why}."]
        manager = discovery.read(discovery.place(Path(error.parameters["metastore"])))
        if target.is_fixed and isinstance(manager, discovery.Discovered):
            who = f"The refresh manager ({manager.owner}) serves this metastore"
            reasons.append(f"{who}: with `method: auto` instead, dbt would work in its Spark.")
        raise conditions.METASTORE_IN_USE(violations=reasons, **error.parameters) from None


@cache
def _log_target(target: SparkTarget) -> None:
    """Log once in a process which Spark is used: that of a manager at level info."""
    if target.manager is not None:
        logger.info(f"Working in the Spark of the refresh manager ({target.manager.owner}).")
    else:
        logger.debug(
            f"Spark {'Connect' if target.is_connect else 'in this process'}: {target.why}."
        )


@cache
def _warn_of_fixed_confs(keys: tuple[str, ...]) -> None:
    """Warn once in a process that confs have no effect."""
    logger.warning(
        f"Spark is running already with other values of {', '.join(keys)}; these keep them."
    )


def _owner() -> Pairs:
    """The dbt node that runs in this thread, so that a table knows who declares it."""
    node = get_node_info().get("unique_id")
    return (("dbt", str(node)),) if node else ()
