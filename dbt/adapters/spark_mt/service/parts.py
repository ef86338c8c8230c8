"""What a manager is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbt.adapters.spark_mt.definition.job import Owner
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.execution.leases import Leadership
    from dbt.adapters.spark_mt.execution.ports import ManagedJobLog
    from dbt.adapters.spark_mt.service.catalog_view import CatalogView
    from dbt.adapters.spark_mt.service.handlers import RefreshHandlers
    from dbt.adapters.spark_mt.service.loop import Loop
    from dbt.adapters.spark_mt.service.reconciler import Reconciler
    from dbt.adapters.spark_mt.service.refreshing import Refreshing
    from dbt.adapters.spark_mt.service.requests import StatementRequest
    from dbt.adapters.spark_mt.service.runs import Dispatcher
    from dbt.adapters.spark_mt.service.submission import Submissions
    from dbt.adapters.spark_mt.service.tally import Tally
    from dbt.adapters.spark_mt.service.workers import Hosting
    from dbt.adapters.spark_mt.service.workflows import TableWorkflows


@dataclass(frozen=True, slots=True)
class Place:
    """Where a manager runs.

    Args:
        owner: Its process.
        version: Of this package.
        spark_version: Of its Spark.
        master: Of its Spark.
        application_id: Of its Spark.
        connect_url: Where Spark Connect answers; empty without it.
    """

    owner: Owner
    version: str
    spark_version: str
    master: str
    application_id: str
    connect_url: str = ""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a manager is made of.

    Args:
        catalog: Whose tables it keeps fresh.
        place: Where it runs.
        environment: Makes ports.
        environment_for: Makes ports that stand where a statement's names belong.
        log: The log of refreshes.
        leadership: Of the catalog.
        view: What the registry says.
        tally: What became of refreshes.
        hosting: Of CONTINUOUS tables.
        workflows: Of FULL tables.
        handlers: Tells who refreshes what.
        dispatcher: Begins runs.
        refreshing: Carries them out.
        submissions: Takes those in that are asked for.
        reconciler: Directs all of it.
        loop: Lets it tick.
    """

    catalog: str
    place: Place
    environment: Callable[[], Environment]
    environment_for: Callable[[StatementRequest], Environment]
    log: ManagedJobLog
    leadership: Leadership
    view: CatalogView
    tally: Tally
    hosting: Hosting
    workflows: TableWorkflows
    handlers: RefreshHandlers
    dispatcher: Dispatcher
    refreshing: Refreshing
    submissions: Submissions
    reconciler: Reconciler
    loop: Loop
