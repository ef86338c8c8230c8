"""What the manager knows of workflows that Airflow runs."""

import pytest

from dbt.adapters.spark_mt.definition.job import FullRefreshHandler
from dbt.adapters.spark_mt.execution.workflows import (
    DeleteRefreshWorkflow,
    SchedulerContext,
    SuspendRefreshWorkflow,
    serializer_of,
)
from dbt.adapters.spark_mt.scheduler.airflow import LONGEST_DAG_ID, create, dag_id_of
from tests.unit.scheduler.simulation import now, workflow


@pytest.fixture
def scheduler():
    submitted = []
    yield create(SchedulerContext(submitted.append, now))
    assert submitted == []


def test_the_life_of_a_workflow(scheduler):
    handler = scheduler.create_refresh_workflow(workflow())
    assert handler == FullRefreshHandler("airflow", "c.s.t", "every hour")
    scheduler.modify_refresh_workflow(SuspendRefreshWorkflow(handler))
    assert scheduler.create_refresh_workflow(workflow()) == handler
    scheduler.delete_refresh_workflow(DeleteRefreshWorkflow(handler))
    serializer = serializer_of(scheduler)
    assert serializer.deserialize(serializer.serialize(handler)) == handler


def test_ids_of_dags():
    assert dag_id_of("spark_catalog.flights.daily_report") == "spark_catalog.flights.daily_report"
    odd = [dag_id_of(name) for name in ("c.a b.t", "c.a_b.t", "c.ä.t", "x" * 300, "x" * 301)]
    assert len(set(odd)) == len(odd)
    assert all(len(dag_id) <= LONGEST_DAG_ID and dag_id.isascii() for dag_id in odd)
