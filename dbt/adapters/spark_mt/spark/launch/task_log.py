"""Log of failing tasks, where the output of Spark's JVM is the user's standard error.

The JVM logs a Java stack, several times, for each task that fails. A statement of ours raises the
same failure as an exception. Where this package launched the JVM, its output is in a file, and
stays whole.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.spark.formats.delta import WRITE_LOGGER
from dbt.adapters.spark_mt.spark.launch.jvm_launch import has_launched
from dbt.adapters.spark_mt.spark.session.errors import suppress_spark_errors
from dbt.adapters.spark_mt.spark.session.private_session import is_connect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


LOGGERS = (
    "org.apache.spark.executor.Executor",
    "org.apache.spark.scheduler.TaskSetManager",
    "org.apache.spark.sql.execution.datasources.FileFormatWriter",
    "org.apache.spark.sql.execution.datasources.v2",
    WRITE_LOGGER,
    "org.apache.spark.util.Utils",
)
"""What logs that a task failed, and with it the write of a table."""
_lock = Lock()
_running = 0


class TaskLog:
    """Switch of the log in the JVM of a session. Statements at the same time share the switch.

    Args:
        spark: The session.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    @contextmanager
    def off(self) -> Iterator[None]:
        """Leave the failures of tasks unlogged while the block runs.

        Loggers that the user has configured stay as they are.
        """
        if is_connect(self._spark) or has_launched():
            yield
            return
        self._switch(by=1)
        try:
            yield
        finally:
            self._switch(by=-1)

    def _switch(self, *, by: int) -> None:
        global _running  # noqa: PLW0603 - the loggers are the JVM's
        with _lock, suppress_spark_errors():  # of a JVM that has ended
            _running += by
            if by > 0 and _running == 1:
                for name, silent in self._silent.items():
                    self._context.getConfiguration().addLogger(name, silent)
                self._context.updateLoggers()
            elif by < 0 and _running == 0:
                for name in self._silent:
                    self._context.getConfiguration().removeLogger(name)
                self._context.updateLoggers()

    @cached_property
    def _context(self) -> Any:  # noqa: ANN401 - an object of the JVM
        jvm: Any = self._spark.sparkContext._jvm  # noqa: SLF001 - no public way to the JVM
        return jvm.org.apache.logging.log4j.LogManager.getContext(False)  # noqa: FBT003 - Java's

    @cached_property
    def _silent(self) -> dict[str, Any]:
        """The loggers that log nothing, by name, but for those that the user has configured."""
        jvm: Any = self._spark.sparkContext._jvm  # noqa: SLF001 - as above
        log: Any = jvm.org.apache.logging.log4j
        configured: Any = self._context.getConfiguration().getLoggers()
        names = [name for name in LOGGERS if not configured.containsKey(name)]
        off, kind, is_additive = log.Level.OFF, log.core.config.LoggerConfig, False
        return {name: kind(name, off, is_additive) for name in names}
