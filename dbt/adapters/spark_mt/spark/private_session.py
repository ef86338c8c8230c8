"""A session of an operation's own (design section 3: a session per operation).

Fence, commit metadata and write settings are session confs in SQL. In the user's session two
threads would mix them up, and the user's own settings (`partitionOverwriteMode=dynamic`) would
change what our statements do.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.spark.confs import enter_context

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.definition import QueryContext

FENCE = "materialized-table"
LAST_COMMIT = "spark.databricks.delta.lastCommitVersionInSession"
_APP_ID = "spark.databricks.delta.write.txnAppId"
_APP_VERSION = "spark.databricks.delta.write.txnVersion"
_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
_AUTO_MERGE = "spark.databricks.delta.schema.autoMerge.enabled"

_OURS = {
    "spark.sql.variable.substitute": "false",
    "spark.sql.sources.partitionOverwriteMode": "STATIC",
    "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration": "false",
    _AUTO_MERGE: "false",
}
_NEVER_COPIED = (
    _APP_ID,
    _APP_VERSION,
    _METADATA,
    LAST_COMMIT,
    "spark.databricks.delta.write.",
    "spark.sql.catalog",
    "spark.sql.extensions",
    "spark.sql.warehouse",
)
_COPIED = ("spark.sql.", "spark.databricks.")


class PrivateSessions:
    """Opens private sessions beside a user's session, and can interrupt all that are open."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._open: set[SparkSession] = set()

    @contextmanager
    def open(self, context: QueryContext | None = None) -> Iterator[PrivateSession]:
        """Open a session with the user's settings, and a query's own where `context` is given.

        Args:
            context: The catalog, schema and confs to use instead of the user's.
        """
        session = _new_session(self._spark)
        self._open.add(session)
        try:
            _copy_confs(self._spark, session)
            for key, value in _OURS.items():
                session.conf.set(key, value)
            if context is not None:
                enter_context(session, context)
            yield PrivateSession(session)
        finally:
            self._open.discard(session)
            _close(session)

    def interrupt(self) -> None:
        """Cancel whatever the open sessions run."""
        for session in tuple(self._open):
            session.interruptAll()


class PrivateSession:
    """A session whose commits carry a fence and facts."""

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

    def commit(
        self, metadata: str, seq: int | None, write: Callable[[], object], fence: str = FENCE
    ) -> int | None:
        """Run `write`, whose commit carries `metadata` and, with a `seq`, the fence.

        Args:
            metadata: What the commit says about itself.
            seq: The number that the fence lets pass once.
            write: Makes one commit.
            fence: Whose numbers they are; those of different ones do not fence each other.

        Returns:
            The version written, or None when Delta skipped the write because a commit with this
            number, or a higher one, is there already.
        """
        conf = self.spark.conf
        conf.set(_METADATA, metadata)
        if seq is None:
            conf.unset(_APP_ID)
            conf.unset(_APP_VERSION)
        else:
            conf.set(_APP_ID, fence)
            conf.set(_APP_VERSION, str(seq))
        conf.unset(LAST_COMMIT)
        write()
        version = conf.get(LAST_COMMIT, None)
        return None if version is None else int(version)

    @contextmanager
    def merging_schema(self, *, enabled: bool) -> Iterator[None]:
        """Let an overwrite append columns while the block runs."""
        self.spark.conf.set(_AUTO_MERGE, "true" if enabled else "false")
        try:
            yield
        finally:
            self.spark.conf.set(_AUTO_MERGE, "false")


def is_connect(spark: SparkSession) -> bool:
    """Whether a session is one of Spark Connect, whose driver is another process."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def _new_session(spark: SparkSession) -> SparkSession:
    if is_connect(spark):
        clone: SparkSession = spark.cloneSession()  # type: ignore[attr-defined]
        clone.client.set_retry_policies(spark.client.get_retry_policies())
        clone.client.enable_reattachable_execute()  # so the server ends what a killed client began
        return clone
    return spark.newSession()


def _close(session: SparkSession) -> None:
    """Release a Connect session; a classic one shares its context with the user's and just goes.

    Not by `stop()`: PySpark 4.2 fails in it for a cloned session, and with a local server it would
    stop that.
    """
    if is_connect(session):
        session.client.release_session()
        session.client.close()


def _copy_confs(source: SparkSession, target: SparkSession) -> None:
    if is_connect(source):
        return
    for key, value in source.sql("SET").collect():
        copied = key.startswith(_COPIED) and not key.startswith(_NEVER_COPIED)
        if copied and target.conf.isModifiable(key):
            target.conf.set(key, value)
