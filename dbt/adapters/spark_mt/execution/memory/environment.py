"""The environment of a connection to a catalog in memory."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING
from uuid import uuid4

from dbt.adapters.spark_mt.definition.definition import QueryContext
from dbt.adapters.spark_mt.execution.conduct import Conduct, ManualHeartbeat, in_turn
from dbt.adapters.spark_mt.execution.environment import Environment
from dbt.adapters.spark_mt.execution.managers import Managers
from dbt.adapters.spark_mt.execution.memory.catalog import MemoryCatalog
from dbt.adapters.spark_mt.execution.memory.content import MemoryContent
from dbt.adapters.spark_mt.execution.memory.leases import MemoryLeases
from dbt.adapters.spark_mt.execution.memory.observer import MemoryTableObserver
from dbt.adapters.spark_mt.execution.memory.queries import MemoryQueries, Query
from dbt.adapters.spark_mt.execution.memory.runner import MemoryStepRunner
from dbt.adapters.spark_mt.execution.memory.sources import MemorySourceReader
from dbt.adapters.spark_mt.execution.memory.store import MemoryTableStore
from dbt.adapters.spark_mt.execution.memory.streams import MemoryStreamRunner, Ports
from dbt.adapters.spark_mt.execution.memory.system_log import MemoryProcesses, MemorySystemLog
from dbt.adapters.spark_mt.resolution.settings import Settings
from dbt.adapters.spark_mt.resolution.zones import SESSION_TIME_ZONE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from dbt.adapters.spark_mt.definition.columns import Column
    from dbt.adapters.spark_mt.execution.memory.content import Predicate
    from dbt.adapters.spark_mt.execution.memory.queries import Evaluate

CONTEXT = QueryContext("spark_catalog", "default", ((SESSION_TIME_ZONE, "UTC"),))


class MemoryEnvironment:
    """A session in memory: what it can see, where it stands, and its environment.

    Args:
        clock: Returns the current instant, aware.
        confs: The settings of the session.

    Attributes:
        catalog: The tables; users' commits go here.
        context: Where queries are analysed; may be set.
        confs: The settings of the session; may be changed.
        log: What was told about tables and refreshes.
        processes: Says which owners of refreshes are gone.
        leases: Where managers tell that they hold a catalog.
        heartbeat: Lets refreshes that are under way say so.
        streams: Runs the streams of hosted tables.
        value: The ports.
    """

    def __init__(
        self,
        clock: Callable[[], datetime] = lambda: datetime.now(tz=timezone.utc),
        confs: Mapping[str, str] | None = None,
    ) -> None:
        self.context = CONTEXT
        self.confs = dict(confs or {})

        def now_ms() -> int:
            return int(clock().timestamp() * 1000)

        self.catalog = MemoryCatalog(now_ms)
        self._queries = MemoryQueries(self.catalog, lambda: self.context)
        sources = MemorySourceReader(self.catalog)
        self._content = MemoryContent(self._queries, sources)
        self.log = MemorySystemLog(self.catalog, now_ms)
        self.processes = MemoryProcesses()
        self.leases = MemoryLeases()
        self.heartbeat = ManualHeartbeat()
        self.streams = MemoryStreamRunner(Ports(self.catalog, sources, self._content, now_ms))
        store = MemoryTableStore(self.catalog, lambda: self.context)
        self.value = Environment(
            store=store,
            upstream=store,
            sources=sources,
            runner=MemoryStepRunner(self.catalog, self._content, self.log, now_ms),
            registry=self.log,
            analyzer=self._queries,
            stored_analyzer=self._queries,
            settings=lambda: Settings.from_confs(self.confs),
            confs=lambda: self.confs,
            clock=clock,
            new_id=lambda: uuid4().hex,
            conduct=Conduct(self.log, self.processes, self.heartbeat, in_turn, _is_interruption),
            observer=MemoryTableObserver(self.catalog, self._content),
            managers=Managers(self.leases, self.processes, now_ms),
            handlers=self.log.handler,
            streams=self.streams,
        )

    def register(
        self,
        query: str,
        columns: Iterable[Column],
        evaluate: Evaluate,
        *,
        pinnable: bool = True,
    ) -> None:
        """Say what a query returns.

        Args:
            query: Its text; comments and white space do not count.
            columns: Of the result.
            evaluate: Computes its rows from those of the relations that the text names, by the
                last part of their names.
            pinnable: Whether its tables can be read as of a version.
        """
        self._queries.register(query, Query(tuple(columns), evaluate, pinnable))

    def register_check(self, expression: str, holds: Predicate) -> None:
        """Say what a CHECK expression means for a row, given by column name."""
        self._content.register_check(expression, holds)


def _is_interruption(error: BaseException) -> bool:
    return not isinstance(error, Exception)
