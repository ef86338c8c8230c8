"""Registry of materialized tables and log of refreshes, in one append-only table.

Neither is authoritative: the tables are. Losing them costs the speed of listings and the history of
refreshes, and `repair` rebuilds the registry.

Columns stay as they are. A later release adds keys to the JSON of the column `facts`: a missing key
has a default, and an unknown key is ignored.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any, TypeVar

from dbt.adapters.spark_mt.definition.columns import TableName, quote
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.definition.freshness import Freshness
from dbt.adapters.spark_mt.definition.job import Job, JobKind, JobStatus, Owner
from dbt.adapters.spark_mt.definition.modes import RefreshMode, RefreshStatus
from dbt.adapters.spark_mt.definition.positions import encode_positions
from dbt.adapters.spark_mt.definition.verification import (
    decode_verification,
    encode_verification,
)
from dbt.adapters.spark_mt.execution.ports import KnownTable, RegistryEntry
from dbt.adapters.spark_mt.execution.repair import known_table
from dbt.adapters.spark_mt.spark.registry.system_table import SCHEMA, TABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.columns import Pairs
    from dbt.adapters.spark_mt.planning.steps import Register
    from dbt.adapters.spark_mt.spark.catalog.table_details import NewestVersions
    from dbt.adapters.spark_mt.spark.registry.system_table import SystemTable, Value, Values

    Read = TypeVar("Read", KnownTable, Job)


FORMAT_VERSION = 1
"""The major version of the `facts` of a table's row; those without a number have this one."""
_DAMAGE = (ValueError, KeyError, TypeError, AttributeError, MaterializedTableError)
_log = logging.getLogger(__name__)
MOST_ROWS = 500
"""How many rows go into one commit: they are literals of one statement."""


_TABLE_KEY = "schema_name, table_name"
_BY_NAME = f"ORDER BY {_TABLE_KEY}"
_BY_TIME = "recorded_at_ms DESC"
_OF_SCHEMA = "schema_name = {schema}"
_OF_TABLE = f"{_OF_SCHEMA} AND table_name = {{name}}"
_SINCE = "recorded_at_ms >= {since}"
_FACTS = ("strategy", "reason", "request", "verification")
"""Keys in `facts` of a job: how its rows are computed, what was asked for if it waits, and what a
verification found."""


class RowReader:
    """Reader of rows one by one, so that an unreadable row does not affect the others.

    Such a row is left out, and named once in the log.
    """

    def __init__(self) -> None:
        self._named: set[tuple[str, int]] = set()

    def each(
        self, rows: Iterable[Values], catalog: str, read: Callable[[Values, str], Read]
    ) -> tuple[Read, ...]:
        """Return the values of the readable ones of `rows`."""
        found = (self._one(row, catalog, read) for row in rows)
        return tuple(each for each in found if each is not None)

    def _one(self, row: Values, catalog: str, read: Callable[[Values, str], Read]) -> Read | None:
        try:
            return read(row, catalog)
        except _DAMAGE as error:
            name = ".".join((catalog, str(row["schema_name"]), str(row["table_name"])))
            if (key := (name, row["recorded_at_ms"])) not in self._named:
                self._named.add(key)
                _log.warning(
                    "The registry's row of %s cannot be read and is left out (%s: %s). Upgrade "
                    "dbt-spark-mt if a newer release wrote it; otherwise `spark-mt repair` writes "
                    "it again from the table.",
                    name,
                    type(error).__name__,
                    error,
                )
        return None


