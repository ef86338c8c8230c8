"""Rows of small Delta tables, read in the driver without a job.

Delta's own reader replays a log, and reads the rows, by jobs of Spark. The first of them in a
process take four seconds. Delta Kernel, the library of Delta for connectors, lists the data files
of a table, and PyArrow reads them. Delta for Spark brings Kernel along.
"""

from __future__ import annotations

from contextlib import suppress
from multiprocessing.pool import ThreadPool
from typing import TYPE_CHECKING, Any, TypeAlias

from dbt.adapters.spark_mt.execution.table_format import DataFiles
from dbt.adapters.spark_mt.spark.formats.delta import FORMAT, is_mapped
from dbt.adapters.spark_mt.spark.session.errors import suppress_spark_errors

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.table_format import TableRef
    from dbt.adapters.spark_mt.spark.session.driver_files import DriverFiles


_Java: TypeAlias = Any
"""An object or a class of the JVM."""
_Rows: TypeAlias = "list[tuple[Any, ...]]"
"""Values of some columns, in their order."""
_ENGINE = "io.delta.kernel.defaults.engine.DefaultEngine"
_LOGGING = "org.apache.logging.log4j.core.config.Configurator"
_WARNS = "io.delta.kernel.internal.snapshot.SnapshotManager"
"""It warns of each table that has no checkpoint yet."""
_MOST_BYTES = 4 * 1024**2
"""What is read at once at most: some 40,000 rows of the registry."""
_AT_ONCE = 8
"""How many files are read at the same time: a request to an object store takes 50 ms."""


class SmallDeltaTables:
    """Implementation of `execution.table_format.SmallTables`, for a classic session.

    Args:
        spark: The session.
        files: The driver's file systems.
    """

    def __init__(self, spark: SparkSession, files: DriverFiles) -> None:
        self._spark = spark
        self._files = files
        self._kernel: _Kernel | None = None
        self._is_there: bool | None = None

    def read(
        self, table: TableRef, columns: Sequence[str], known: Collection[str]
    ) -> DataFiles | None:
        """As `SmallTables.read`.

        Returns:
            None where Spark has to read it: it is large, lacks one of the columns, has deletion
            vectors, partitions or other names in its files, is of another format, or cannot be
            read.
        """
        if table.format != FORMAT.name:
            return None
        from pyarrow import ArrowException  # noqa: PLC0415 - as below

        # PyArrow raises these for what it cannot read. Then Spark reads it, or says what is wrong.
        with suppress_spark_errors(), suppress(ArrowException, OSError, UnicodeDecodeError):
            sizes = self._sizes(table.handle, columns)
            missing = [path for path in sizes or () if path not in known]
            if sizes is not None and sum(sizes[path] for path in missing) <= _MOST_BYTES:
                return DataFiles(frozenset(sizes), self._rows(missing, columns))
        return None

    def _sizes(self, path: str, columns: Collection[str]) -> dict[str, int] | None:
        if self._is_there is None:
            self._is_there = _Kernel.is_there(self._spark)
        if not self._is_there:
            return None
        self._kernel = self._kernel or _Kernel(self._spark)
        return self._kernel.data_files(path, columns)

    def _rows(self, paths: Sequence[str], columns: Sequence[str]) -> dict[str, _Rows]:
        if len(paths) <= 1:
            return {path: self._rows_of(path, columns) for path in paths}
        # Executors of concurrent.futures refuse work when the main thread has returned.
        with ThreadPool(_AT_ONCE) as pool:
            read = pool.map(lambda path: self._rows_of(path, columns), paths)
            return dict(zip(paths, read, strict=True))

    def _rows_of(self, path: str, columns: Sequence[str]) -> _Rows:
        import pyarrow as pa  # noqa: PLC0415 - 0.2 s, which a process that reads no table saves
        import pyarrow.parquet as pq  # noqa: PLC0415 - as above

        file = pq.ParquetFile(pa.BufferReader(self._files.read_bytes(path)))
        there = set(file.schema_arrow.names)  # a file is older than a column that was added
        found = file.read([name for name in columns if name in there], use_threads=False)
        nothing = [None] * found.num_rows
        values = (found[name].to_pylist() if name in there else nothing for name in columns)
        return list(zip(*values, strict=True))


class _Kernel:
    """Delta Kernel on the class path of a session's JVM."""

    def __init__(self, spark: SparkSession) -> None:
        context = spark.sparkContext
        jvm: _Java = context._jvm  # noqa: SLF001 - PySpark has no public way to the JVM
        if _has(jvm, _LOGGING):
            log: _Java = jvm.org.apache.logging.log4j
            log.core.config.Configurator.setLevel(_WARNS, log.Level.ERROR)
        # Looked up once: each part of a class's name is a question to the JVM.
        kernel: _Java = jvm.io.delta.kernel
        conf: _Java = context._jsc.hadoopConfiguration()  # noqa: SLF001
        self._engine: _Java = kernel.defaults.engine.DefaultEngine.create(conf)
        self._table: _Java = kernel.Table.forPath
        self._facts: _Java = kernel.internal.InternalScanFileUtils

    @staticmethod
    def is_there(spark: SparkSession) -> bool:
        """Whether the JVM has Kernel: a Delta of the user's own may be without it."""
        return _has(spark.sparkContext._jvm, _ENGINE)  # noqa: SLF001 - as above

    def data_files(self, path: str, columns: Collection[str]) -> dict[str, int] | None:
        """Return the sizes of a table's data files in bytes, by path.

        Returns:
            None where the values of the columns are not all in these files under their names.

        Raises:
            py4j.protocol.Py4JJavaError: There is no table, or Kernel cannot read it.
        """
        snapshot = self._table(self._engine, path).getLatestSnapshot(self._engine)
        if (
            is_mapped(snapshot.getTableProperties())
            or not snapshot.getPartitionColumnNames().isEmpty()
        ):
            return None
        if not set(columns) <= set(snapshot.getSchema().fieldNames()):
            return None
        sizes = {}
        for row in self._scan_files(snapshot):
            if self._facts.getDeletionVectorDescriptorFromRow(row) is not None:
                return None
            status = self._facts.getAddFileStatus(row)
            sizes[str(status.getPath())] = int(status.getSize())
        return sizes

    def _scan_files(self, snapshot: _Java) -> Iterator[_Java]:
        batches = snapshot.getScanBuilder().build().getScanFiles(self._engine)
        try:
            while batches.hasNext():
                rows = batches.next().getRows()
                while rows.hasNext():
                    yield rows.next()
        finally:
            batches.close()


def _has(jvm: _Java, name: str) -> bool:
    """Whether a class is on the class path of the JVM."""
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    return loader.getResource(f"{name.replace('.', '/')}.class") is not None
