"""Transactions on Iceberg tables by statements only, each on a branch of the table.

A branch begins at the newest snapshot of `main`. Statements write to it, and `fast_forward` moves
`main` to its end. It does so only if `main` still is an ancestor of that. So of two writers one
succeeds, and a commit of another program in between makes a write fail. There is one hole. After a
rollback in between, `main` is an ancestor, too. Then `fast_forward` undoes the rollback, and
returns from where it came: that is an error afterwards.

Columns and properties are those of the table, not of a branch. Columns are added before the rows,
and marked by a property until the rows are published. Properties are set after the rows. Whatever a
killed process leaves is found by the next write: the summary of a snapshot has its number and its
definition.
"""

from __future__ import annotations

import random
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar
from uuid import uuid4

from dbt.adapters.spark_mt.definition import capabilities, conditions
from dbt.adapters.spark_mt.definition.columns import TableName, quote, quote_text
from dbt.adapters.spark_mt.definition.table_format import Capability
from dbt.adapters.spark_mt.spark.formats import iceberg as iceberg_format
from dbt.adapters.spark_mt.spark.iceberg import outcomes, transactions
from dbt.adapters.spark_mt.spark.session import errors as spark_errors
from dbt.adapters.spark_mt.spark.session.types import ddl_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructField

    from dbt.adapters.spark_mt.spark.iceberg.metadata import Snapshot, TableMetadata


_T = TypeVar("_T")
_ATTEMPTS = 6
_WAIT_S = 0.1