class SparkSystemLog:
    """Rows of `<catalog>.materialized_table_system.registry`."""

    def __init__(
        self,
        spark: SparkSession,
        table: SystemTable,
        now_ms: Callable[[], int],
        versions: NewestVersions,
    ) -> None:
        self._spark = spark
        self._table = table
        self._now_ms = now_ms
        self._versions = versions
        self._reader = RowReader()

    def record(self, step: Register) -> None:
        """Append a table's row, and that of the refresh which made its newest commit."""
        self.append(*([step.job] if step.job else []), tables=[step])

    def remove(self, name: TableName) -> None:
        """Append the row that says that a table is gone."""
        now = self._now_ms()
        self._table.append(name.catalog or "", [_gone_row(name, now)], now)

    def append(self, *jobs: Job, tables: Sequence[Register] = ()) -> int:
        """Append a row about each job and each table, all in one commit; they are of one catalog.

        A row of a table has the time of its state: of two rows, a reader takes the later one.
        """
        names = [*(job.table for job in jobs), *(step.definition.name for step in tables)]
        if not names:
            return -1
        now = self._now_ms()
        rows = [*(table_row(step, step.at_ms or now) for step in tables), *map(job_row, jobs)]
        return self._table.append(names[0].catalog or "", rows, now)

    def version(self, catalog: str) -> int:
        """Return the newest version of the registry's own table."""
        return self._versions(TableName(TABLE, SCHEMA, catalog))

    def previous(self, catalog: str, version: int) -> int | None:
        return self._versions.previous(TableName(TABLE, SCHEMA, catalog), version)

    def tables(self, catalog: str) -> tuple[KnownTable, ...]:
        """Return the newest row of every table that was not dropped, ordered by name."""
        query = f"{_NEWEST_TABLES} {_BY_NAME}"
        return self._reader.each(self._table.rows(catalog, query), catalog, known_of)

    def record_handlers(self, catalog: str, handlers: Mapping[TableName, bytes]) -> None:
        """Append a row for the refresh handler of each table, all in one commit."""
        now = self._now_ms()
        rows: list[dict[str, Value]] = [
            {**_named("HANDLER", name, now), "facts": handler.decode()}
            for name, handler in handlers.items()
        ]
        if rows:
            self._table.append(catalog, rows, now)

    def handler(self, name: TableName) -> bytes:
        query = _newest("kind = 'HANDLER'", _TABLE_KEY, _BY_TIME, _OF_TABLE)
        rows = self._table.rows(name.catalog or "", query, _of(name))
        return (rows[0]["facts"] or "").encode() if rows else b""

    def handlers(self, catalog: str) -> Mapping[TableName, bytes]:
        """Return the refresh handlers that were written last, by table."""
        rows = self._table.rows(catalog, _newest("kind = 'HANDLER'", _TABLE_KEY, _BY_TIME))
        return {_name(row, catalog): row["facts"].encode() for row in rows if row["facts"]}

    def entries(self, catalog: str, schema: str) -> tuple[RegistryEntry, ...]:
        query = f"{_newest_tables(_OF_SCHEMA)} {_BY_NAME}"
        rows = self._table.rows(catalog, query, {"schema": schema})
        if not rows:
            return ()
        shown = self._spark.sql(f"SHOW TABLES IN {quote(catalog)}.{quote(schema)}").collect()
        there = {row["tableName"] for row in shown}
        return tuple(entry_of(row, catalog) for row in rows if row["table_name"] in there)

    def known(self, catalog: str) -> tuple[TableName, ...]:
        """Return every table of a catalog with a row that was not dropped, ordered by name."""
        rows = self._table.rows(catalog, f"{_NEWEST_TABLES} {_BY_NAME}")
        return tuple(_name(row, catalog) for row in rows)

    def knows(self, name: TableName) -> bool:
        """Whether there is a row for `name`, also where no such table exists any more."""
        return bool(self._table.rows(name.catalog or "", _newest_tables(_OF_TABLE), _of(name)))

    def jobs(self, catalog: str, since_ms: int) -> tuple[Job, ...]:
        return self._jobs(catalog, _SINCE, {"since": since_ms})

    def job(self, catalog: str, job_id: str) -> Job | None:
        return next(iter(self._jobs(catalog, "job_id = {job}", {"job": job_id})), None)

    def running(self, catalog: str, schema: str, since_ms: int) -> tuple[Job, ...]:
        """Return the jobs of a schema's tables with a heartbeat since, which have not ended."""
        condition = f"{_SINCE} AND {_OF_SCHEMA}"
        found = self._jobs(catalog, condition, {"since": since_ms, "schema": schema})
        return tuple(job for job in found if job.status is JobStatus.RUNNING)

    def accepted(self, catalog: str, since_ms: int) -> tuple[Job, ...]:
        found = self._jobs(catalog, _SINCE, {"since": since_ms})
        waiting = (job for job in found if job.status is JobStatus.RUNNING and job.request)
        return tuple(waiting)[::-1]

    def newest(self, catalog: str, per_table: int, since_ms: int) -> tuple[Job, ...]:
        """Return the newest jobs of each table with a heartbeat since an instant."""
        placed = (
            f"SELECT *, row_number() OVER (PARTITION BY {_TABLE_KEY} ORDER BY started_at_ms DESC) "
            f"AS place FROM ({_newest_jobs(_SINCE)}) AS jobs"
        )
        query = f"SELECT * FROM ({placed}) AS placed WHERE place <= {{most}}"
        rows = self._table.rows(catalog, query, {"since": since_ms, "most": per_table})
        return self._reader.each(rows, catalog, job_of)

    def of_table(self, name: TableName, limit: int) -> tuple[Job, ...]:
        return self._jobs(name.catalog or "", _OF_TABLE, _of(name), f"LIMIT {limit}")

    def last_scheduled(self, catalog: str) -> dict[TableName, int]:
        """Return the newest scheduled time of each table that was run for."""
        query = (
            "SELECT schema_name, table_name, max(scheduled_at_ms) AS newest_ms FROM {table} "
            "WHERE kind = 'JOB' AND status IN ('FINISHED', 'SKIPPED') "
            "AND scheduled_at_ms IS NOT NULL GROUP BY schema_name, table_name"
        )
        return {_name(row, catalog): row["newest_ms"] for row in self._table.rows(catalog, query)}

    def _jobs(
        self, catalog: str, condition: str, values: Mapping[str, Value], most: str = ""
    ) -> tuple[Job, ...]:
        query = f"{_newest_jobs(condition)} ORDER BY started_at_ms DESC {most}"
        return self._reader.each(self._table.rows(catalog, query, values), catalog, job_of)


