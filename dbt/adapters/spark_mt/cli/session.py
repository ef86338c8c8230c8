"""Spark session of a command, and splitting of a text into statements.

A command works in the manager's driver, on a Spark Connect server or in a session of its own.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.cli.profiles import ProfileError
from dbt.adapters.spark_mt.cli.tables import Rows, Session
from dbt.adapters.spark_mt.client.rest import relayed
from dbt.adapters.spark_mt.client.target import automatic_target, server_url
from dbt.adapters.spark_mt.definition.columns import quote
from dbt.adapters.spark_mt.spark.session import classic_spark, connect_spark, stage_progress
from dbt.adapters.spark_mt.statements.lexer import skip_blank

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.cli.profiles import Place
    from dbt.adapters.spark_mt.client.discovery import Discovered


LOG = "spark-mt.log"
_SERVER_PORT = 15002


@contextmanager
def open_session(place: Place) -> Iterator[Session]:
    """Open a session where `place` says, and end it afterwards.

    A statement that needs a stream is carried out by the manager whose Spark this is.

    Raises:
        MetastoreInUseError: Another process holds the metastore, and serves no Spark Connect.
        ProfileError: The profile does not say enough.
    """
    spark, manager = open_spark(place)
    relay = partial(relayed, spark, manager, owner={}) if manager and manager.rest_url else None
    tables = MaterializedTables(spark, relay=relay)
    try:
        _enter(spark, place)
        yield Session(tables, partial(_run, spark), partial(stage_progress, spark))
    except KeyboardInterrupt:
        spark.interruptAll()
        tables.cancel()
        raise
    finally:
        spark.stop()


def open_spark(place: Place) -> tuple[SparkSession, Discovered | None]:
    """Open a session as the method of a profile says, and return the manager whose Spark it is."""
    if place.method == "connect":
        return connect_spark(_server_url(place), place.confs), None
    if place.method == "auto":
        target = automatic_target(place.confs, place.home, _print_waiting)
        if target.is_connect:
            return connect_spark(target.url, place.confs, is_near=True), target.manager
    return classic_spark(place.confs, place.home, log_folder(place) / LOG), None


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


def _print_waiting(manager: Discovered) -> None:
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


_NEXT = re.compile(r"['\"`;]|--|/\*")
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`", re.DOTALL)
_RAW = re.compile(r"'[^']*'|\"[^\"]*\"")
_RAW_BEFORE = re.compile(r"(?<![\w])[rR]$")
_SCRIPT = re.compile(r"BEGIN\b", re.IGNORECASE)


def statements_of(text: str) -> tuple[str, ...]:
    """Return the statements of a text, separated by semicolons; those without words are left out.

    Semicolons in literals, names and comments separate nothing. A script, which starts with BEGIN,
    is one statement to the end of the text.
    """
    found = []
    start = 0
    while start < len(text):
        first = skip_blank(text, start)
        end = len(text) if _SCRIPT.match(text, first) else _end(text, first)
        if first < end:
            found.append(text[start:end].strip())
        start = end + 1
    return tuple(found)


def _end(text: str, offset: int) -> int:
    """Return the end of a statement from `offset` on: its semicolon, or the end of the text."""
    while match := _NEXT.search(text, offset):
        at = match.start()
        if match[0] == ";":
            return at
        if match[0] in {"--", "/*"}:
            offset = skip_blank(text, at)
            continue
        is_raw = _RAW_BEFORE.search(text, max(0, at - 2), at) is not None
        quoted = (_RAW if is_raw else _QUOTED).match(text, at)
        offset = quoted.end() if quoted else len(text)
    return len(text)
