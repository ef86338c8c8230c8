"""Finds materialized tables in the catalog and reads what their commits say."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.codec import decode_definition
from dbt.adapters.spark_mt.definition.columns import Column
from dbt.adapters.spark_mt.definition.commit_facts import CommitKind
from dbt.adapters.spark_mt.definition.identifier import TableName
from dbt.adapters.spark_mt.definition.table_state import (
    Damaged,
    ForeignCommit,
    Found,
    LastRefresh,
    Missing,
    StoredTable,
    Stranger,
)
from dbt.adapters.spark_mt.spark.properties import DEFINITION, DELTA_ID
from dbt.adapters.spark_mt.spark.table_details import NoTable
from dbt.adapters.spark_mt.spark.types import columns_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.commit_facts import CommitFacts
    from dbt.adapters.spark_mt.definition.definition import StoredDefinition
    from dbt.adapters.spark_mt.spark.delta_log import Commit, DeltaLog
    from dbt.adapters.spark_mt.spark.table_details import TableDetail, TableDetails

_FENCED = frozenset({CommitKind.CONTENT, CommitKind.PARTITION, CommitKind.DEFINITION})
_KEEP_ROWS = frozenset(
    {
        "OPTIMIZE",
        "VACUUM START",
        "VACUUM END",
        "SET TBLPROPERTIES",
        "UNSET TBLPROPERTIES",
        "CHANGE COLUMN",
        "CHANGE COLUMNS",
        "ADD CONSTRAINT",
        "DROP CONSTRAINT",
        "CLUSTER BY",
        "UPGRADE PROTOCOL",
        "REORG",
        "COMPUTE STATS",
    }
)


_FAR = 200
"""How many commits back a table without our properties may once have been one of ours."""


@dataclass(slots=True)
class _History:
    """What a walk from the newest commit backwards found.

    `newest` and `refresh` are those of the state that the table has: a RESTORE leads to the
    version that it brought back. `seq` is the highest of the whole history, which RESTORE does not
    lower.
    """

    version: int = -1
    seq: int = 0
    newest: CommitFacts | None = None
    written: Commit | None = None
    definition: str = ""
    foreign: tuple[ForeignCommit, ...] = ()

    def is_known(self, published_generation: int) -> bool:
        """Whether nothing older can matter to a table with this published definition."""
        if self.newest is None or self.written is None:
            return False
        return bool(self.definition) or self.newest.generation <= published_generation


class SparkTableStore:
    """Looks at tables themselves, never at the registry."""

    def __init__(self, spark: SparkSession, log: DeltaLog, details: TableDetails) -> None:
        self._spark = spark
        self._log = log
        self._details = details

    def full_name(self, name: TableName) -> TableName:
        """Complete `name` with the session's current catalog and schema."""
        if name.catalog is not None:
            return name
        catalog = self._spark.catalog.currentCatalog()
        if name.schema is not None:
            return TableName(name.name, name.schema, catalog)
        return TableName(name.name, self._spark.catalog.currentDatabase(), catalog)

    def find(self, name: TableName) -> Found:
        """Return what stands under the full name `name`.

        Raises:
            UnreadableDefinitionError: The definition is there and cannot be read.
        """
        detail = self._details.of(name)
        if isinstance(detail, NoTable):
            return Stranger(name, detail.kind) if detail.kind else Missing(name)
        if not detail.is_delta:
            return Stranger(name, f"{detail.format} table")
        return self._delta_table(name, detail)

    def castable(self, literal: str, type_: str) -> bool:
        """Whether the SQL literal has a value of the type."""
        query = f"SELECT try_cast({literal} AS {type_}) IS NOT NULL AS fits"
        return bool(self._spark.sql(query).collect()[0]["fits"])

    def definition_of(self, name: TableName) -> StoredDefinition | None:
        """Return the published definition of `name`, or None if it is no materialized table."""
        detail = self._details.of(name)
        if isinstance(detail, NoTable) or not detail.is_delta:
            return None
        return _published(detail, name)

    def _delta_table(self, name: TableName, detail: TableDetail) -> Found:
        published = _published(detail, name)
        commits = self._log.backwards(detail.location)
        if published is None:
            return _unmarked(name, _walk(islice(commits, _FAR), None))
        history = _walk(commits, published)
        if history.newest is None and detail.properties.get(DELTA_ID) != detail.delta_id:
            return Stranger(name, "clone of a materialized table")
        return self._stored(name, published, history)

    def _stored(self, name: TableName, published: StoredDefinition, history: _History) -> Found:
        definition = published
        unpublished = False
        facts = history.newest
        if facts is not None and facts.generation > published.generation and history.definition:
            definition = replace(decode_definition(history.definition, str(name)), name=name)
            unpublished = True
        columns = columns_of(self._spark.table(name.sql).schema)
        if problem := _damage(definition, columns):
            return Damaged(name, problem, history.seq, definition)
        return StoredTable(
            definition=definition,
            seq=history.seq,
            version=history.version,
            columns=columns,
            positions=facts.positions if facts else None,
            last_refresh=_last_refresh(history),
            unpublished=unpublished,
            foreign_commits=history.foreign,
        )


