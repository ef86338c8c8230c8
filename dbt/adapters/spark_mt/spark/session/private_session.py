"""Private session of an operation, with its own SQL confs and current schema.

Fence, commit metadata and write settings may be session confs in SQL. In the user's session two
threads would mix them up. Settings of the user, such as `partitionOverwriteMode=dynamic`, would
change the effect of statements of this project.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, proxy

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import QueryContext, quote
from dbt.adapters.spark_mt.definition.table_format import SINGLE_DRIVER
from dbt.adapters.spark_mt.query.confs import (
    ALWAYS_STORED,
    DEFAULTS,
    LEGACY_PREFIX,
    is_semantic,
    semantic_confs,
)
from dbt.adapters.spark_mt.spark.formats.installed import FORMATS
from dbt.adapters.spark_mt.spark.session.driver_java import java_class
from dbt.adapters.spark_mt.spark.session.errors import failure_of, is_spark_error, unlogged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import SparkSession


_BETWEEN = "\0"


_ENTERED: WeakKeyDictionary[SparkSession, QueryContext] = WeakKeyDictionary()
"""The contexts of private sessions."""
_SET: WeakKeyDictionary[SparkSession, Mapping[str, str]] = WeakKeyDictionary()
"""The confs that private classic sessions began with."""
_INITIAL: dict[str, Mapping[str, str]] = {}
"""The confs of every new session of an application, by its id."""
_MODIFIABLE: set[str] = set()
"""Confs that are known to be no static ones."""
_OURS = {
    "spark.sql.variable.substitute": "false",
    "spark.sql.sources.partitionOverwriteMode": "STATIC",
    **FORMATS.confs.private,
}
_OURS_IN_A_DRIVER = {
    # Each query over files would leave its listing in a cache of 250 MB that the whole driver
    # shares. The key is an object of the session's own relation, so no later session finds it.
    "spark.sql.hive.filesourcePartitionFileCacheSize": "0",
}
_NEVER_COPIED = (
    *FORMATS.confs.not_copied,
    "spark.sql.catalog",
    "spark.sql.extensions",
    "spark.sql.warehouse",
)
_COPIED = ("spark.sql.", "spark.databricks.")


def confs_of(spark: SparkSession, is_wanted: Callable[[str], bool]) -> dict[str, str]:
    """Return confs of a session as they are set, none of them redacted.

    PySpark asks a classic session for each entry, and all in one answer are more than the JVM sends
    at once: 30 to 44 ms. The keys are one answer.

    Args:
        spark: The session.
        is_wanted: Says of a key whether its value is wanted.
    """
    if is_connect(spark):
        return {key: value for key, value in spark.conf.getAll.items() if is_wanted(key)}
    java = spark._jsparkSession  # noqa: SLF001 - no public way to one answer
    keys = java.conf().getAll().keySet().mkString(_BETWEEN).split(_BETWEEN)
    found = {key: spark.conf.get(key, None) for key in filter(is_wanted, keys)}
    return {key: value for key, value in found.items() if value is not None}  # unset meanwhile


def context_of(spark: SparkSession) -> QueryContext:
    """Return where and under which confs `spark` would analyse a query now."""
    confs = confs_of(spark, is_semantic)
    for key in ALWAYS_STORED:
        confs[key] = str(spark.conf.get(key))
    catalog = spark.catalog.currentCatalog()
    return QueryContext(catalog, spark.catalog.currentDatabase(), semantic_confs(confs))


def enter_context(spark: SparkSession, context: QueryContext) -> None:
    """Give a private session the catalog, schema and semantic confs of `context`, no others.

    What is right already is left alone: over Connect each change is a call. Nothing but this
    function changes them in a private session.

    Raises:
        pyspark.errors.PySparkException: The catalog or the schema is gone.
    """
    if _ENTERED.get(spark) == context:
        return
    _ENTERED.pop(spark, None)
    wanted = dict(context.confs)
    known = _SET.pop(spark, None)
    now = confs_of(spark, is_semantic) if known is None else known
    for key in now:
        if key.startswith(LEGACY_PREFIX) and key not in wanted:
            spark.conf.unset(key)
    for key, value in {**DEFAULTS, **wanted}.items():
        if now.get(key, DEFAULTS.get(key)) != value:
            spark.conf.set(key, value)
    current = (spark.catalog.currentCatalog(), spark.catalog.currentDatabase())
    if current != (context.catalog, context.schema):
        spark.sql(f"USE {quote(context.catalog)}.{quote(context.schema)}")
    _ENTERED[spark] = context


def _enter(session: SparkSession, context: QueryContext) -> None:
    try:
        with unlogged():
            enter_context(session, context)
    except Exception as error:
        if not is_spark_error(error) or not failure_of(error).is_missing_schema:
            raise
        schema = f"{quote(context.catalog)}.{quote(context.schema)}"
        raise conditions.QUERY_SCHEMA_NOT_FOUND(schema=schema) from error


class PrivateSessions:
    """Private sessions of a user's session, which can be interrupted while they are open."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._open: set[SparkSession] = set()
        self._idle: dict[tuple[tuple[str, str], ...], list[SparkSession]] = {}

    @contextmanager
    def open(self, context: QueryContext | None = None) -> Iterator[PrivateSession]:
        """Open a session with the user's settings, and a query's own where `context` is given.

        Raises:
            SourceNotFoundError: The schema of the context is gone.
        """
        session = _new_session(self._spark)
        self._open.add(session)
        try:
            _make_private(session, self._spark)
            if context is not None:
                _enter(session, context)
            yield PrivateSession(session)
        finally:
            self._open.discard(session)
            _close(session)

    @contextmanager
    def reused(self, confs: Mapping[str, str]) -> Iterator[SparkSession]:
        """Open a session with confs of its own, without a context; a classic one is used again.

        It keeps the user's settings of the moment at which it was made. So it is for statements
        whose result does not depend on them.
        """
        if is_connect(self._spark):
            with self.open() as session:
                session.configure(confs)
                yield session.spark
            return
        idle = self._idle.setdefault(tuple(confs.items()), [])
        try:
            spark = idle.pop()  # not after a check: another thread may take it in between
        except IndexError:
            spark = lasting_session(self._spark, confs)
        self._open.add(spark)
        try:
            yield spark
        finally:
            self._open.discard(spark)
            idle.append(spark)

    def interrupt(self) -> None:
        """Cancel whatever the open sessions run.

        Raises:
            Exception: A session that is still open could not be interrupted.
        """
        for session in tuple(self._open):
            self._interrupt(session)

    def _interrupt(self, session: SparkSession) -> None:
        try:
            interrupt_session(session)
        except Exception:
            if session in self._open:
                raise


