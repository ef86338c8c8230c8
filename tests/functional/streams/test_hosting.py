"""The guarantees of hosted tables, over Delta and Structured Streaming."""

from __future__ import annotations

import pytest

from tests.behaviour.harness import divided
from tests.behaviour.hosting import Hosting
from tests.behaviour.hosting_spark import SparkWorld
from tests.behaviour.spark import SparkTables

CORE, REST = divided(
    Hosting,
    ("every_row_arrives_once", "two_hosts_of_one_table", "columns_of_the_source_that_move"),
)


@pytest.fixture
def world(session, schema):
    assert session.catalog.currentDatabase() == schema
    made = SparkWorld(SparkTables(session), session)
    yield made
    made.close()


class TestHosting(CORE):
    """What Delta and Structured Streaming could get wrong."""


@pytest.mark.conformance
class TestEveryHosting(REST):
    """All other guarantees; what needs no Spark is tested in memory alone."""

    test_nothing_follows_a_table_in_mode_full = None
    test_a_batch_that_fails_is_a_job_that_failed = None
