"""Keeping tables fresh in one's own driver, from Python."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.positions import FollowedPosition
from dbt.adapters.spark_mt.execution.host import Host, Wanted
from dbt.adapters.spark_mt.execution.hosting import HostedTable
from dbt.adapters.spark_mt.execution.hosting_errors import HostingOverConnectError
from dbt.adapters.spark_mt.execution.refreshes import Refreshes
from dbt.adapters.spark_mt.execution.stored import existing_table
from dbt.adapters.spark_mt.resolution.query_shape import row_shape
from dbt.adapters.spark_mt.spark.environment import SparkEnvironment
from dbt.adapters.spark_mt.statements.routing import parse_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.definition.positions import Positions
    from dbt.adapters.spark_mt.execution.host_progress import HostProgress
    from dbt.adapters.spark_mt.execution.results import StatementOutcome


class TableHosting:
    """Follows the sources of CONTINUOUS tables for as long as this process lives.

    The host needs nothing but the tables themselves: whoever changes, suspends or drops one by a
    statement, from wherever, need not know of it.
    """

    _spark: SparkSession
    _environment: SparkEnvironment
    _host: Host | None = None
    _making_host = Lock()

    def start(self, name: str) -> None:
        """Keep a table fresh from now on, in threads of this process.

        Args:
            name: The table's name, in backticks where it needs them.

        Raises:
            MaterializedTableError: There is no such table.
            HostingOverConnectError: The session is one of Spark Connect.
        """
        table = self._full_name(name)
        existing_table(self._environment.value, table)
        self._hosting().start(table)

    def stop(self, name: str) -> None:
        """Stop keeping a table fresh, between two batches.

        Raises:
            NotHostedError: It is not kept fresh here.
        """
        self._hosting().stop(self._full_name(name))

    def stop_all(self) -> None:
        """Stop keeping any table fresh."""
        if self._host is not None:
            self._host.close()

    def progress(self, name: str) -> HostProgress:
        """Return how a table does that is kept fresh here, or was.

        Raises:
            NotHostedError: It never was.
        """
        return self._hosting().progress(self._full_name(name))

    def await_fresh(self, name: str, timeout: float) -> HostProgress:
        """Wait until a table reflects everything that its sources have now.

        Args:
            name: The table's name, in backticks where it needs them.
            timeout: The longest time to wait, in seconds.

        Raises:
            NotHostedError: It is not kept fresh here.
            NotFreshError: It is not fresh by then, or cannot become it; the error says why.
        """
        table = self._full_name(name)
        environment = self._environment.value
        self._environment.details.forget()
        resolved = existing_table(environment, table).definition.resolved
        analyzed = environment.stored_analyzer.analyze_stored(resolved)
        followed = row_shape(resolved, analyzed).followed
        now = environment.sources.positions(analyzed.sources)
        told = {s: at for s in followed if isinstance(at := now[s], FollowedPosition)}
        since_ms = environment.now_ms() if len(told) < len(followed) else 0
        names = {source.name for source in analyzed.sources if str(source.name) in told}

        def are_of_these_sources(positions: Positions) -> bool:
            return all(
                environment.sources.is_readable(source, position)
                for source in names
                if isinstance(position := positions[str(source)], FollowedPosition)
            )

        wanted = Wanted(told, are_of_these_sources, since_ms)
        return self._hosting().await_fresh(table, wanted, timeout)

    def _tell_host(self, outcome: StatementOutcome | None) -> None:
        """Let the host look at a table at once that a statement changed; others it finds itself."""
        if self._host is None or outcome is None or outcome.action is None:
            return
        for name in self._host.hosted():
            if str(name) == outcome.table:
                self._host.notice(name)

    def _full_name(self, name: str) -> TableName:
        return self._environment.value.store.full_name(parse_name(name))

    def _hosting(self) -> Host:
        with self._making_host:
            if self._host is None:
                if self._environment.value.streams is None:
                    raise HostingOverConnectError
                self._host = Host(self._hosted)
            return self._host

    def _hosted(self, name: TableName) -> HostedTable:
        """A table has ports of its own: what one remembers is nothing to the others."""
        value = SparkEnvironment(self._spark).value
        return HostedTable(name, value, Refreshes(value))
