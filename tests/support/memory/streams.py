"""Streams over tables in memory; a test triggers each batch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from threading import RLock
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.definition import LastRefresh, StreamMetadata
from dbt.adapters.spark_mt.definition.positions import ChangeKind, VersionedPosition
from dbt.adapters.spark_mt.execution.commit_metadata import metadata_of
from dbt.adapters.spark_mt.execution.ports import BatchDone, SourceSpan
from dbt.adapters.spark_mt.planning.steps import WriteBatch
from tests.support.memory.tables import Change

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.execution.ports import StreamTask
    from tests.support.memory.catalog import MemoryCatalog
    from tests.support.memory.content import MemoryContent
    from tests.support.memory.sources import MemorySourceReader
    from tests.support.memory.tables import Rows, Snapshot, VersionedTable


class StreamBrokenError(Exception):
    """A source did what no stream can follow; Spark, too, says so in an error of its own."""

    def __init__(self, source: str, problem: str) -> None:
        super().__init__(f"{source} {problem}")


@dataclass(frozen=True, slots=True)
class Ports:
    """What a stream in memory reads and writes.

    Args:
        now_ms: The current instant in milliseconds since the epoch, UTC.
    """

    catalog: MemoryCatalog
    sources: MemorySourceReader
    content: MemoryContent
    now_ms: Callable[[], int]


class MemoryStreamRunner:
    """Starts streams and does their batches.

    Attributes:
        meanwhile: Called between the computation of a batch and its commit.
        started: Every stream that was started, in order.
    """

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self.meanwhile: Callable[[], object] = lambda: None
        self.started: list[MemoryStream] = []

    def can_resume(self, table_id: str, stream: StreamMetadata) -> bool:  # noqa: ARG002 - a protocol says which
        """Never: no stream in memory keeps a checkpoint, because none has state."""
        return False

    def start(self, task: StreamTask) -> MemoryStream:
        """Follow the source from the first version that the table's rows do not reflect.

        Raises:
            SourceNotFoundError: It is gone.
        """
        stream = MemoryStream(self._ports, task, f"stream-{len(self.started)}", self._meanwhile)
        self.started.append(stream)
        return stream

    def run_batches(self) -> int:
        """Let every stream do a batch whose source has moved; return how many did one."""
        return sum(stream.do_batch() for stream in tuple(self.started))

    def _meanwhile(self) -> None:
        self.meanwhile()


class MemoryStream:
    """A stream over one source, which it knows by the identity that it had at the start.

    Like Delta's, it opens whatever has the source's name at the number of a version, waits for the
    next number whoever's it is, and breaks when rows go, columns change, or the number is another
    table's.
    """

    def __init__(
        self, ports: Ports, task: StreamTask, name: str, meanwhile: Callable[[], None]
    ) -> None:
        self._ports = ports
        self._task = task
        self._name = name
        self._meanwhile = meanwhile
        self._between_batches = RLock()
        self._followed = followed_by(task)
        self._read = VersionedPosition(self._start(), self._source().identity)
        self._target = self._identity()
        self.is_active = True
        self.is_in_batch = False
        self.failure: Exception | None = None
        self.done: BatchDone | None = None
        self.checked_at_ms = 0

    def wait(self) -> None:
        """Read what is there, and end."""
        while self.do_batch():
            pass
        self.stop()

    def stop(self) -> None:
        """End it between two batches."""
        with self._between_batches:
            self.is_active = False

    def do_batch(self) -> bool:
        """Commit what the source gained, if it continues and the source has moved."""
        with self._between_batches:
            if not self.is_active:
                return False
            checked_at_ms = self._ports.now_ms()
            self.is_in_batch = True
            try:
                found = self._batch()
            except Exception as error:  # noqa: BLE001 - an engine keeps it for whoever asks
                self.is_active, self.failure = False, error
                return False
            finally:
                self.is_in_batch = False
            self.checked_at_ms = checked_at_ms
            return found

    def _batch(self) -> bool:
        source = self._source()
        upto = VersionedPosition(source.version, source.identity)
        if upto.version <= self._read.version:
            return False
        self._raise_if_broken(source)
        started, rows = self._ports.now_ms(), self._added(upto)
        self._meanwhile()
        self._commit(upto, started, rows)
        self._read = upto
        return True

    def _raise_if_broken(self, source: VersionedTable) -> None:
        name = str(self._followed)
        if source.identity != self._read.identity:
            raise StreamBrokenError(name, "was made anew")
        oldest = min((commit.previous for commit in source.log), default=source.version)
        if self._read.version < oldest:
            raise StreamBrokenError(name, f"no longer has what came after {self._read}")
        for commit in (each for each in source.log if each.version > self._read.version):
            versions = previous, version = commit.previous, commit.version
            before, now = (VersionedPosition(v, source.identity) for v in versions)
            span = SourceSpan(self._followed, before, now)
            kind = self._ports.sources.changes(span, net=True)
            if kind not in {ChangeKind.NONE, ChangeKind.ADDED}:
                raise StreamBrokenError(name, f"lost rows in version {version}")
            if _columns(source, previous) != _columns(source, version):
                raise StreamBrokenError(name, f"has other columns since version {version}")

    def _added(self, upto: VersionedPosition) -> Rows:
        """The query over what the source gained; tables that are looked up are as they are now."""
        run, followed = self._task.run, str(self._followed)
        definition = self._task.table.definition
        positions = {**self._ports.sources.positions(run.sources), followed: upto}
        since = ((followed, self._read),)
        rows, _ = self._ports.content.compute(definition, replace(run, positions=positions), since)
        self._ports.content.check(definition, rows)
        return rows

    def _commit(self, upto: VersionedPosition, started_at_ms: int, rows: Rows) -> None:
        before, task = self.done, self._task
        if self._identity() != self._target:
            raise conditions.CONCURRENT_CHANGE(table=task.table.name)
        table = before.table if before else task.table
        positions = {**task.run.positions, str(self._followed): upto}
        run = replace(task.run, positions=positions, started_at_ms=started_at_ms)
        metadata = StreamMetadata(self._name, before.metadata.batch + 1 if before else 0)
        step = WriteBatch(table.definition, table.seq + 1, run, metadata, table.foreign)
        at = self._ports.now_ms()
        change = Change("WRITE", at, metadata_of(step), len(rows))
        version = self._ports.catalog.commit(table.name, change, lambda s: _with(s, rows))
        self.done = BatchDone(
            table=replace(
                table,
                seq=step.seq,
                version=version,
                positions=positions,
                last_refresh=LastRefresh(
                    run.refresh_id, run.strategy, run.trigger, started_at_ms, at, len(rows)
                ),
            ),
            metadata=metadata,
            batches=before.batches + 1 if before else 1,
            rows=len(rows) + (before.rows if before else 0),
            committed_at_ms=at,
        )
        task.committed(self.done.table)

    def _source(self) -> VersionedTable:
        table = self._ports.catalog.table(self._followed)
        if table is None:
            raise conditions.SOURCE_NOT_FOUND(
                source=self._followed, problem="there is no such table"
            )
        return table

    def _identity(self) -> str:
        """Of the table that is written: one that was made again has an empty fence."""
        target = self._ports.catalog.table(self._task.table.name)
        return target.identity if target else ""

    def _start(self) -> int:
        position = (self._task.table.positions or {})[str(self._followed)]
        if not isinstance(position, VersionedPosition):
            raise TypeError(position)
        return position.version


def followed_by(task: StreamTask) -> TableName:
    """Return the name of the only source that a task follows."""
    (followed,) = task.followed
    return next(each.name for each in task.run.sources if str(each.name) == followed)


def _columns(table: VersionedTable, version: int) -> list[tuple[str, str]]:
    return [(column.name, column.type) for column in table.at(version).columns]


def _with(snapshot: Snapshot, rows: Rows) -> Snapshot:
    return replace(snapshot, rows=snapshot.rows + rows)