class BranchTransaction:
    """Implementation of `transactions.Transaction` for a session of Spark Connect.

    Args:
        spark: The session of its statements.
        name: The full name of the table.
        read: Returns its metadata as it is now; None without a table.
        before: Its metadata.
    """

    def __init__(
        self,
        spark: SparkSession,
        name: TableName,
        read: Callable[[TableName], TableMetadata | None],
        before: TableMetadata,
    ) -> None:
        self._spark, self._name, self._read = spark, name, read
        self.before = before
        self._branch = f"{iceberg_format.BRANCH}{uuid4().hex}"
        self._is_open = self._may_be_published = False
        self._columns = _identified(before)
        self._added: tuple[str, ...] = ()
        self._staged: tuple[str, ...] = ()
        self._changed: dict[str, str] = {}
        self._removed: tuple[str, ...] = ()

    @classmethod
    def begin(
        cls,
        read: Callable[[TableName], TableMetadata | None],
        spark: SparkSession,
        name: TableName,
    ) -> BranchTransaction | None:
        """Begin a transaction on the table of a name; None where there is none.

        Raises:
            MaterializedTableError: The table has the option strict-fence.
        """
        full = name if name.catalog else TableName(name.name, name.schema, _catalog(spark))
        found = read(full)
        if found is None:
            return None
        if capabilities.wants_strict_fence(found.properties):
            format_ = iceberg_format.OVER_CONNECT
            raise capabilities.lacking(str(name), format_, Capability.STRICT_FENCE)
        return cls(spark, full, read, found)

    @property
    def now(self) -> TableMetadata:
        return self._same(self._read(self._name))

    def _same(self, found: TableMetadata | None) -> TableMetadata:
        if found is None or found.uuid != self.before.uuid:
            raise self._conflict()
        return found

    def fitted(self, rows: str) -> str:
        return transactions.fitted(self._spark, self.now if self._staged else self.before, rows)

    def execute(self, statement: Callable[[str], str]) -> None:
        self._open()
        with self._finding_conflicts(self._is_other):
            self._spark.sql(statement(f"{self._name.sql}.{quote(f'branch_{self._branch}')}"))

    def _is_other(self, found: TableMetadata) -> bool:
        """Whether the branch is gone, or the columns are no longer those of the statements."""
        return self._branch not in found.branches or _identified(found) != self._columns

    def add_columns(self, rows: str) -> None:
        """As `Transaction.add_columns`: at once, marked as columns that are not published.

        Those that an earlier write left are taken over, if they have the same types.
        """
        there = {f.name.lower(): ddl_type(f.dataType) for f in self._schema(self._name.sql)}
        left = {column.lower() for column in transactions.staged(self.now)}
        wanted = {f.name.lower(): f for f in self._schema(f"(\n{rows}\n)")}
        known = {n for n, f in wanted.items() if n in there and ddl_type(f.dataType) == there[n]}
        others = [quote(name) for name in wanted if name in left - known]
        missing = [f for name, f in wanted.items() if name not in there or name in left - known]
        self._staged = tuple(f.name for n, f in wanted.items() if n in left or n not in there)
        if not self._staged:
            return
        marks = {iceberg_format.STAGED + column: self._branch for column in self._staged}
        self._set_properties(marks)
        if others:
            self._alter(f"DROP COLUMNS ({', '.join(others)})")
        if missing:
            try:
                with spark_errors.unlogged():
                    self._alter(f"ADD COLUMNS ({', '.join(map(_declared, missing))})")
            except Exception as error:
                if not spark_errors.is_spark_error(error) or self._lacks(missing):
                    raise
                raise self._conflict() from error
        self._added = tuple(field.name for field in missing)
        self._columns = _identified(self.now)

    def replace(self, rows: str, partitioned_by: Sequence[str]) -> None:
        """As `Transaction.replace`, for appended columns only.

        No statement of Iceberg replaces columns on a branch, or only if `main` is as it was.
        """
        there = [(f.name.lower(), ddl_type(f.dataType)) for f in self._schema(self._name.sql)]
        wanted = [(f.name.lower(), ddl_type(f.dataType)) for f in self._schema(f"(\n{rows}\n)")]
        staged = {column.lower() for column in transactions.staged(self.now)}
        kept = [column for column in there if column[0] not in staged]
        are = [column.lower() for column in partitioned_by]
        were = [column.lower() for column in self.before.partitioned_by]
        if wanted[: len(kept)] != kept or are != were:
            format_ = iceberg_format.OVER_CONNECT
            raise capabilities.lacking(str(self._name), format_, Capability.REPLACEMENT)
        self.add_columns(rows)
        rows = self.fitted(rows)
        self.execute(lambda table: f"INSERT OVERWRITE TABLE {table}\n{rows}")

    def change_properties(self, changed: Mapping[str, str], removed: Sequence[str] = ()) -> None:
        self._changed |= changed
        self._removed += tuple(removed)

    def change_nullability(self, column: str, *, is_nullable: bool) -> None:
        if not is_nullable:
            format_, subject = iceberg_format.OVER_CONNECT, f" ({quote(column)})"
            raise capabilities.lacking(str(self._name), format_, Capability.LATER_NOT_NULL, subject)
        self._alter(f"ALTER COLUMN {quote(column)} DROP NOT NULL")

    def publish(self) -> int:
        """As `Transaction.publish`.

        Raises:
            MaterializedTableError: It undid a rollback of another program.
        """
        expected = previous = _id(self.before.head)
        tip = None
        if self._is_open:
            now = self.now
            tip = self._publishable(now)
            previous = self._fast_forwarded()
        self._set_properties(self._changed)
        if tip is None:
            self._unset_properties(self._removed)
            return self.now.newest
        marks = (iceberg_format.STAGED + column for column in self._staged)
        gone = dict.fromkeys((*self._removed, *marks, *transactions.obsolete_marks(now)))
        self._unset_properties([*gone])
        self._drop_branches([self._branch, *unpublishable(now, tip)])
        if previous != expected:
            raise self._undone(expected, previous, tip)
        return tip.number

    def abandon(self) -> None:
        """As `Transaction.abandon`; the next write finds what cannot be removed now."""
        if self._is_open:
            self._drop_branches([self._branch])
        if self._added and not self._may_be_published:
            with spark_errors.suppress_spark_errors():
                self._drop_added()

    def _drop_added(self) -> None:
        """Drop the columns of this write, but those that another write has taken over."""
        found = self._read(self._name)
        if found is None or found.uuid != self.before.uuid:
            return
        ours = [c for c in self._added if c in found.columns and self._is_marked(found, c)]
        if ours:
            self._alter(f"DROP COLUMNS ({', '.join(map(quote, ours))})")
            self._unset_properties([iceberg_format.STAGED + column for column in ours])

    def _open(self) -> None:
        """Make the branch; that of a table without a snapshot begins with one of its own."""
        if self._is_open:
            return
        head = self.before.head
        at = "" if head is None else f" AS OF VERSION {head.id}"
        with self._finding_conflicts(self._is_moved):
            self._alter(f"CREATE BRANCH {quote(self._branch)}{at}")
        self._is_open = True
        if head is None and self._is_moved(self.now):
            raise self._conflict()

    def _is_moved(self, found: TableMetadata) -> bool:
        """Whether `main` is no longer where it was when the transaction began."""
        return _id(found.head) != _id(self.before.head)

    @contextmanager
    def _finding_conflicts(self, is_conflict: Callable[[TableMetadata], bool]) -> Iterator[None]:
        """Turn a failure into a conflict if the table is now one in which it had to fail."""
        try:
            yield
        except Exception as error:
            is_of_spark = spark_errors.is_spark_error(error)
            if not is_of_spark or spark_errors.failure_of(error).is_cancelled:
                raise
            with spark_errors.suppress_spark_errors():
                found = self._read(self._name)
                if found is None or found.uuid != self.before.uuid or is_conflict(found):
                    raise self._conflict() from error
            raise

    def _publishable(self, now: TableMetadata) -> Snapshot:
        """Return the end of the branch, if `main` and the columns are as they were."""
        tip = now.branches.get(self._branch)
        are_columns_kept = _identified(now)[: len(self._columns)] == self._columns
        if tip is None or self._is_moved(now) or not are_columns_kept:
            raise self._conflict()
        return tip

    def _fast_forwarded(self) -> int:
        """Move `main` to the end of the branch; return the id of the snapshot where it was."""
        branch = quote_text(self._branch)
        arguments = f"table => {self._in_catalog}, branch => 'main', to => {branch}"
        self._may_be_published = True
        try:
            with spark_errors.unlogged():
                row = self._again(lambda: self._call("fast_forward", arguments).collect()[0])
            return int(row["previous_ref"] or 0)
        except Exception as error:
            if not spark_errors.is_spark_error(error):
                raise
            failure = spark_errors.failure_of(error)
            catalog, problem = self._name.catalog or "", failure.message
            asked = outcomes.Asked(self._name, catalog, lambda: self._read(self._name))
            now = self._same(asked.state(problem))
            tip = now.branches.get(self._branch)
            if tip is not None and now.head is not None and now.leads_to(tip, now.head):
                return before_move(now, tip)  # the catalog has moved it, and its answer was lost
            if failure.is_outcome_unknown or failure.is_catalog_away:
                # The catalog may still move it: then added columns must be there.
                raise conditions.COMMIT_NOT_MADE(
                    table=self._name, catalog=catalog, problem=problem
                ) from error
            self._may_be_published = False
            if self._is_moved(now) or self._is_other(now):
                raise self._conflict() from error
            raise

    def _undone(self, expected: int, previous: int, tip: Snapshot) -> Exception:
        catalog, id_ = quote(self._name.catalog or ""), str(previous)
        return iceberg_format.ROLLBACK_UNDONE(
            table=self._name,
            expected=str(expected),
            previous=id_,
            ours=str(tip.id),
            statement=f"CALL {catalog}.system.rollback_to_snapshot({self._in_catalog}, {id_})",
        )

    def _call(self, procedure: str, arguments: str) -> DataFrame:
        return self._spark.sql(
            f"CALL {quote(self._name.catalog or '')}.system.{procedure}({arguments})"
        )

    @property
    def _in_catalog(self) -> str:
        return quote_text(f"{quote(self._name.schema or '')}.{quote(self._name.name)}")

    def _is_marked(self, found: TableMetadata, column: str) -> bool:
        return found.properties.get(iceberg_format.STAGED + column) == self._branch

    def _lacks(self, fields: Sequence[StructField]) -> bool:
        there = {column.lower() for column in self.now.columns}
        return not {field.name.lower() for field in fields} <= there

    def _drop_branches(self, branches: Sequence[str]) -> None:
        """Drop branches; the next write finds those that cannot be dropped now."""
        for branch in branches:
            with spark_errors.suppress_spark_errors():
                self._alter(f"DROP BRANCH IF EXISTS {quote(branch)}")

    def _set_properties(self, properties: Mapping[str, str]) -> None:
        if properties:
            listed = ", ".join(f"{quote_text(k)} = {quote_text(v)}" for k, v in properties.items())
            self._alter(f"SET TBLPROPERTIES ({listed})")

    def _unset_properties(self, keys: Sequence[str]) -> None:
        if keys:
            self._alter(f"UNSET TBLPROPERTIES IF EXISTS ({', '.join(map(quote_text, keys))})")

    def _alter(self, change: str) -> None:
        self._again(lambda: self._spark.sql(f"ALTER TABLE {self._name.sql} {change}"))

    def _again(self, run: Callable[[], _T]) -> _T:
        """Run a statement again that lost against another change of the metadata.

        Iceberg does so itself for properties, and not for branches. A branch that is made or
        dropped is such a change, and moves `main` nowhere.
        """
        for attempt in range(1, _ATTEMPTS):
            try:
                with spark_errors.unlogged():
                    return run()
            except Exception as error:  # noqa: PERF203 - of few attempts
                is_of_spark = spark_errors.is_spark_error(error)
                if not is_of_spark or not spark_errors.failure_of(error).is_conflict:
                    raise
                time.sleep(random.uniform(0, _WAIT_S * attempt))  # noqa: S311 - no secret
        return run()

    def _schema(self, relation: str) -> Sequence[StructField]:
        return self._spark.sql(f"SELECT * FROM {relation}").schema.fields

    def _conflict(self) -> Exception:
        return conditions.CONCURRENT_CHANGE(table=self._name)


