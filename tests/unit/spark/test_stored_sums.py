"""Which partial sums of a table a refresh finds while another one stores newer ones."""

from __future__ import annotations

from types import SimpleNamespace

from dbt.adapters.spark_mt.definition.columns import QueryContext, TableName
from dbt.adapters.spark_mt.definition.commit_metadata import CommitKind, CommitMetadata
from dbt.adapters.spark_mt.definition.positions import VersionedPosition
from dbt.adapters.spark_mt.query.partial_sums import partial_sums
from dbt.adapters.spark_mt.spark.catalog import TableDetail
from dbt.adapters.spark_mt.spark.stored_sums import SumsTables
from tests.support.differential_cases import Case
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

    def first_row_change(self, location, first, last):  # noqa: ARG002
        assert first > last, "the sums are of an older commit than the newest one"


def test_rows_and_positions_of_stored_sums_are_those_of_one_version():
    from pyspark.sql.types import LongType, StructField, StructType

    detail = TableDetail("delta", "/sums", "")
    details = SimpleNamespace(forget=lambda name: None, of=lambda name: detail)  # noqa: ARG005
    schema = StructType([StructField(name, LongType()) for name in SUMS.sums.columns])
    spark = SimpleNamespace(table=lambda name: SimpleNamespace(schema=schema))  # noqa: ARG005
    resolved = SimpleNamespace(context=QueryContext("c", "s"))
    definition = SimpleNamespace(name=TableName.of("c", "s", "m"), table_id="id", resolved=resolved)
    step = SimpleNamespace(definition=definition)

    found = SumsTables(SimpleNamespace(log=MovingLog()), details).find(spark, step, SUMS)
    assert found is not None
    assert (found.version, found.positions, found.seq) == (0, at(0), 0)
