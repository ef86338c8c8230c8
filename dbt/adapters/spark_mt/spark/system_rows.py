"""Rows of the registry and of the log of refreshes, to and from values.

Columns stay as they are. A later release adds keys to the JSON of the column `facts`: a missing key
has a default, and an unknown key is ignored.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any, TypeVar

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.definition.freshness import Freshness
from dbt.adapters.spark_mt.definition.job import Job, JobKind, JobStatus, Owner
from dbt.adapters.spark_mt.definition.modes import RefreshMode, RefreshStatus
from dbt.adapters.spark_mt.definition.positions import encode_positions
from dbt.adapters.spark_mt.execution.ports import RegistryEntry
from dbt.adapters.spark_mt.execution.registry_entry import KnownTable, known_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyspark.sql import Row

    from dbt.adapters.spark_mt.definition.definition import Pairs
    from dbt.adapters.spark_mt.planning.steps import Register
    from dbt.adapters.spark_mt.spark.system_table import Value

    Read = TypeVar("Read", KnownTable, Job)


FORMAT_VERSION = 1
"""The major version of the `facts` of a table's row; those without a number have this one."""
_DAMAGE = (ValueError, KeyError, TypeError, AttributeError, MaterializedTableError)
_log = logging.getLogger(__name__)


class RowReader:
    """Reader of rows one by one, so that an unreadable row does not affect the others.

    Such a row is left out, and named once in the log.
    """

    def __init__(self) -> None:
        self._named: set[tuple[str, int]] = set()

    def each(
        self, rows: Iterable[Row], catalog: str, read: Callable[[Row, str], Read]
    ) -> tuple[Read, ...]:
        """Return the values of the readable ones of `rows`."""
        found = (self._one(row, catalog, read) for row in rows)
        return tuple(each for each in found if each is not None)

    def _one(self, row: Row, catalog: str, read: Callable[[Row, str], Read]) -> Read | None:
        try:
            return read(row, catalog)
        except _DAMAGE as error:
            self._name(row, catalog, error)
            return None

    def _name(self, row: Row, catalog: str, error: Exception) -> None:
        name = ".".join((catalog, str(row["schema_name"]), str(row["table_name"])))
        key = (name, row["recorded_at_ms"])
        if key not in self._named:
            self._named.add(key)
            _log.warning(
                "The registry's row of %s cannot be read and is left out (%s: %s). Upgrade "
                "dbt-spark-mt if a newer release wrote it; otherwise `spark-mt repair` writes it "
                "again from the table.",
                name,
                type(error).__name__,
                error,
            )


def named(kind: str, name: TableName, now_ms: int) -> dict[str, Value]:
    """Return the columns that rows about tables begin with."""
    return {
        "kind": kind,
        "schema_name": name.schema or "",
        "table_name": name.name,
        "recorded_at_ms": now_ms,
    }


def table_row(step: Register, now_ms: int) -> dict[str, Value]:
    """Return the row of a table in the registry.

    Args:
        step: What was committed.
        now_ms: The current instant, milliseconds since the epoch, UTC.
    """
    definition = step.definition
    return {
        **named("TABLE", definition.name, now_ms),
        "table_id": definition.table_id,
        "generation": definition.generation,
        "seq": step.seq,
        "refresh_mode": definition.resolved.refresh_mode.value,
        "freshness": definition.resolved.freshness.sql,
        "status": definition.status.value,
        "last_refresh_at_ms": step.refresh.started_at_ms if step.refresh else None,
        "lag_seconds": None,  # a lag that is stored is not true later; releases before wrote 0
        "positions": json.dumps(encode_positions(step.positions or {})),
        "dropped": False,
        "facts": json.dumps(_facts(known_table(step, now_ms))),
    }


def known_of(row: Row, catalog: str) -> KnownTable:
    """Return the known table of a row, for a manager; the row must have `facts`.

    Raises:
        ValueError, KeyError, TypeError, AttributeError, MaterializedTableError: It cannot be read.
    """
    facts = json.loads(row["facts"])
    if (version := facts.get("format", FORMAT_VERSION)) != FORMAT_VERSION:
        raise ValueError(f"its format is {version}, and this release reads {FORMAT_VERSION}")  # noqa: TRY003, EM102
    return KnownTable(
        name=TableName(name=row["table_name"], schema=row["schema_name"], catalog=catalog),
        table_id=row["table_id"],
        generation=row["generation"],
        refresh_mode=RefreshMode(row["refresh_mode"]),
        declared_refresh_mode=facts.get("asked_refresh_mode", "AUTOMATIC"),
        freshness=Freshness.of_stored(row["freshness"]),
        status=RefreshStatus(row["status"]),
        status_reason=facts.get("status_reason", ""),
        zone=facts.get("zone", "UTC"),
        formatters=_read_pairs(facts.get("formatters", [])),
        reads=tuple(facts.get("reads", [])),
        derived_from=None
        if facts.get("derived_from") is None
        else _read_pairs(facts["derived_from"]),
        last_refresh_at_ms=row["last_refresh_at_ms"],
        rows=facts.get("rows"),
        recorded_at_ms=row["recorded_at_ms"],
    )


