"""What the manager knows of workflows that Airflow runs."""

import pytest
import time_machine

from dbt.adapters.spark_mt.definition.refresh_handler import FullRefreshHandler
from dbt.adapters.spark_mt.execution.workflows import (
    DeleteRefreshWorkflow,
    ResumeRefreshWorkflow,
    SchedulerContext,
    SuspendRefreshWorkflow,
    WorkflowNotFoundError,
)
from dbt.adapters.spark_mt.scheduler.airflow import LONGEST_DAG_ID, create, dag_id_of
from tests.unit.scheduler.simulation import at, now, workflow


@pytest.fixture
def scheduler():
    fired = []
    with time_machine.travel(at("2025-03-02 10:10"), tick=False):
        yield create(SchedulerContext(fired.append, now))
    assert fired == []


def test_the_life_of_a_workflow(scheduler):
    handler = scheduler.create_refresh_workflow(workflow())
    assert handler == FullRefreshHandler("airflow", "c.s.t", "every hour")
    assert scheduler.next_run_at(handler) == at("2025-03-02 11:00")
    scheduler.modify_refresh_workflow(SuspendRefreshWorkflow(handler))
    assert scheduler.next_run_at(handler) is None
    scheduler.modify_refresh_workflow(ResumeRefreshWorkflow(handler))
    assert scheduler.next_run_at(handler) == at("2025-03-02 11:00")
    scheduler.delete_refresh_workflow(DeleteRefreshWorkflow(handler))
    assert scheduler.next_run_at(handler) is None
    serializer = scheduler.refresh_handler_serializer()
    assert serializer.deserialize(serializer.serialize(handler)) == handler


def test_what_is_not_there(scheduler):
    nobody = FullRefreshHandler("airflow", "nobody", "")
    scheduler.delete_refresh_workflow(DeleteRefreshWorkflow(nobody))
    with pytest.raises(WorkflowNotFoundError) as caught:
        scheduler.modify_refresh_workflow(SuspendRefreshWorkflow(nobody))
    assert caught.value.parameters == {"scheduler": "airflow", "workflow": "nobody"}


def test_ids_of_dags():
    assert dag_id_of("spark_catalog.flights.daily_report") == "spark_catalog.flights.daily_report"
    odd = [dag_id_of(name) for name in ("c.a b.t", "c.a_b.t", "c.ä.t", "x" * 300, "x" * 301)]
    assert len(set(odd)) == len(odd)
    assert all(len(dag_id) <= LONGEST_DAG_ID and dag_id.isascii() for dag_id in odd)
