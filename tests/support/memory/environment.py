"""Environment of a connection to a catalog in memory."""

from __future__ import annotations

from datetime import datetime, timezone
from functools import partial
from typing import TYPE_CHECKING
from uuid import uuid4

from dbt.adapters.spark_mt.definition.columns import QueryContext
from dbt.adapters.spark_mt.execution.context import (
    CommittedRefreshes,
    DeferredRows,
    ExecutionContext,
    run_sequential,
)
from dbt.adapters.spark_mt.execution.environment import Environment
from dbt.adapters.spark_mt.execution.leases import Managers
from dbt.adapters.spark_mt.execution.up_to_date import UpToDateTables
from dbt.adapters.spark_mt.execution.verification import QueuedVerifications, VerificationQueue
from dbt.adapters.spark_mt.resolution.settings import Settings
from dbt.adapters.spark_mt.resolution.time_zones import SESSION_TIME_ZONE
from tests.support.heartbeat import ManualHeartbeat
from tests.support.memory.catalog import MemoryCatalog
from tests.support.memory.content import MemoryContent
from tests.support.memory.leases import MemoryLeases
from tests.support.memory.observer import MemoryTableObserver
from tests.support.memory.queries import MemoryQueries, Query
from tests.support.memory.runner import MemoryStepRunner
from tests.support.memory.sources import MemorySourceReader
from tests.support.memory.store import MemoryTableStore
from tests.support.memory.streams import MemoryStreamRunner, Ports
from tests.support.memory.system_log import MemoryProcesses, MemorySystemLog
from tests.support.memory.table_format import format_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from dbt.adapters.spark_mt.definition.columns import Column, TableName
    from tests.support.memory.content import Predicate
    from tests.support.memory.queries import ColumnsOf, Evaluate


class MemoryStorage:
    """Maintenance that is only recorded: in memory there are no files."""

    def __init__(self) -> None:
        self.done: list[tuple[object, ...]] = []

    def compact(self, name: TableName, table_id: str) -> None:
        """Record it."""
        self.done.append(("compact", name.name, table_id))

    def vacuum(self, name: TableName, table_id: str, kept_ms: int) -> None:
        """Record it."""
        self.done.append(("vacuum", name.name, table_id, kept_ms))

    def remove_dead_checkpoints(self, table_ids: frozenset[str]) -> None:
        """Record it."""
        self.done.append(("clean", table_ids))


CONTEXT = QueryContext("spark_catalog", "default", ((SESSION_TIME_ZONE, "UTC"),))


class MemoryEnvironment:
    """A session in memory: what it can see, its catalog and schema, and its environment.

    Args:
        clock: Returns the current instant, aware.
        confs: The settings of the session.

    Attributes:
        catalog: The tables; users' commits go here.
        context: Where queries are analysed; may be set.
        confs: The settings of the session; may be changed.
        log: What was recorded about tables and refreshes.
        processes: Says which owners of refreshes are gone.
        leases: Where managers record that they hold a catalog.
        heartbeat: Writes heartbeats of running refreshes.
        committed: Counts the refreshes, the first of which are those of a cold process.
        streams: Runs the streams of hosted tables.
        storage: Records how tables are maintained.
        verifications: Verifies commits as soon as they are made.
        value: The ports.
    """

    def __init__(
        self,
        clock: Callable[[], datetime] = lambda: datetime.now(tz=timezone.utc),
        confs: Mapping[str, str] | None = None,
    ) -> None:
        self.context = CONTEXT
        self.confs = dict(confs or {})

        now_ms = partial(_now_ms, clock)
        self.catalog = MemoryCatalog(now_ms)
        self._queries = MemoryQueries(self.catalog, lambda: self.context)
        sources = MemorySourceReader(self.catalog)
        self._content = MemoryContent(self._queries, sources)
        self.log = MemorySystemLog(self.catalog, now_ms)
        self.processes = MemoryProcesses()
        self.leases = MemoryLeases()
        self.heartbeat = ManualHeartbeat()
        self.committed = CommittedRefreshes()
        self.streams = MemoryStreamRunner(Ports(self.catalog, sources, self._content, now_ms))
        store = MemoryTableStore(self.catalog, lambda: self.context)
        self.storage = MemoryStorage()
        self.verifications = VerificationQueue(lambda work: work())
        self.value = Environment(
            format_of=format_of,
            store=store,
            upstream=store,
            sources=sources,
            states=sources,
            runner=MemoryStepRunner(self.catalog, self._content, self.log, now_ms),
            registry=self.log,
            analyzer=self._queries,
            stored_analyzer=self._queries,
            settings=lambda: Settings.from_confs(self.confs),
            confs=lambda: self.confs,
            clock=clock,
            new_id=lambda: uuid4().hex,
            execution_context=self._execution_context(now_ms),
            observer=MemoryTableObserver(self.catalog, self._content),
            managers=Managers(self.leases, self.processes, now_ms),
            handlers=self.log.handler,
            up_to_date=UpToDateTables(store, sources, now_ms),
            storage=self.storage,
            verifications=QueuedVerifications(self.verifications, lambda: self.value),
            streams=self.streams,
        )

    def _execution_context(self, now_ms: Callable[[], int]) -> ExecutionContext:
        return ExecutionContext(
            log=self.log,
            deferred=DeferredRows(self.log.append, now_ms),
            processes=self.processes,
            heartbeat=self.heartbeat,
            run_both=run_sequential,
            committed=self.committed,
            is_cancellation=_is_interruption,
        )

    def register(
        self,
        query: str,
        columns: Iterable[Column] | ColumnsOf,
        evaluate: Evaluate,
        *,
        pinnable: bool = True,
    ) -> None:
        """Say what a query returns.

        Args:
            query: Its text; comments and white space do not count.
            columns: Of the result; how they follow from those of the relations for a query that
                takes columns without naming them.
            evaluate: Computes its rows from those of the relations that the text names, by the
                last part of their names.
            pinnable: Whether its tables can be read as of a version.
        """
        fixed = columns if callable(columns) else tuple(columns)
        self._queries.register(query, Query(fixed, evaluate, pinnable))

    def register_check(self, expression: str, holds: Predicate) -> None:
        """Say what a CHECK expression means for a row, given by column name."""
        self._content.register_check(expression, holds)


def _now_ms(clock: Callable[[], datetime]) -> int:
    return int(clock().timestamp() * 1000)


def _is_interruption(error: BaseException) -> bool:
    return not isinstance(error, Exception)
