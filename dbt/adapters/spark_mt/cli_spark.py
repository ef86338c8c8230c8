"""Opens a Spark session for a command: in the manager's driver, on a server, or of its own."""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dbt.adapters.spark_mt.cli_profiles import ProfileError
from dbt.adapters.spark_mt.cli_tables import LocalTables, Rows, Session
from dbt.adapters.spark_mt.definition.identifier import quote
from dbt.adapters.spark_mt.repairing import repairs_of
from dbt.adapters.spark_mt.spark.environment import SparkEnvironment
from dbt.adapters.spark_mt.spark.progress import stage_progress
from dbt.adapters.spark_mt.spark.session import classic_spark, connect_spark
from dbt.adapters.spark_mt.ways import automatic_way, server_url

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.cli_profiles import Place
    from dbt.adapters.spark_mt.discovery import Discovered

LOG = "spark-mt.log"
_SERVER_PORT = 15002


@contextmanager
def open_tables(place: Place) -> Iterator[LocalTables]:
    """Open a session where `place` says, and end it afterwards.

    Raises:
        MetastoreInUseError: Another process holds the metastore, and serves no Spark Connect.
        ProfileError: The profile does not say enough.
    """
    spark = open_spark(place)
    environment = SparkEnvironment(spark)
    try:
        _enter(spark, place)
        yield LocalTables(
            Session(
                environment=environment.value,
                registry=environment.log,
                catalog=spark.catalog.currentCatalog(),
                forget=environment.details.forget,
                run=partial(_run, spark),
                progress=partial(stage_progress, spark),
                repair=partial(
                    repairs_of(spark, environment).repair, spark.catalog.currentCatalog()
                ),
            )
        )
    except KeyboardInterrupt:
        spark.interruptAll()
        environment.sessions.interrupt()
        raise
    finally:
        spark.stop()


def open_spark(place: Place) -> SparkSession:
    """Open a session as the method of a profile says."""
    if place.method == "connect":
        return connect_spark(_server_url(place), place.confs)
    if place.method == "auto":
        way = automatic_way(place.confs, place.home, _say_that_we_wait)
        if way.is_connect:
            return connect_spark(way.url, place.confs, is_near=True)
    return classic_spark(place.confs, place.home, log_folder(place) / LOG)


def log_folder(place: Place) -> Path:
    """Where logs are written: where dbt writes them."""
    return Path(os.environ.get("DBT_LOG_PATH", place.home / "logs")).absolute()


def _server_url(place: Place) -> str:
    server = place.server
    if not server.get("host"):
        raise ProfileError(problem=f"`method: connect` needs `host` ({place.origin})")
    port = int(server.get("port") or _SERVER_PORT)
    use_ssl = bool(server.get("use_ssl"))
    return server_url(str(server["host"]), port, server.get("token"), use_ssl=use_ssl)


def _say_that_we_wait(manager: Discovered) -> None:
    click.echo(f"Waiting for the refresh manager to start ({manager.owner}) …", err=True)


def _enter(spark: SparkSession, place: Place) -> None:
    """Look names up where the profile's models are, once their schema exists."""
    if place.catalog:
        spark.catalog.setCurrentCatalog(place.catalog)
    if place.schema and spark.catalog.databaseExists(quote(place.schema)):
        spark.catalog.setCurrentDatabase(place.schema)


def _run(spark: SparkSession, statement: str, limit: int) -> Rows:
    frame = spark.sql(statement)
    rows = frame.take(limit + 1)
    return Rows(
        columns=tuple(frame.columns),
        rows=tuple(tuple(row) for row in rows[:limit]),
        is_cut=len(rows) > limit,
    )