def _newest(kind: str, key: str, order: str, condition: str = "true") -> str:
    """Return the query for the first row of each key; more conditions on it may follow."""
    return (
        f"SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY {key} ORDER BY {order}) AS nth "
        f"FROM {{table}} WHERE {kind} AND {condition}) AS newest WHERE nth = 1"
    )


def _newest_tables(condition: str = "true") -> str:
    """Return the query for the newest rows of tables that were not dropped."""
    order = f"{_BY_TIME}, generation DESC, seq DESC"
    found = _newest("kind = 'TABLE'", _TABLE_KEY, order, condition)
    return f"{found} AND NOT dropped"


_NEWEST_TABLES = _newest_tables()


def _newest_jobs(condition: str) -> str:
    """Return the query for the newest rows of jobs; of one instant, that of a job's end."""
    return _newest("kind = 'JOB'", "job_id", f"{_BY_TIME}, status <> 'RUNNING' DESC", condition)


def _of(name: TableName) -> dict[str, Value]:
    return {"schema": name.schema or "", "name": name.name}


def _name(row: Values, catalog: str) -> TableName:
    return TableName(row["table_name"], row["schema_name"], catalog)


class SparkScan:
    """Schemas, tables and views of a catalog."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def schemas(self, catalog: str) -> tuple[str, ...]:
        """Return the schemas of a catalog, but for that of the registry itself."""
        rows = self._spark.sql(f"SHOW SCHEMAS IN {quote(catalog)}").collect()
        found = (_unquoted(row[0]) for row in rows)
        return tuple(schema for schema in found if schema != SCHEMA)

    def tables(self, catalog: str, schema: str) -> tuple[TableName, ...]:
        rows = self._spark.sql(f"SHOW TABLES IN {quote(catalog)}.{quote(schema)}").collect()
        names = (row["tableName"] for row in rows if not row["isTemporary"])
        return tuple(TableName(name, schema, catalog) for name in names)


class SparkCorrections:
    """Writer of many rows of the registry."""

    def __init__(self, table: SystemTable, now_ms: Callable[[], int]) -> None:
        self._table = table
        self._now_ms = now_ms

    def correct(self, catalog: str, there: Sequence[Register], gone: Sequence[TableName]) -> None:
        """Write the rows of tables that are there and of those that are gone."""
        now = self._now_ms()
        rows = [*(table_row(step, now) for step in there), *(_gone_row(name, now) for name in gone)]
        for start in range(0, len(rows), MOST_ROWS):
            self._table.append(catalog, rows[start : start + MOST_ROWS], now)


def _gone_row(name: TableName, now_ms: int) -> dict[str, Value]:
    return {**_named("TABLE", name, now_ms), "dropped": True}


def _unquoted(name: str) -> str:
    """SHOW SCHEMAS quotes names where a statement would have to."""
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def _named(kind: str, name: TableName, now_ms: int) -> dict[str, Value]:
    """Return the columns that rows about tables begin with."""
    return {
        "kind": kind,
        "schema_name": name.schema or "",
        "table_name": name.name,
        "recorded_at_ms": now_ms,
    }


def table_row(step: Register, now_ms: int) -> dict[str, Value]:
    """Return the row of a table in the registry; `now_ms` is milliseconds since the epoch, UTC."""
    definition, table = step.definition, known_table(step, now_ms)
    facts = {
        "declared_refresh_mode": table.declared_refresh_mode,
        "status_reason": table.status_reason,
        "zone": table.zone,
        "formatters": table.formatters,
        "reads": table.reads,
        "derived_from": table.derived_from,
        "rows": table.rows,
    }
    return {
        **_named("TABLE", definition.name, now_ms),
        "table_id": definition.table_id,
        "generation": definition.generation,
        "seq": step.seq,
        "refresh_mode": definition.resolved.refresh_mode.value,
        "freshness": definition.resolved.freshness.sql,
        "status": definition.status.value,
        "last_refresh_at_ms": step.refresh.started_at_ms if step.refresh else None,
        "positions": json.dumps(encode_positions(step.positions or {})),
        "dropped": False,
        "facts": json.dumps(facts),
    }


def known_of(row: Values, catalog: str) -> KnownTable:
    """Return the known table of a row, for a manager; the row must have `facts`.

    Raises:
        ValueError, KeyError, TypeError, AttributeError, MaterializedTableError: It cannot be read.
    """
    facts = json.loads(row["facts"])
    if (version := facts.get("format", FORMAT_VERSION)) != FORMAT_VERSION:
        raise ValueError(f"its format is {version}, and this release reads {FORMAT_VERSION}")  # noqa: TRY003, EM102
    derived_from = facts.get("derived_from")
    return KnownTable(
        name=_name(row, catalog),
        table_id=row["table_id"],
        generation=row["generation"],
        refresh_mode=RefreshMode(row["refresh_mode"]),
        declared_refresh_mode=_declared_mode(facts),
        freshness=Freshness.parse(row["freshness"]),
        status=RefreshStatus(row["status"]),
        status_reason=facts.get("status_reason", ""),
        zone=facts.get("zone", "UTC"),
        formatters=_read_pairs(facts.get("formatters", [])),
        reads=tuple(facts.get("reads", [])),
        derived_from=None if derived_from is None else _read_pairs(derived_from),
        last_refresh_at_ms=row["last_refresh_at_ms"],
        rows=facts.get("rows"),
        recorded_at_ms=row["recorded_at_ms"],
    )


def _declared_mode(facts: Mapping[str, Any]) -> str:
    """Return the declared mode; before 0.1 its key was another one."""
    found = facts.get("declared_refresh_mode", facts.get("asked_refresh_mode", "AUTOMATIC"))
    return str(found)


def entry_of(row: Values, catalog: str) -> RegistryEntry:
    """Return the entry of a row, for a listing; from its columns, whatever `facts` holds."""
    return RegistryEntry(
        name=_name(row, catalog),
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
        **_named("JOB", job.table, job.last_heartbeat_ms),
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


def _job_facts(job: Job) -> str:
    """Return what has no column, and what a newer release stored."""
    known = {"strategy": job.strategy, "reason": job.reason, "request": job.request}
    if job.verification is not None:
        known["verification"] = encode_verification(job.verification)
    known = {key: text for key, text in known.items() if text}
    if not known:
        return job.unknown
    more = json.loads(job.unknown) if job.unknown else {}
    return json.dumps({**more, **known}, sort_keys=True)


def _read_facts(text: str) -> tuple[dict[str, str], str]:
    """Return what this release knows of `facts`, and the rest of them as text."""
    try:
        found = json.loads(text) if text else {}
    except ValueError:
        return {}, text
    if not isinstance(found, dict) or not any(key in found for key in _FACTS):
        return {}, text
    known = {key: str(found.pop(key)) for key in _FACTS if key in found}
    return known, json.dumps(found, sort_keys=True) if found else ""


def job_of(row: Values, catalog: str) -> Job:
    """Return the job of a row.

    A process that ends the job of another one writes the row again, so `facts` is kept.

    Raises:
        ValueError, KeyError, TypeError: It cannot be read.
    """
    chosen, unknown = _read_facts(row["facts"] or "")
    return Job(
        job_id=row["job_id"],
        table=_name(row, catalog),
        kind=JobKind(row["job_kind"]),
        status=JobStatus(row["status"]),
        started_at_ms=row["started_at_ms"],
        last_heartbeat_ms=row["recorded_at_ms"],
        owner=owner_of(row),
        trigger=row["trigger"],
        creates=bool(row["creates"]),
        refresh_mode=row["refresh_mode"],
        freshness=row["freshness"],
        ended_at_ms=row["ended_at_ms"],
        rows=row["rows"],
        error=row["error"],
        scheduled_at_ms=row["scheduled_at_ms"],
        strategy=chosen.get("strategy", ""),
        reason=chosen.get("reason", ""),
        request=chosen.get("request", ""),
        verification=decode_verification(found) if (found := chosen.get("verification")) else None,
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


def owner_of(row: Values) -> Owner:
    """Return the process that a row names."""
    return Owner(
        host=row["owner_host"],
        pid=row["owner_pid"],
        process=row["owner_process"],
        user=row["owner_user"],
    )


def _read_pairs(items: list[list[str]]) -> Pairs:
    return tuple((key, value) for key, value in items)
