"""The strategy of a job in the log of refreshes."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.job import Job, JobKind, JobStatus, Owner
from dbt.adapters.spark_mt.spark.registry.registry import job_of, job_row

JOB = Job(
    "j-1",
    TableName("t", "s", "c"),
    JobKind.MANUAL,
    JobStatus.FINISHED,
    1,
    2,
    Owner("host", 1),
    "REFRESH",
    strategy="incremental/append",
    reason="ROW_WISE: one row",
)


def read(job, facts=None):
    row = defaultdict(lambda: None, job_row(job))
    return job_of({**row, "facts": facts or row["facts"]}, "c")


def test_a_job_keeps_its_strategy_and_what_a_newer_release_stored():
    assert read(JOB) == JOB
    newer = replace(JOB, unknown='{"cost": 3}')
    assert (read(newer).strategy, read(newer).unknown) == ("incremental/append", '{"cost": 3}')


@pytest.mark.parametrize("facts", ['{"cost": 3}', "no document", '["strategy"]'])
def test_a_job_without_a_strategy_keeps_its_facts_as_they_are(facts):
    found = read(replace(JOB, strategy="", reason=""), facts)
    assert (found.strategy, found.unknown) == ("", facts)
    assert job_row(found)["facts"] == facts


def test_a_job_without_facts_has_no_column_for_them():
    assert "facts" not in job_row(replace(JOB, strategy="", reason=""))
