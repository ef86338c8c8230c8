"""Opens, cancels and asks Spark sessions on behalf of dbt."""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbt.adapters.contracts.connection import Connection, ConnectionState
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.exceptions.connection import FailedToConnectError
from dbt.adapters.sql.connections import SQLConnectionManager
from dbt_common.events.contextvars import get_node_info

from dbt.adapters.spark_mt import discovery
from dbt.adapters.spark_mt.credentials import ConnectionMethod, SparkMTCredentials
from dbt.adapters.spark_mt.cursor import Cursor, SparkHandle
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.discovery import Discovered
from dbt.adapters.spark_mt.failures import one_line, translated
from dbt.adapters.spark_mt.response import response_of
from dbt.adapters.spark_mt.spark.errors import failure_of, is_spark_error
from dbt.adapters.spark_mt.ways import Way, automatic_way

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dbt.adapters.contracts.connection import AdapterResponse
    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.definition import Pairs

logger = AdapterLogger("SparkMT")


class SparkMTConnectionManager(SQLConnectionManager):
    """One Spark session per dbt connection, beside each other in one Spark."""

    TYPE = "spark_mt"

    @classmethod
    def open(cls, connection: Connection) -> Connection:
        """Open the connection's session, and start Spark when this is the first one.

        Raises:
            FailedToConnectError: Spark could not be reached or started; the reason is in it.
        """
        if connection.state == ConnectionState.OPEN:
            return connection
        try:
            connection.handle = _open_handle(connection.credentials)
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

    def cancel(self, connection: Connection) -> None:
        """Stop what the connection runs, and wait until it has stopped."""
        logger.debug(f"Cancelling connection '{connection.name}'")
        connection.handle.cancel()

    @contextmanager
    def exception_handler(self, sql: str) -> Iterator[None]:
        """Turn every error of Spark or of ours into one that dbt prints well."""
        with translated(sql):
            yield

    @classmethod
    def get_response(cls, cursor: Cursor) -> AdapterResponse:
        """What the statement did, for the status line and `run_results.json`."""
        return response_of(cursor.outcome)

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


def way_of(credentials: SparkMTCredentials) -> Way:
    """Which Spark a connection would work with now, and why."""
    if credentials.method == ConnectionMethod.connect:
        return Way("the profile says `method: connect`", credentials.connect_url, is_fixed=True)
    if credentials.method == ConnectionMethod.session:
        return Way("the profile says `method: session`", is_fixed=True)
    return automatic_way(credentials.server_side_parameters, Path.cwd(), _say_that_we_wait)


def _open_handle(credentials: SparkMTCredentials) -> SparkHandle:
    from dbt.adapters.spark_mt.spark import session  # noqa: PLC0415 - loads PySpark

    asked = credentials.server_side_parameters
    way = way_of(credentials)
    _tell(way)
    if way.is_connect:
        spark = session.connect_spark(way.url, {}, is_near=way.manager is not None)
        handle = SparkHandle(spark, owner=_owner, on_close=spark.stop, way=way)
    else:
        spark = _own_spark(asked, way).newSession()
        handle = SparkHandle(spark, owner=_owner, way=way)
    fixed = session.apply_confs(spark, asked)
    if fixed:
        _warn_of_fixed_confs(fixed)
    return handle


def _own_spark(asked: Mapping[str, str], way: Way) -> SparkSession:
    from dbt.adapters.spark_mt.spark import session  # noqa: PLC0415 - loads PySpark
    from dbt.adapters.spark_mt.spark.derby import MetastoreInUseError  # noqa: PLC0415

    log = Path(os.environ.get("DBT_LOG_PATH", "logs")).absolute() / "spark.log"
    try:
        return session.classic_spark(asked, Path.cwd(), log)
    except MetastoreInUseError as error:
        reasons = _why_not_the_managers(way, Path(error.parameters["metastore"]))
        raise MetastoreInUseError(violations=reasons, **error.parameters) from None


def _why_not_the_managers(way: Way, metastore: Path) -> list[str]:
    """Why dbt wanted a Spark of its own for a metastore that another process holds."""
    reasons = [f"dbt was to run a Spark of its own: {way.why}."]
    manager = discovery.read(discovery.place(metastore))
    if way.is_fixed and isinstance(manager, Discovered):
        who = f"The refresh manager ({manager.owner}) serves this metastore"
        reasons.append(f"{who}: with `method: auto` instead, dbt would work in its Spark.")
    return reasons


@cache
def _tell(way: Way) -> None:
    """Say once in a process which Spark is used; loudly when the profile does not say it."""
    if way.manager is not None:
        logger.info(f"Working in the Spark of the refresh manager ({way.manager.owner}).")
    else:
        logger.debug(f"Spark {'Connect' if way.is_connect else 'in this process'}: {way.why}.")


def _say_that_we_wait(manager: Discovered) -> None:
    logger.info(f"Waiting for the refresh manager to start ({manager.owner}) …")


@cache
def _warn_of_fixed_confs(keys: tuple[str, ...]) -> None:
    """Say once in a process that confs have no effect."""
    logger.warning(
        f"Spark is running already with other values of {', '.join(keys)}; these keep them."
    )


def _owner() -> Pairs:
    """The dbt node that runs in this thread, so that a table knows who declares it."""
    node = get_node_info().get("unique_id")
    return (("dbt", str(node)),) if node else ()