def _published(detail: TableDetail, name: TableName) -> StoredDefinition | None:
    encoded = detail.properties.get(DEFINITION)
    if encoded is None:
        return None
    return replace(decode_definition(encoded, str(name)), name=name)


def _walk(commits: Iterable[Commit], published: StoredDefinition | None) -> _History:
    """Walk backwards until the table's rows, definition and fence are known."""
    history = _History()
    generation = published.generation if published else -1
    restored: int | None = None
    foreign: list[ForeignCommit] = []
    for commit in commits:
        history.version = max(history.version, commit.version)
        if commit.facts is not None:
            history.seq = max(history.seq, commit.facts.seq)
        if restored is not None and commit.version > restored:
            continue
        if commit.operation == "RESTORE":
            restored = int(commit.parameters.get("version") or commit.version)
            continue
        _absorb(history, commit, foreign)
        if history.is_known(generation):
            break
    history.foreign = tuple(reversed(foreign))
    return history


def _absorb(history: _History, commit: Commit, foreign: list[ForeignCommit]) -> None:
    facts = commit.facts
    if facts is None:
        if history.written is None and commit.operation not in _KEEP_ROWS:
            foreign.append(ForeignCommit(commit.version, commit.operation))
        return
    if facts.kind not in _FENCED:
        return
    history.newest = history.newest or facts
    history.definition = history.definition or facts.definition
    if facts.kind is CommitKind.CONTENT:
        history.written = history.written or commit


def _last_refresh(history: _History) -> LastRefresh | None:
    facts = history.newest
    if facts is None or facts.refresh is None:
        return None
    written = history.written
    return LastRefresh(
        refresh_id=facts.refresh.refresh_id,
        strategy=facts.refresh.strategy,
        trigger=facts.refresh.trigger,
        started_at_ms=facts.refresh.started_at_ms,
        committed_at_ms=written.timestamp_ms if written else facts.refresh.started_at_ms,
        rows=written.rows if written else None,
    )


def _unmarked(name: TableName, history: _History) -> Found:
    """A Delta table without our properties: never ours, or no longer."""
    if not history.definition:
        return Stranger(name, "delta table")
    problem = "its definition is no longer among its properties (replaced by hand, or UNSET)"
    definition = replace(decode_definition(history.definition, str(name)), name=name)
    return Damaged(name, problem, history.seq, definition)


def _damage(definition: StoredDefinition, columns: tuple[Column, ...]) -> str:
    """Say how the table's columns differ from those of its definition, empty if they do not."""
    wanted = [(c.name, c.type) for c in definition.resolved.columns]
    real = [(c.name, c.type) for c in columns]
    if wanted == real:
        return ""
    lost = [str(Column(*pair)) for pair in wanted if pair not in real]
    strange = [str(Column(*pair)) for pair in real if pair not in wanted]
    parts = [f"columns {', '.join(lost)} are gone" if lost else ""]
    parts.append(f"columns {', '.join(strange)} are not of its definition" if strange else "")
    return " and ".join(part for part in parts if part) or "its columns are in another order"
