"""Drift: changes of a table by other means than its definition.

Pure: the definition in force is compared with the catalog. A change of the model is not drift;
`diff` compares it with the definition in force.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.changes.changes import describe_change, describe_text_change
from dbt.adapters.spark_mt.definition.modes import RefreshStatus

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dbt.adapters.spark_mt.definition.columns import Pairs
    from dbt.adapters.spark_mt.definition.definition import (
        CatalogEntry,
        StoredDefinition,
        StoredTable,
    )


_REDACTED = "(redacted)"
_OURS = "materialized-table."


class DriftKind(Enum):
    """What was changed; `matters` is whether readers get something else by it."""

    TABLE = "table"
    """It was damaged, dropped or replaced by something else."""
    ROWS = "rows"
    DEFINITION = "definition"
    STATUS = "status"
    PROPERTY = "property"
    CLUSTERING = "clustering"
    COMMENT = "comment"
    UNFINISHED = "unfinished"
    """A statement of ours could not write all that follows from its commit; the next one does."""

    @property
    def matters(self) -> bool:
        """Whether the table holds, or is, something else than its definition says."""
        return self in _MATTERS


_MATTERS = frozenset({DriftKind.TABLE, DriftKind.ROWS, DriftKind.DEFINITION, DriftKind.STATUS})


@dataclass(frozen=True, slots=True)
class Drift:
    """One difference.

    Args:
        found: What is different, one sentence without a full stop.
        remedy: What brings it in line again, or makes it part of the definition.
    """

    kind: DriftKind
    found: str
    remedy: str

    def __str__(self) -> str:
        """For people: what and how to end it."""
        return f"{self.found}; {self.remedy}"


def state_drift(table: StoredTable) -> Iterator[Drift]:
    """Yield drift in the table's own state: rows, status, and who changed the definition."""
    definition = table.definition
    for commit in table.foreign_commits:
        yield Drift(
            DriftKind.ROWS,
            f"{commit.operation} in version {commit.version} changed rows",
            "the next refresh that computes these rows overwrites it",
        )
    if definition.status is RefreshStatus.SUSPENDED:
        reason = definition.status_reason or "by a statement"
        remedy = "ALTER MATERIALIZED TABLE … RESUME continues its refresh"
        yield Drift(DriftKind.STATUS, f"it was suspended ({reason})", remedy)
    changed_by = definition.changed_by
    if definition.owner and changed_by is not None and changed_by != definition.owner:
        yield Drift(
            DriftKind.DEFINITION,
            f"its definition was last changed by {described_owner(changed_by)}, while "
            f"{described_owner(definition.owner)} declares it",
            "what differs from the model is listed as changes, and the next run applies it",
        )


def catalog_drift(
    definition: StoredDefinition, wanted: Mapping[str, str], entry: CatalogEntry
) -> Iterator[Drift]:
    """Yield what the catalog has otherwise than the definition in force.

    Args:
        definition: The definition in force, which was published.
        wanted: The properties that follow from it.
        entry: What the catalog has.
    """
    yield from _property_drift(wanted, entry)
    comment = definition.declared.comment or ""
    if comment != entry.comment:
        yield _comment_drift("the table's comment", comment, entry.comment)
    for column in definition.resolved.columns:
        found = entry.column_comments.get(column.name, "")
        if (column.comment or "") != found:
            yield _comment_drift(f"the comment of {column.name}", column.comment or "", found)
    declared = definition.declared.clustered_by
    if [_folded(c) for c in declared] != [_folded(c) for c in entry.clustered_by]:
        change = describe_change(_listed(declared), _listed(entry.clustered_by))
        remedy = "the next statement on the table sets it again"
        yield Drift(DriftKind.CLUSTERING, f"CLUSTER BY was {change}", remedy)


def _property_drift(wanted: Mapping[str, str], entry: CatalogEntry) -> Iterator[Drift]:
    found = entry.properties
    for key in sorted(key for key in wanted if not key.startswith(_OURS)):
        value = found.get(key)
        if value != wanted[key] and not (value or "").endswith(_REDACTED):
            yield Drift(
                DriftKind.PROPERTY,
                f"the property {key} was {describe_text_change(wanted[key], value)}",
                "set it back by ALTER TABLE … SET TBLPROPERTIES, or change the table's options",
            )
    for key in sorted(set(found) - set(wanted) - entry.maintained):
        if not key.lower().startswith(_OURS):
            yield Drift(
                DriftKind.PROPERTY,
                f"the property {key} was set to {found[key]!r}",
                "remove it by ALTER TABLE … UNSET TBLPROPERTIES, or add it to the options",
            )


def _comment_drift(what: str, wanted: str, found: str) -> Drift:
    change = describe_text_change(wanted or None, found or None)
    remedy = "set it back by hand, or write it into the definition"
    return Drift(DriftKind.COMMENT, f"{what} was {change}", remedy)


def described_owner(pairs: Pairs) -> str:
    """Return who declares a table, for people."""
    return ", ".join(f"{key} {value}" for key, value in pairs) or "a statement outside of dbt"


def _listed(columns: tuple[str, ...]) -> str | None:
    return f"({', '.join(columns)})" if columns else None


def _folded(column: str) -> str:
    return column.replace("`", "").lower()
