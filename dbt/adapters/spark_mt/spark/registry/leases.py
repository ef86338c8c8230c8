"""Leases of managers as rows of the system table, taken by fenced commits."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.job import SILENCE_MS, Lease, renewed
from dbt.adapters.spark_mt.spark.registry.registry import owner_columns, owner_of
from dbt.adapters.spark_mt.spark.registry.system_table import LEASES, SCHEMA, Layout

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbt.adapters.spark_mt.spark.catalog.table_details import NewestVersions
    from dbt.adapters.spark_mt.spark.registry.system_table import SystemTable, Value, Values
    from dbt.adapters.spark_mt.spark.session.driver_files import DriverFiles


FENCE = "materialized-table-manager"
_RELEASED = "RELEASED"
_COLUMNS = {
    "kind": "STRING",
    "seq": "BIGINT",
    "status": "STRING",
    "recorded_at_ms": "BIGINT",
    "owner_host": "STRING",
    "owner_pid": "BIGINT",
    "owner_process": "STRING",
    "owner_user": "STRING",
    "facts": "STRING",
}
_NEWEST = (
    "SELECT * FROM {table} WHERE kind = 'MANAGER' "
    "ORDER BY seq DESC, recorded_at_ms DESC, status DESC LIMIT 1"
)
"""Of two rows of the same millisecond, RELEASED comes after HELD. One job, as it has no groups."""
_HEARTBEATS = "_heartbeats"
_HEARTBEAT = re.compile(r"\b(\d+)-(\d+)\.beat$", re.ASCII)
"""Spark and table formats leave files alone whose directory begins with an underscore."""


def _superseded(name: str, now_ms: int) -> str:  # noqa: ARG001 - a lease has no age
    return (
        f"MERGE INTO {name} AS old USING (SELECT max(seq) AS last FROM {name}) AS kept "
        "ON old.seq < kept.last WHEN MATCHED THEN DELETE"
    )


LAYOUT = Layout(LEASES, _COLUMNS, _superseded)


class SparkLeaseLog:
    """Log of the leases by which managers hold catalogs.

    Args:
        leases: The table of leases.
        versions: Reads its newest version, cheaply.
        names: Lists the names of the files in a directory, which are heartbeats.
        files: Writes them; None over Connect, from where no manager runs.
    """

    def __init__(
        self,
        leases: SystemTable,
        versions: NewestVersions,
        names: Callable[[str], list[str]],
        files: DriverFiles | None,
    ) -> None:
        self._leases = leases
        self._versions = versions
        self._names = names
        self._files = files
        self._seen: dict[str, tuple[int, Lease | None]] = {}
        self._last_heartbeat_ms: dict[str, str] = {}

    def newest(self, catalog: str) -> Lease | None:
        """Return the lease with the highest term, as its newest heartbeat renewed it."""
        version = self._versions(_name(catalog))
        seen, lease = self._seen.get(catalog, (-2, None))
        if version != seen:
            rows = self._leases.rows(catalog, _NEWEST) if version >= 0 else []
            lease = lease_of(rows[0], catalog) if rows else None
            self._seen[catalog] = (version, lease)
        if lease is None or lease.is_released:
            return lease
        return renewed(lease, self._last_heartbeat(lease))

    def take(self, lease: Lease) -> bool:
        """Claim a term; of several managers that claim it, one gets it."""
        return self._leases.append_once(lease.catalog, lease_row(lease), FENCE, lease.term)

    def write(self, lease: Lease) -> None:
        """Write another row about a lease."""
        self._leases.append(lease.catalog, [lease_row(lease)], lease.last_heartbeat_ms)

    def beat(self, lease: Lease) -> None:
        """Write a heartbeat, and remove the ones before it."""
        if self._files is None:
            raise TypeError(self._files)
        directory, name = self._heartbeats(lease.catalog), heartbeat(lease)
        self._files.touch(f"{directory}/{name}")
        before = self._last_heartbeat_ms.get(lease.catalog)
        older = self._names(directory) if before is None else [before]
        self._last_heartbeat_ms[lease.catalog] = name
        for each in older:
            if _is_before(each, lease):
                self._files.delete(f"{directory}/{each}")

    def _last_heartbeat(self, lease: Lease) -> int:
        names = self._names(self._heartbeats(lease.catalog))
        beats = [(int(f[1]), int(f[2])) for name in names if (f := _HEARTBEAT.search(name))]
        return max((at for term, at in beats if term == lease.term), default=0)

    def _heartbeats(self, catalog: str) -> str:
        directory = self._versions.directory(_name(catalog))
        if not directory:
            raise conditions.SYSTEM_TABLE_GONE(table=_name(catalog))
        return f"{directory}/{_HEARTBEATS}"


def _name(catalog: str) -> TableName:
    return TableName(LEASES, SCHEMA, catalog)


def heartbeat(lease: Lease) -> str:
    """Return the name of the file of a heartbeat, which has its term and instant."""
    return f"{lease.term}-{lease.last_heartbeat_ms}.beat"


def _is_before(name: str, lease: Lease) -> bool:
    found = _HEARTBEAT.search(name)
    return found is not None and (int(found[1]), int(found[2])) < (
        lease.term,
        lease.last_heartbeat_ms,
    )


def lease_row(lease: Lease) -> dict[str, Value]:
    """Return the row of a lease."""
    facts = {
        "address": lease.address,
        "settings": dict(lease.settings),
        "silence_ms": lease.silence_ms,
    }
    return {
        "kind": "MANAGER",
        "status": _RELEASED if lease.is_released else "HELD",
        "recorded_at_ms": lease.last_heartbeat_ms,
        "seq": lease.term,
        **owner_columns(lease.owner),
        "facts": json.dumps(facts),
    }


def lease_of(row: Values, catalog: str) -> Lease:
    """Return the lease of a row.

    Its columns name the holder. What `facts` lacks has defaults, and so has all of damaged `facts`.
    A lease is written by its holder alone, so unknown keys need not be kept.
    """
    facts = _facts(row["facts"])
    settings, silence_ms = facts.get("settings"), facts.get("silence_ms")
    return Lease(
        catalog=catalog,
        term=row["seq"],
        owner=owner_of(row),
        last_heartbeat_ms=row["recorded_at_ms"],
        address=str(facts.get("address", "")),
        settings=tuple(sorted(settings.items())) if isinstance(settings, dict) else (),
        silence_ms=silence_ms if isinstance(silence_ms, int) else SILENCE_MS,
        is_released=row["status"] == _RELEASED,
    )


def _facts(text: str | None) -> dict[str, Any]:
    try:
        facts = json.loads(text or "{}")
    except ValueError:
        return {}
    return facts if isinstance(facts, dict) else {}