def interrupt_session(session: SparkSession) -> None:
    """Cancel whatever a session runs.

    Raises:
        Exception: The session could not be interrupted.
    """
    session.interruptAll()
    if not is_connect(session):
        _cancel_executions(session)


def _cancel_executions(session: SparkSession) -> None:
    """Cancel the jobs of a classic session that its `interruptAll` does not find.

    It finds jobs by the session's tag. Spark takes this tag off a thread when an execution ends
    that ran within another one, as queries of a format do during a write. The tag of the outermost
    execution stays until that has ended.
    """
    context = session.sparkContext
    java: Any = context._jsc.sc()  # noqa: SLF001 - no public way to tags
    of_executions = f"{session._jsparkSession.sessionJobTag()}-"  # noqa: SLF001 - as above
    states = java_class(session, "org.apache.spark.JobExecutionStatus")
    running = java.statusStore().jobsList([states.RUNNING])
    for job in map(running.apply, range(running.size())):
        tags = job.jobTags().mkString(_BETWEEN).split(_BETWEEN)
        if any(tag.startswith(of_executions) for tag in tags):
            java.cancelJob(job.jobId())


class PrivateSession:
    """A session in which nothing runs but the statements of one operation."""

    def __init__(self, session: SparkSession) -> None:
        self.spark = session

    def configure(self, confs: Mapping[str, str]) -> None:
        """Set confs that say how to run something; those that keep our statements right stay.

        Raises:
            pyspark.errors.PySparkException: Spark has no such value for a conf, or no longer lets
                it be set.
        """
        for key, value in confs.items():
            if key not in _OURS:
                self.spark.conf.set(key, value)


def lasting_session(spark: SparkSession, confs: Mapping[str, str]) -> SparkSession:
    """Return a new private session of a classic one, which nothing ends before that.

    Args:
        spark: The user's session, whose settings it has.
        confs: Its own confs.
    """
    session = spark.newSession()
    _make_private(session, spark)
    PrivateSession(session).configure(confs)
    return session


def _make_private(session: SparkSession, spark: SparkSession) -> None:
    """Give a new session the user's settings and ours; a cloned one has the former already."""
    if is_connect(session):
        for key in confs_of(session, lambda key: key.startswith(FORMATS.confs.not_copied)):
            session.conf.unset(key)
        for key, value in _OURS.items():
            session.conf.set(key, value)
        return
    initial = _initial(session)
    wanted = {**_copied(spark), **_OURS, **_OURS_IN_A_DRIVER}
    for key, value in wanted.items():
        if initial.get(key) != value:
            session.conf.set(key, value)
    _SET[session] = {**initial, **wanted}


