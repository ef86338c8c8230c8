"""Which partial sums of a table a refresh finds while another one stores newer ones."""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from dbt.adapters.spark_mt.definition.columns import QueryContext, TableName
from dbt.adapters.spark_mt.definition.commit_metadata import CommitKind, CommitMetadata
from dbt.adapters.spark_mt.definition.errors import CommitConflictError, RefreshFailedError
from dbt.adapters.spark_mt.definition.positions import VersionedPosition
from dbt.adapters.spark_mt.execution.table_format import (
    InstalledTables,
    RowsNotThereError,
    TableColumns,
)
from dbt.adapters.spark_mt.query.partial_sums import partial_sums
from dbt.adapters.spark_mt.spark.delta.tables import DeltaTables
from dbt.adapters.spark_mt.spark.tables.stored_sums import StoredSums, SumsTables
from dbt.adapters.spark_mt.spark.tables.writer import ContentWriter
from tests.support.differential_cases import Case
from tests.support.refs import delta_at
from tests.unit.builders import commit

SUMS = partial_sums(Case("SELECT a, sum(b) AS s FROM t GROUP BY a", {}, {}).tree)


def at(version):
    return {"c.s.t": VersionedPosition(version, "t")}


def stored(version):
    """The sums of a version of the source, in the commit of the same version."""
    metadata = CommitMetadata("id", CommitKind.CONTENT, version, 1, positions=at(version))
    return commit(version, metadata=metadata)


class MovingLog:
    """A log that gets a commit whenever its newest version was asked for."""

    def __init__(self):
        self.commits = [stored(0)]

    def newest(self, location):  # noqa: ARG002 - there is one table
        newest = self.commits[-1].version
        self.commits.append(stored(newest + 1))
        return newest

    def backwards(self, location, newest=None):  # noqa: ARG002
        last = len(self.commits) if newest is None else newest + 1
        return reversed(self.commits[:last])

    def first_row_change(self, location, after, upto):  # noqa: ARG002
        assert after == upto, "the sums are of an older commit than the newest one"


def test_rows_and_positions_of_stored_sums_are_those_of_one_version():
    from pyspark.sql.types import LongType, StructField, StructType

    details = SimpleNamespace(forget=lambda name: None, table=lambda name: delta_at("/sums", name))  # noqa: ARG005
    schema = StructType([StructField(name, LongType()) for name in SUMS.sums.columns])
    spark = SimpleNamespace(table=lambda name: SimpleNamespace(schema=schema))  # noqa: ARG005
    resolved = SimpleNamespace(context=QueryContext("c", "s"))
    definition = SimpleNamespace(name=TableName.of("c", "s", "m"), table_id="id", resolved=resolved)
    step = SimpleNamespace(definition=definition)

    found = SumsTables(InstalledTables(DeltaTables(MovingLog())), details).find(spark, step, SUMS)
    assert found is not None
    assert (found.version, found.positions, found.seq) == (0, at(0), 0)


@pytest.mark.parametrize(
    ("newest", "error"), [(4, RowsNotThereError), (5, CommitConflictError)], ids=["same", "moved"]
)
def test_rows_that_another_refresh_has_replaced_are_a_conflict(newest, error):
    class Tables(DeltaTables):
        def commit(self, *_):
            raise RowsNotThereError

    log = SimpleNamespace(is_newest=lambda table, version: version == newest)  # noqa: ARG005
    tables = InstalledTables(Tables(log))
    details = SimpleNamespace(
        forget=lambda _: None,
        table=lambda name: delta_at("/sums", name),
        written=lambda _: tables.default,
    )
    name = TableName.of("c", "s", "m")
    definition = SimpleNamespace(name=name, table_id="id", generation=1)
    step = SimpleNamespace(definition=definition, run=SimpleNamespace(positions=at(1)))
    sums = StoredSums(TableColumns(name, ()), "sums@4", (), 4, 7, at(0), {})
    with pytest.raises(error):
        SumsTables(tables, details).apply(SimpleNamespace(spark=None), step, sums)


@pytest.mark.parametrize(
    ("is_first", "error"), [(True, RefreshFailedError), (False, CommitConflictError)]
)
def test_a_table_whose_rows_another_refresh_has_replaced_is_a_conflict(is_first, error):
    def of(*_):
        raise RowsNotThereError

    @contextmanager
    def explaining(*_):
        yield SimpleNamespace(content="")

    details = SimpleNamespace()
    writer = ContentWriter(None, None, InstalledTables(DeltaTables(None)), details, None)
    writer._configure = lambda *_: None
    writer._changes = SimpleNamespace(of=of)
    writer._errors = SimpleNamespace(explaining=explaining, has_conflict=lambda _: not is_first)
    step = SimpleNamespace(definition=SimpleNamespace(name=TableName.of("c", "s", "m")))
    with pytest.raises(error):
        writer._apply_change(None, step, None, None)
