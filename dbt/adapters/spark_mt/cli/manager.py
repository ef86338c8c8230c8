"""Discovery of the manager that a command can use in place of a Spark session."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.cli.profiles import place_of
from dbt.adapters.spark_mt.client import discovery
from dbt.adapters.spark_mt.client.discovery import Discovered, NotFound
from dbt.adapters.spark_mt.client.rest import (
    ManagerClient,
    ManagerRefusedError,
    ManagerUnreachableError,
)
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.spark.session import embedded_metastore

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.cli.options import ManagerChoice, SparkChoice
    from dbt.adapters.spark_mt.cli.profiles import Place


_PROBE_S = 3.0


class NoManagerError(MaterializedTableError):
    """A manager of this warehouse was to be found, and there is none."""

    condition = "MATERIALIZED_TABLE_NO_MANAGER"
    text = "No manager of this warehouse was found: {reason}."
    remedy = (
        "Start one with `spark-mt serve`, or run the command where the project of the manager is, "
        "on the same machine and as the same user."
    )


def manager_of(manager: ManagerChoice, spark: SparkChoice) -> ManagerClient | None:
    """Return the manager that was named, else a living one of the same warehouse, else None."""
    if manager.url is not None:
        return ManagerClient(manager.url, manager.token)
    found = discovered(place_of(spark))
    if isinstance(found, NotFound) or not found.rest_url:
        return None
    client = ManagerClient(found.rest_url, manager.token or found.rest_token)
    return client if _answers(client) else None


def token_of_manager(spark: SparkChoice) -> str:
    """Return what the manager of the same warehouse asks for; empty if for nothing.

    Raises:
        NoManagerError: There is none whose file this user may read.
    """
    found = discovered(place_of(spark))
    if isinstance(found, NotFound):
        raise NoManagerError(reason=found.reason)
    return found.rest_token


def discovered(place: Place) -> Discovered | NotFound:
    """Return the manager that holds the embedded metastore of a place, if its process lives."""
    metastore = embedded_metastore(place.confs, place.home)
    if metastore is None:
        return NotFound("there is no embedded metastore, next to which its file would be")
    return discovery.read(discovery.place(metastore))


def _answers(client: ManagerClient) -> bool:
    """Whether a manager answers; a refusal is an answer."""
    try:
        replace(client, timeout_s=_PROBE_S).about()
    except ManagerUnreachableError:
        return False
    except ManagerRefusedError:
        return True
    return True
