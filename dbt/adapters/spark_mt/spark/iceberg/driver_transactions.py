"""Transactions on Iceberg tables, which one compare-and-swap of the catalog publishes.

Statements write to the table of a transaction, which no reader sees. Rows, columns and properties
become one version of the metadata, and only if the catalog still has the version from which the
transaction began. These are calls of Iceberg's classes: Spark's driver must be this process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.spark.formats import iceberg as iceberg_format
from dbt.adapters.spark_mt.spark.iceberg import metadata, outcomes, transactions
from dbt.adapters.spark_mt.spark.session.driver_java import java_class
from dbt.adapters.spark_mt.spark.session.private_session import active

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.spark.iceberg.metadata import TableMetadata

_Java = Any
"""A class or an object of the JVM."""
_ICEBERG = "org.apache.iceberg"
_SOURCES = "org.apache.spark.sql.execution.datasources"
_ANY = "staged"
"""The name of the table in statements; the plan gets the table of the transaction instead."""


class DriverTransaction:
    """Implementation of `transactions.Transaction` for a classic session.

    Args:
        spark: The session of its statements.
        table: The table, as Iceberg loaded it.
        asked: The same table, as its catalog is asked what it has.
    """

    def __init__(self, spark: SparkSession, table: _Java, asked: outcomes.Asked) -> None:
        self._spark, self._asked = spark, asked
        # PySpark has no public way to Iceberg's classes.
        self._java: _Java = spark._jsparkSession  # noqa: SLF001
        self._table = table
        self._transaction: _Java = table.newTransaction()

    @classmethod
    def begin(cls, spark: SparkSession, asked: outcomes.Asked) -> DriverTransaction | None:
        """Begin a transaction on a table; None where there is none."""
        table = metadata.loaded(spark, asked.name)
        return None if table is None else cls(spark, table, asked)

    @property
    def before(self) -> TableMetadata:
        return self._parsed(self._transaction.startMetadata())

    @property
    def now(self) -> TableMetadata:
        return self._parsed(self._transaction.currentMetadata())

    def fitted(self, rows: str) -> str:
        # Without such a property, one call has the answer.
        if iceberg_format.STAGED not in str(self._transaction.table().properties().toString()):
            return rows
        return transactions.fitted(self._spark, self.now, rows)

    def execute(self, statement: Callable[[str], str]) -> None:
        with active(self._spark):
            plan = self._java.sessionState().sqlParser().parsePlan(statement(_ANY))
            written = self._written(plan, self._relation())
            self._class("org.apache.spark.sql.classic.Dataset").ofRows(self._java, written)

    def add_columns(self, rows: str) -> None:
        self._remove_staged()
        there = {field.name().lower() for field in self._transaction.table().schema().columns()}
        wanted = self._schema(rows).columns()
        if missing := [field for field in wanted if field.name().lower() not in there]:
            update = self._transaction.updateSchema()
            for field in missing:
                update.addColumn(field.name(), field.type(), field.doc())
            update.commit()

    def replace(self, rows: str, partitioned_by: Sequence[str]) -> None:
        operations, schema = self._table.operations(), self._schema(rows)
        partitions = self._class(f"{_ICEBERG}.PartitionSpec").builderFor(schema)
        for column in partitioned_by:
            partitions.identity(schema.caseInsensitiveFindField(column).name())
        before = operations.current()
        replaced = before.buildReplacement(
            schema,
            partitions.build(),
            self._class(f"{_ICEBERG}.SortOrder").unsorted(),
            before.location(),
            self._class("java.util.HashMap")(),
        )
        transactions = self._class(f"{_ICEBERG}.Transactions")
        self._transaction = transactions.replaceTableTransaction(
            self._table.name(), operations, replaced
        )
        self._keep_not_null(schema)
        self.execute(lambda table: f"INSERT INTO {table}\n{rows}")

    def change_properties(self, changed: Mapping[str, str], removed: Sequence[str] = ()) -> None:
        update = self._transaction.updateProperties()
        for key, value in changed.items():
            update.set(key, value)
        for key in removed:
            update.remove(key)
        update.commit()

    def change_nullability(self, column: str, *, is_nullable: bool) -> None:
        update = self._transaction.updateSchema().allowIncompatibleChanges().caseSensitive(False)  # noqa: FBT003 - of Iceberg
        change = update.makeColumnOptional if is_nullable else update.requireColumn
        change(column).commit()

    def publish(self) -> int:
        with outcomes.settled(self._asked, lambda: (self.before, self.now)):
            self._commit()
        head = self._transaction.currentMetadata().currentSnapshot()
        return 0 if head is None else int(head.sequenceNumber())

    def _commit(self) -> None:
        begun, changed = self._transaction.startMetadata(), self._transaction.currentMetadata()
        self._transaction.underlyingOps().commit(begun, changed)

    def abandon(self) -> None:
        """As `Transaction.abandon`: nothing of a transaction is in the catalog before its end."""

    def _remove_staged(self) -> None:
        """Remove the columns that writes over Spark Connect have added and not published."""
        if iceberg_format.STAGED not in str(self._transaction.table().properties().toString()):
            return
        now = self.now
        staged = transactions.staged(now)
        keys = [key for key in now.properties if key.startswith(iceberg_format.STAGED)]
        update = self._transaction.updateSchema()
        for column in staged:
            update.deleteColumn(column)
        update.commit()
        self.change_properties({}, keys)

    def _keep_not_null(self, schema: _Java) -> None:
        prefix = iceberg_format.CONSTRAINTS
        known = {k: v for k, v in self.now.properties.items() if k.startswith(prefix)}
        gone = [k for k, column in known.items() if not schema.caseInsensitiveFindField(column)]
        for column in (column for key, column in known.items() if key not in gone):
            self.change_nullability(column, is_nullable=False)
        if gone:
            self.change_properties({}, gone)

    def _schema(self, rows: str) -> _Java:
        """Return the columns of a query, all of which may be NULL."""
        found = self._spark.sql(rows)._jdf.schema().asNullable()  # noqa: SLF001 - as above
        return self._class(f"{_ICEBERG}.spark.SparkSchemaUtil").convert(found)

    def _relation(self) -> _Java:
        """Return the table of the transaction as a relation that no catalog has.

        Iceberg refuses to scan the table of a transaction, and a MERGE scans it. What the table
        commits to can be scanned as any other table.
        """
        operations = self._transaction.table().operations()
        staged = self._class(f"{_ICEBERG}.BaseTable")(operations, self._table.name())
        table = self._class(f"{_ICEBERG}.spark.source.SparkTable")(staged)
        # The catalog has the functions of partitions such as bucket(2, v), but not this table.
        catalog = self._java.sessionState().catalogManager().catalog(self._asked.catalog)
        relation = self._class(f"{_SOURCES}.v2.DataSourceV2Relation")
        option = self._class("scala.Option")
        return relation.create(table, option.apply(catalog), option.apply(None))

    def _written(self, plan: _Java, relation: _Java) -> _Java:
        """Return the plan of a statement that writes to a relation instead of to a named table.

        The table is the first argument of each such plan, and the second one of its alias.
        """
        kind = plan.getClass().getSimpleName()
        if kind == "UnresolvedRelation":
            return relation
        place = 1 if kind == "SubqueryAlias" else 0
        count = plan.productArity()
        gateway: Any = self._spark.sparkContext._gateway  # noqa: SLF001 - as above
        arguments = gateway.new_array(self._class("java.lang.Object"), count)
        for number in range(count):
            part = plan.productElement(number)
            arguments[number] = self._written(part, relation) if number == place else part
        return plan.makeCopy(arguments)

    def _parsed(self, found: _Java) -> TableMetadata:
        return metadata.parse(metadata.document_of(self._spark, found))

    def _class(self, name: str) -> _Java:
        return java_class(self._spark, name)