def _facts(table: KnownTable) -> dict[str, Any]:
    derived_from = table.derived_from
    return {
        "asked_refresh_mode": table.declared_refresh_mode,
        "status_reason": table.status_reason,
        "zone": table.zone,
        "formatters": _pairs(table.formatters),
        "reads": list(table.reads),
        "derived_from": None if derived_from is None else _pairs(derived_from),
        "rows": table.rows,
    }


def entry_of(row: Row, catalog: str) -> RegistryEntry:
    """Return the entry of a row, for a listing; from its columns, whatever `facts` holds."""
    return RegistryEntry(
        name=TableName(name=row["table_name"], schema=row["schema_name"], catalog=catalog),
        table_id=row["table_id"],
        refresh_mode=row["refresh_mode"],
        freshness=row["freshness"],
        status=row["status"],
        last_refresh_at_ms=row["last_refresh_at_ms"],
        recorded_at_ms=row["recorded_at_ms"],
    )


def job_row(job: Job) -> dict[str, Value]:
    """Return the row of a job in the log of refreshes."""
    row: dict[str, Value] = {
        **named("JOB", job.table, job.last_heartbeat_ms),
        "status": job.status.value,
        "refresh_mode": job.refresh_mode,
        "freshness": job.freshness,
        "job_id": job.job_id,
        "job_kind": job.kind.value,
        "trigger": job.trigger,
        "creates": job.creates,
        "started_at_ms": job.started_at_ms,
        "ended_at_ms": job.ended_at_ms,
        "rows": job.rows,
        "error": job.error,
        **owner_columns(job.owner),
        "scheduled_at_ms": job.scheduled_at_ms,
    }
    facts = _job_facts(job)
    return {**row, "facts": facts} if facts else row


_CHOICE = ("strategy", "reason")
"""Keys in `facts` of a job: how its rows are computed."""


def _job_facts(job: Job) -> str:
    """Return what has no column: the choice of the strategy, and what a newer release stored."""
    known = {"strategy": job.strategy, "reason": job.reason}
    known = {key: text for key, text in known.items() if text}
    if not known:
        return job.unknown
    more = json.loads(job.unknown) if job.unknown else {}
    return json.dumps({**more, **known}, sort_keys=True)


def _read_facts(text: str) -> tuple[dict[str, str], str]:
    """Return the choice in `facts`, and the rest of them as text."""
    try:
        found = json.loads(text) if text else {}
    except ValueError:
        return {}, text
    if not isinstance(found, dict) or not any(key in found for key in _CHOICE):
        return {}, text
    known = {key: str(found.pop(key)) for key in _CHOICE if key in found}
    return known, json.dumps(found, sort_keys=True) if found else ""


def job_of(row: Row, catalog: str) -> Job:
    """Return the job of a row.

    A process that ends the job of another one writes the row again, so `facts` is kept.

    Raises:
        ValueError, KeyError, TypeError: It cannot be read.
    """
    chosen, unknown = _read_facts(row["facts"] or "")
    return Job(
        job_id=row["job_id"],
        table=TableName(name=row["table_name"], schema=row["schema_name"], catalog=catalog),
        kind=JobKind(row["job_kind"]),
        status=JobStatus(row["status"]),
        started_at_ms=row["started_at_ms"],
        last_heartbeat_ms=row["recorded_at_ms"],
        owner=owner_of(row),
        trigger=row["trigger"] or "",
        creates=bool(row["creates"]),
        refresh_mode=row["refresh_mode"] or "",
        freshness=row["freshness"] or "",
        ended_at_ms=row["ended_at_ms"],
        rows=row["rows"],
        error=row["error"] or "",
        scheduled_at_ms=row["scheduled_at_ms"],
        strategy=chosen.get("strategy", ""),
        reason=chosen.get("reason", ""),
        unknown=unknown,
    )


def owner_columns(owner: Owner) -> dict[str, Value]:
    """Return the columns of a process."""
    return {
        "owner_host": owner.host,
        "owner_pid": owner.pid,
        "owner_process": owner.process,
        "owner_user": owner.user,
    }


def owner_of(row: Row) -> Owner:
    """Return the process that a row names."""
    return Owner(
        host=row["owner_host"],
        pid=row["owner_pid"],
        process=row["owner_process"] or "",
        user=row["owner_user"] or "",
    )


def _pairs(pairs: Pairs) -> list[list[str]]:
    return [[key, value] for key, value in pairs]


def _read_pairs(items: list[list[str]]) -> Pairs:
    return tuple((key, value) for key, value in items)