def unpublishable(metadata: TableMetadata, head: Snapshot | None) -> list[str]:
    """Return the branches of writes that cannot be published: `main` is no longer before them.

    Args:
        metadata: The table.
        head: Where `main` is.
    """
    return [
        name
        for name, tip in metadata.branches.items()
        if iceberg_format.is_our_branch(name) and not metadata.leads_to(head, tip)
    ]


def before_move(metadata: TableMetadata, snapshot: Snapshot) -> int:
    """Return the id of the snapshot from which `main` moved to another one; 0 for none."""
    ids = [id_ for _, id_ in metadata.moves]
    place = ids.index(snapshot.id) if snapshot.id in ids else 0
    return ids[place - 1] if place else 0


def _identified(metadata: TableMetadata) -> tuple[tuple[int, str], ...]:
    fields = metadata.schemas[metadata.schema_id]["fields"]
    return tuple((int(field["id"]), str(field["name"])) for field in fields)


def _id(snapshot: Snapshot | None) -> int:
    return 0 if snapshot is None else snapshot.id


def _catalog(spark: SparkSession) -> str:
    return str(spark.catalog.currentCatalog())


def _declared(field: StructField) -> str:
    comment = (field.metadata or {}).get("comment")
    shown = "" if comment is None else f" COMMENT {quote_text(comment)}"
    return f"{quote(field.name)} {ddl_type(field.dataType)}{shown}"
