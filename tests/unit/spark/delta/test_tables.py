"""Statements that maintain tables, over a session that records them."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.spark.delta.tables import DeltaTables

NAME = TableName("t", "s", "c")
LISTING = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
SMALL = "spark.databricks.delta.optimize.minFileSize"


class Session:
    """A session with these confs."""

    def __init__(self, **confs):
        self.values, self.statements = confs, []
        self.conf, self.sql = self, self.statements.append

    def get(self, key, default=None):
        return self.values.get(key, default)

    def set(self, key, value):
        self.values[key] = value


@pytest.mark.parametrize(("before", "after"), [("10000", "16"), ("400", "400"), ("1", "1")])
def test_vacuum_lists_directories_in_few_tasks(before, after):
    session = Session(**{LISTING: before})
    DeltaTables(None).vacuum(session, NAME, 90 * 60 * 1000)
    assert session.values == {LISTING: after}
    assert session.statements == ["VACUUM `c`.`s`.`t` RETAIN 2 HOURS"]


@pytest.mark.parametrize(("confs", "limit"), [({}, 16 * 1024 * 1024), ({SMALL: 7}, 7)])
def test_optimize_merges_small_files_only(confs, limit):
    session = Session(**confs)
    DeltaTables(None).compact(session, NAME)
    assert session.values == {SMALL: limit}
    assert session.statements == ["OPTIMIZE `c`.`s`.`t`"]
