"""Microbatch models of dbt in a catalog of Iceberg."""

from __future__ import annotations

import pytest
from dbt.tests.util import run_dbt, run_dbt_and_capture

from tests.iceberg.conftest import REST

_EVENTS = """
{{ config(materialized='table', event_time='at') }}
select id, at from values
  (1, timestamp '2026-01-01 10:00:00'), (2, timestamp '2026-01-02 10:00:00'),
  (3, timestamp '2026-01-02 11:00:00'), (4, timestamp '2026-01-03 10:00:00') as t(id, at)
where id <> {{ var('without', 0) }}
"""
_CONFIG = """
{{ config(materialized='incremental', incremental_strategy='microbatch', event_time='at',
          batch_size='day', begin='2026-01-01', %s) }}
select id, at, cast(at as date) as day, '{{ var('without', 0) }}' as run from {{ ref('events') }}
"""
DAYS = ["--event-time-start", "2026-01-01", "--event-time-end", "2026-01-04"]
SECOND = ["--event-time-start", "2026-01-02", "--event-time-end", "2026-01-03"]


class TestMicrobatch:
    """One project; the tests of this class build on each other."""

    @pytest.fixture(scope="class")
    def catalog(self):
        return "ice"

    @pytest.fixture(scope="class")
    def project_config_update(self, catalog):
        return {"models": {"+database": catalog}}

    @pytest.fixture(scope="class")
    def models(self):
        return {
            "events.sql": _EVENTS,
            "batched.sql": _CONFIG % "partition_by='day'",
            "whole.sql": _CONFIG % "concurrent_batches=false",
        }

    @pytest.fixture
    def batched(self, project, catalog):
        name = f"{catalog}.{project.test_schema}.batched"
        return lambda: project.run_sql(f"select id, run from {name} order by id", fetch="all")

    def test_each_batch_is_there_once(self, batched):
        for _ in range(2):
            run_dbt(["run", "--select", "events", "batched", *DAYS])
            assert [tuple(row) for row in batched()] == [(n, "0") for n in (1, 2, 3, 4)]

    def test_a_batch_replaces_its_partition_only(self, batched):
        run_dbt(["run", "--select", "events", "batched", "--vars", "{without: 2}", *SECOND])
        assert [tuple(row) for row in batched()] == [(1, "0"), (3, "2"), (4, "0")]

    def test_without_partitions_no_batch_is_written(self, project, catalog):
        _, output = run_dbt_and_capture(["run", "--select", "whole", *DAYS], expect_pass=False)
        assert "MATERIALIZED_TABLE_MICROBATCH_PARTITIONS" in output
        tables = project.run_sql(f"show tables in {catalog}.{project.test_schema}", fetch="all")
        assert "whole" not in [row[1] for row in tables]


class TestMicrobatchInRest(TestMicrobatch):
    """The same in a REST catalog."""

    @pytest.fixture(scope="class")
    def catalog(self, rest_server):  # noqa: ARG002 - it is asked by Spark
        return REST
