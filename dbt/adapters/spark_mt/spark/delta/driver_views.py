"""Temporary views that Delta's own classes make in the driver, for which SQL has no text.

Over Spark Connect the driver is another process, and there are none. Nor are there where a release
of Delta lacks what is called: then the caller reads the same rows by SQL.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from itertools import count
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from dbt.adapters.spark_mt.execution.errors import problem_of
from dbt.adapters.spark_mt.spark.delta.driver_tables import listed_files
from dbt.adapters.spark_mt.spark.session.driver_java import java_class
from dbt.adapters.spark_mt.spark.session.errors import failure_of, is_spark_error, unlogged
from dbt.adapters.spark_mt.spark.session.private_session import active, is_connect

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.table_format import TableRef


_VIEW = "__materialized_table_delta_"
_NUMBERS = count()
"""Of views: a session may read several tables."""
_LISTS: WeakKeyDictionary[Any, OrderedDict[tuple[object, ...], Any]] = WeakKeyDictionary()
"""The files of versions that were opened last, by py4j's view of the JVM."""
_MOST_LISTS = 64
_LISTING = Lock()
_LOGGER = logging.getLogger(__name__)


def marked_rows(session: SparkSession, table: TableRef, first: int, last: int) -> str:
    """Return a view of the rows that commits added or removed, with the columns of a feed.

    Of a file in which a commit marked other rows as removed than the one before, these rows only
    are read. Delta does it for a table with a feed, and for its own commands without one.

    Args:
        session: A private session.
        table: The table.
        first: The first commit.
        last: The last one.

    Returns:
        The name of the view; empty where there is none.
    """

    def rows(log: Any, none: Any) -> Any:  # noqa: ANN401 - of the JVM
        java: Any = session._jsparkSession  # noqa: SLF001 - no public way to the JVM
        reader = java_class(session, "org.apache.spark.sql.delta.commands.cdc.CDCReader")
        options = (none, none, True, none)  # the one that is true: whole files where no feed is
        return reader.changesToBatchDF(log, first, last, java, *options)

    return _viewed(session, table, rows)


def version_rows(session: SparkSession, table: TableRef, version: int) -> str:
    """Return a view of a table at a version, whose files are known before a query is planned.

    Delta finds the files of `VERSION AS OF` by two or three jobs in each place of a text, and
    leaves out those that the query's conditions exclude by their statistics. This view lists all
    files once, so that is for a table of few.

    Args:
        session: A private session.
        table: The table.
        version: The version.

    Returns:
        The name of the view; empty where there is none.
    """

    def rows(log: Any, none: Any) -> Any:  # noqa: ANN401 - of the JVM
        within = (none, none, False)  # the last: only within the retention of removed files
        snapshot = log.getSnapshotAt(version, *within)
        is_stream = False
        return log.createDataFrame(snapshot, _files(session, table, snapshot), is_stream, none)

    return _viewed(session, table, rows)


def _files(session: SparkSession, table: TableRef, snapshot: Any) -> Any:  # noqa: ANN401 - of the JVM
    """Return the files of a version, an object of the JVM.

    Refresh after refresh reads a table that does not change at the same version, such as the other
    side of a join. So lists are kept.
    """
    jvm: Any = session.sparkContext._jvm  # noqa: SLF001 - no public way to the JVM
    facts = snapshot.metadata().id(), snapshot.version(), snapshot.timestamp()
    version = (table.handle, *facts)
    with _LISTING:
        lists = _LISTS.setdefault(jvm, OrderedDict())
        if version in lists:
            lists.move_to_end(version)
            return lists[version]
    found = listed_files(session, snapshot)
    if found is None:
        has_statistics = False
        found = snapshot.getAllFiles(has_statistics)  # two or three jobs
    with _LISTING:
        lists[version] = found
        while len(lists) > _MOST_LISTS:
            lists.popitem(last=False)
    return found


def _viewed(session: SparkSession, table: TableRef, make: Callable[[Any, Any], Any]) -> str:
    """Name the rows that a function makes of a table's log and Scala's None."""
    if is_connect(session):
        return ""
    view = f"{_VIEW}{next(_NUMBERS)}"
    try:
        with unlogged(), active(session):
            logs = java_class(session, "org.apache.spark.sql.delta.DeltaLog")
            log = logs.forTable(session._jsparkSession, table.handle)  # noqa: SLF001 - no public way to the JVM
            rows = make(log, java_class(session, "scala.Option").apply(None))
            rows.createOrReplaceTempView(view)
    except Exception as error:
        if not is_spark_error(error) or failure_of(error).is_cancelled:
            raise
        _LOGGER.debug("Delta's classes made no view: %s.", problem_of(error))
        return ""
    return view
