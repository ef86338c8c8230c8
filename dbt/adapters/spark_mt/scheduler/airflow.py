"""Airflow as the workflow scheduler: its DAGs ask the manager for refreshes.

Airflow finds out by itself which tables there are (`integrations/airflow.py`); the manager calls
nothing of it. Here is only kept what the manager tells about the workflows. What was missed is
Airflow's business: it has a run for every scheduled time of a table with date formatters.

This module runs in Airflow as well, and imports nothing beyond the standard library.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from zlib import crc32

from dbt.adapters.spark_mt.definition.refresh_handler import (
    FullRefreshHandler,
    JsonRefreshHandlerSerializer,
)
from dbt.adapters.spark_mt.execution.workflows import SuspendRefreshWorkflow, WorkflowNotFoundError

if TYPE_CHECKING:
    from datetime import datetime

    from dbt.adapters.spark_mt.definition.refresh_handler import RefreshHandlerSerializer
    from dbt.adapters.spark_mt.execution.workflows import (
        CreateRefreshWorkflow,
        DeleteRefreshWorkflow,
        ModifyRefreshWorkflow,
        SchedulerContext,
        WorkflowScheduler,
    )

NAME = "airflow"
LONGEST_DAG_ID = 250


def dag_id_of(table: str) -> str:
    """Return the id of a table's DAG.

    Args:
        table: The full name, for people.

    Returns:
        The name itself where Airflow can take it; otherwise an id that begins like it.
    """
    plain = re.sub(r"[^A-Za-z0-9_.-]", "_", table)
    if plain == table and len(plain) <= LONGEST_DAG_ID:
        return plain
    return f"{plain[: LONGEST_DAG_ID - 9]}.{crc32(table.encode()):08x}"


def create(context: SchedulerContext) -> WorkflowScheduler:
    """Make the scheduler."""
    return AirflowScheduler(context)


class AirflowScheduler:
    """Knows the workflows that Airflow runs; fires nothing itself."""

    def __init__(self, context: SchedulerContext) -> None:
        self._clock = context.clock
        self._workflows: dict[str, CreateRefreshWorkflow] = {}
        self._resting: set[str] = set()

    def open(self) -> None:
        """Nothing has to begin: Airflow has threads of its own."""

    def close(self, timeout: float) -> bool:  # noqa: ARG002 - the port's
        """Nothing runs here."""
        return True

    def refresh_handler_serializer(self) -> RefreshHandlerSerializer:
        """Return what turns handlers into bytes and back."""
        return JsonRefreshHandlerSerializer()

    def create_refresh_workflow(self, workflow: CreateRefreshWorkflow) -> FullRefreshHandler:
        """Keep a workflow; Airflow makes its DAG when it reads its folder of DAGs next."""
        dag_id = dag_id_of(str(workflow.table))
        self._workflows[dag_id] = workflow
        self._resting.discard(dag_id)
        return FullRefreshHandler(NAME, dag_id, workflow.schedule.text)

    def modify_refresh_workflow(self, workflow: ModifyRefreshWorkflow) -> None:
        """Note whether a workflow rests; its DAG has no schedule then.

        Raises:
            WorkflowNotFoundError: There is none.
        """
        dag_id = workflow.handler.workflow_id
        if dag_id not in self._workflows:
            raise WorkflowNotFoundError(scheduler=NAME, workflow=dag_id)
        if isinstance(workflow, SuspendRefreshWorkflow):
            self._resting.add(dag_id)
        else:
            self._resting.discard(dag_id)

    def delete_refresh_workflow(self, workflow: DeleteRefreshWorkflow) -> None:
        """Forget a workflow; Airflow no longer finds its table."""
        self._workflows.pop(workflow.handler.workflow_id, None)
        self._resting.discard(workflow.handler.workflow_id)

    def next_run_at(self, handler: FullRefreshHandler) -> datetime | None:
        """Return the next scheduled time; None if the workflow rests, or is not there."""
        known = self._workflows.get(handler.workflow_id)
        if known is None or handler.workflow_id in self._resting:
            return None
        return known.schedule.next_after(self._clock())