def _initial(session: SparkSession) -> Mapping[str, str]:
    """Return the confs of queries that a new session has."""
    application = session.sparkContext.applicationId
    if application not in _INITIAL:
        _INITIAL[application] = confs_of(session, _is_of_queries)
    return _INITIAL[application]


def is_connect(spark: SparkSession) -> bool:
    """Whether a session is one of Spark Connect, whose driver is another process."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def _new_session(spark: SparkSession) -> SparkSession:
    if is_connect(spark):
        clone: SparkSession = spark.cloneSession()  # type: ignore[attr-defined]
        keep_shared_threads(clone.client)
        clone.client.set_retry_policies(spark.client.get_retry_policies())
        clone.client.enable_reattachable_execute()  # so the server ends what a killed client began
        return clone
    return spark.newSession()


def keep_shared_threads(client: Any) -> None:  # noqa: ANN401 - a class that only Connect has
    """Let the end of a Connect session leave the threads that all sessions of a process share.

    PySpark before 4.2 ends these whenever a session is closed or collected as garbage. Statements
    of other threads then fail, and a collection while a thread is added never ends (SPARK-55362,
    SPARK-55406). The threads have nothing to do once a session is released, and end with Python.
    """
    if _shares_threads():
        client.close = partial(_close_channel, proxy(client))


def _shares_threads() -> bool:
    from pyspark.sql.connect.client.reattach import ExecutePlanResponseReattachableIterator

    return not hasattr(ExecutePlanResponseReattachableIterator, "_instances")


def _close_channel(client: Any) -> None:  # noqa: ANN401 - as above
    client._channel.close()  # noqa: SLF001 - `close` does this and ends the threads
    client._closed = True  # noqa: SLF001 - as above


def _close(session: SparkSession) -> None:
    """Release a Connect session, or what keeps a classic one alive.

    Not by `stop()`: of a classic session it stops the context that all sessions share. PySpark 4.2
    fails in it for a cloned Connect session, and with a local server it would stop that.
    """
    if is_connect(session):
        # The server asks every executor for logs of the session, and fails where one was lost just
        # now. What the session was for is done or has an error of its own.
        from pyspark.errors import PySparkException

        with suppress(PySparkException):
            session.client.release_session()
        session.client.close()
    else:
        # PySpark caches the catalog in the session, and the catalog refers to the session. Without
        # this cycle the session goes when the last reference goes. With it, a session of the JVM
        # (a megabyte) waits for a full collection of Python's heap. In a process that makes few
        # objects that is rare.
        vars(session).pop("catalog", None)


@contextmanager
def active(spark: SparkSession) -> Iterator[None]:
    """Make a session the active one of this thread while the block runs.

    Spark finds the confs of catalogs by the active session, also for calls of another one. Its own
    statements do the same.
    """
    java: Any = spark._jsparkSession  # noqa: SLF001 - PySpark has no public way to it
    sessions = java_class(spark, "org.apache.spark.sql.classic.SparkSession")
    before = sessions.getActiveSession()
    sessions.setActiveSession(java)
    try:
        yield
    finally:
        if before.isDefined():
            sessions.setActiveSession(before.get())
        else:
            sessions.clearActiveSession()


@contextmanager
def interruptible(spark: SparkSession) -> Iterator[None]:
    """Let `interruptAll` of a classic session find jobs of this thread that are no queries."""
    tag = str(spark._jsparkSession.sessionJobTag())  # noqa: SLF001 - no public way to the tag
    context = spark.sparkContext
    context.addJobTag(tag)
    try:
        yield
    finally:
        context.removeJobTag(tag)


@contextmanager
def set_for_now(spark: SparkSession, confs: Mapping[str, str]) -> Iterator[None]:
    """Set confs of a session while the block runs."""
    before = {key: spark.conf.get(key, None) for key in confs}
    try:
        for key, value in confs.items():
            spark.conf.set(key, value)
        yield
    finally:
        for key, earlier in reversed(before.items()):
            if earlier is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, earlier)


def _copied(spark: SparkSession) -> dict[str, str]:
    """Return the confs of a user's classic session that its private sessions have too."""
    return confs_of(spark, lambda key: key == SINGLE_DRIVER or _is_copied(spark, key))


def _is_of_queries(key: str) -> bool:
    return key.startswith(_COPIED)


def _is_copied(spark: SparkSession, key: str) -> bool:
    if not _is_of_queries(key) or key.startswith(_NEVER_COPIED):
        return False
    if key not in _MODIFIABLE and spark.conf.isModifiable(key):
        _MODIFIABLE.add(key)
    return key in _MODIFIABLE
