"""Airflow as the workflow scheduler: its DAGs request refreshes from the manager.

Airflow lists the tables itself (`integrations/airflow.py`), and the manager calls nothing of it.
Airflow runs missed times itself: it has a run for every scheduled time of a table with date
formatters.

This module runs in Airflow as well, and imports the standard library only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from zlib import crc32

from dbt.adapters.spark_mt.definition.job import FullRefreshHandler

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.execution.workflows import (
        CreatePeriodicRefreshWorkflow,
        DeleteRefreshWorkflow,
        SchedulerContext,
        SuspendRefreshWorkflow,
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


def create(_: SchedulerContext) -> WorkflowScheduler[FullRefreshHandler]:
    """Make the scheduler."""
    return AirflowScheduler()


class AirflowScheduler:
    """Names the DAGs of tables. Airflow reads the tables and their schedules from the manager."""

    def create_refresh_workflow(
        self, workflow: CreatePeriodicRefreshWorkflow
    ) -> FullRefreshHandler:
        """Return the handler of a table's DAG, which Airflow makes when it next reads its DAGs."""
        return FullRefreshHandler(NAME, dag_id_of(str(workflow.table)), workflow.schedule.text)

    def modify_refresh_workflow(self, workflow: SuspendRefreshWorkflow[FullRefreshHandler]) -> None:
        """Do nothing: Airflow finds that the table is suspended, and its DAG has no schedule."""

    def delete_refresh_workflow(self, workflow: DeleteRefreshWorkflow[FullRefreshHandler]) -> None:
        """Do nothing: Airflow finds that the table is gone."""
