"""Starts streams over Delta sources: each batch is one fenced commit (design section 3)."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING
from uuid import uuid4

from dbt.adapters.spark_mt.definition.positions import VersionedPosition
from dbt.adapters.spark_mt.execution.hosting_errors import StreamNotStartedError
from dbt.adapters.spark_mt.resolution.content import content_query
from dbt.adapters.spark_mt.resolution.run_options import session_confs
from dbt.adapters.spark_mt.spark.delta_log import DeltaLog
from dbt.adapters.spark_mt.spark.pinning import Pins, pin_query
from dbt.adapters.spark_mt.spark.streams.batches import DeltaBatches
from dbt.adapters.spark_mt.spark.streams.storage import DriverFiles
from dbt.adapters.spark_mt.spark.streams.stream import SparkStream

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.execution.streams import Stream, StreamTask
    from dbt.adapters.spark_mt.resolution.settings import Settings
    from dbt.adapters.spark_mt.spark.private_session import PrivateSession, PrivateSessions
    from dbt.adapters.spark_mt.spark.sources import SparkSourceReader
    from dbt.adapters.spark_mt.spark.streams.batches import BatchWriter

_WHOLE_VERSIONS = "2147483647"
"""So many files that a batch never ends inside a version of its source."""
_FOLLOWED, _LOOKED_UP = "__materialized_table_stream", "__materialized_table_lookup_"
_CONFS = {"spark.sql.streaming.minBatchesToRetain": "2"}
"""A restart begins from the table's own positions, so that old batches are of no use."""
_CHECKPOINTS = ".materialized-table-checkpoints"


class SparkStreamRunner:
    """Runs streams of tables in the driver's own process.

    Args:
        spark: A classic session.
        sessions: Opens the session in which a stream runs.
        sources: Tells where sources live.
        writer: Writes batches.
        settings: Reads the settings in force.
    """

    def __init__(
        self,
        spark: SparkSession,
        sessions: PrivateSessions,
        sources: SparkSourceReader,
        writer: BatchWriter,
        settings: Callable[[], Settings],
    ) -> None:
        self._spark = spark
        self._sessions = sessions
        self._sources = sources
        self._settings = settings
        self._writer = writer
        self._files = DriverFiles(spark)
        self._log = DeltaLog(spark)

    def is_ready(self, task: StreamTask) -> bool:
        """Whether the source has a version after that of the table's rows."""
        source, after = self._followed(task)
        newest = self._log.versions(self._sources.location(source))
        return bool(newest) and newest[-1] > after.version

    def start(self, task: StreamTask) -> Stream:
        """Follow the source from the first version that the table's rows do not reflect.

        Raises:
            StreamNotStartedError: Spark cannot run the query as a stream.
        """
        source, after = self._followed(task)
        name = f"stream-{uuid4().hex[:12]}"
        checkpoint = f"{self._root()}/{task.table.definition.table_id}/{name}"
        with ExitStack() as stack:
            session = stack.enter_context(
                self._sessions.open(task.table.definition.resolved.context)
            )
            frame = self._frame(session, task, source, after)
            batches = DeltaBatches(
                checkpoint, name, task.followed, self._sources.location(source), task.run
            )
            stream = SparkStream(
                task.table, batches, self._writer, lambda: self._files.delete(checkpoint)
            )
            stream.start(frame, task.every_ms, str(task.table.name))
            stream.keep(stack.pop_all())
        return stream

    def _frame(
        self, session: PrivateSession, task: StreamTask, source: TableName, after: VersionedPosition
    ) -> DataFrame:
        """The query with a stream in the place of the source, in the table's columns."""
        spark, definition = session.spark, task.table.definition
        session.configure({**_CONFS, **session_confs(definition.run_options)})
        reader = spark.readStream.format("delta").option("startingVersion", after.version + 1)
        rows = reader.option("maxFilesPerTrigger", _WHOLE_VERSIONS).table(source.sql)
        rows.createOrReplaceTempView(_FOLLOWED)
        resolved = definition.resolved
        replaced = {task.followed: _FOLLOWED, **self._looked_up(session, task)}
        pins = Pins(dict.fromkeys(replaced, after.version), replaced)
        pinned = pin_query(spark, resolved.expanded_query, resolved.context, pins)
        if pinned.text is None:
            raise StreamNotStartedError(table=definition.name, problem=pinned.reason)
        return spark.sql(content_query(resolved, pinned.text))

    def _looked_up(self, session: PrivateSession, task: StreamTask) -> dict[str, str]:
        """Views that show other tables as they are when a batch reads them."""
        views = {}
        for number, (name, position) in enumerate(sorted(task.run.positions.items())):
            if name == task.followed or not isinstance(position, VersionedPosition):
                continue
            found = next(each.name for each in task.run.sources if str(each.name) == name)
            views[name] = f"{_LOOKED_UP}{number}"
            session.spark.table(found.sql).createOrReplaceTempView(views[name])
        return views

    def _followed(self, task: StreamTask) -> tuple[TableName, VersionedPosition]:
        source = next(each.name for each in task.run.sources if str(each.name) == task.followed)
        after = (task.table.positions or {})[task.followed]
        if not isinstance(after, VersionedPosition):
            raise TypeError(after)
        return source, after

    def _root(self) -> str:
        asked = self._settings().checkpoint_location
        warehouse = self._spark.conf.get("spark.sql.warehouse.dir") or "spark-warehouse"
        return asked or f"{warehouse.rstrip('/')}/{_CHECKPOINTS}"
