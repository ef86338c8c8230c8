"""Names of a table format: provider, properties, error conditions and confs, as one value.

The engine knows no format by name. It asks this value. What a format does with tables is the port
in `execution/table_format.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


SINGLE_DRIVER = "spark.materialized-table.single-driver"
"""The setting that confirms that one Spark driver writes the tables of a warehouse."""


class CommitEffect(Enum):
    """What the operation of a commit does to a table."""

    ROWS = "changes rows"
    NO_ROWS = "changes properties, constraints or the layout of files"
    RESTORE = "brings an earlier version back"
    CLONE = "copies another table"
    REPLACE = "replaces the table"


@dataclass(frozen=True, slots=True)
class Conditions:
    """Error conditions of a format, without sub-conditions, by what they mean.

    Args:
        conflict: Another commit came first, and the two cannot be reconciled.
        schema: The written columns do not fit the table's.
        constraint: A row breaks a CHECK or NOT NULL of the table.
        constraint_exists: The table has a constraint of the name.
        rows_break_constraint: Rows of the table break a constraint that was to be added.
        no_table: There is no table of the name or at the path.
        unreadable_version: The commit or the files of a version were removed.
        directory_taken: CREATE TABLE found files at the table's location.
        by_class: The condition of exceptions that have none, by the simple name of their class.
    """

    conflict: frozenset[str] = frozenset()
    schema: frozenset[str] = frozenset()
    constraint: frozenset[str] = frozenset()
    constraint_exists: frozenset[str] = frozenset()
    rows_break_constraint: frozenset[str] = frozenset()
    no_table: frozenset[str] = frozenset()
    unreadable_version: frozenset[str] = frozenset()
    directory_taken: frozenset[str] = frozenset()
    by_class: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EngineConfs:
    """SQL confs of Spark by which a format works, by purpose.

    Args:
        local: For a Spark that runs on one machine.
        server: For a Spark that serves sessions for days.
        private: With which the statements of the engine mean what the engine expects.
        not_copied: Prefixes of confs that are not copied from the user's session.
        small_commits: For commits of a few rows into system tables.
    """

    local: Mapping[str, str] = field(default_factory=dict)
    server: Mapping[str, str] = field(default_factory=dict)
    private: Mapping[str, str] = field(default_factory=dict)
    not_copied: tuple[str, ...] = ()
    small_commits: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TableFormat:
    """A format of tables that keep versions.

    Args:
        name: The provider's name, as after USING, in lower case.
        title: The name for people.
        identity_property: The property in which the engine records a table's identity, by which a
            copy of the table is distinguished from it.
        constraint_prefix: How properties begin that list the constraints of a table, whose names
            follow in lower case.
        maintained: How properties begin that the format sets without being asked.
        name_mapping: Properties by which columns may have names that files do not take.
        system_properties: Properties of tables of which only the newest version is read.
        log_retention: The property that says how long commits can be read.
        file_retention: The property that says how long files of older versions are kept.
        effects: What operations of commits do, by their names; all others change rows.
        compaction: The statement that merges the small files of a `{table}`.
        as_of: What a query reads for a `{relation}` as of a `{version}`.
        properties_doc: What the documentation says of the format's own properties: key, values
            and meaning.
    """

    name: str
    title: str
    identity_property: str
    constraint_prefix: str
    maintained: tuple[str, ...] = ()
    name_mapping: Mapping[str, str] = field(default_factory=dict)
    system_properties: Mapping[str, str] = field(default_factory=dict)
    log_retention: str = ""
    file_retention: str = ""
    effects: Mapping[str, CommitEffect] = field(default_factory=dict)
    compaction: str = ""
    as_of: str = "{relation}"
    properties_doc: tuple[str, str, str] = ("", "", "")
    conditions: Conditions = field(default_factory=Conditions)
    confs: EngineConfs = field(default_factory=EngineConfs)

    def effect_of(self, operation: str) -> CommitEffect:
        """Return what an operation does; names of replacements may have more words."""
        if "REPLACE TABLE" in operation:
            return CommitEffect.REPLACE
        return self.effects.get(operation, CommitEffect.ROWS)

    def is_maintained(self, key: str) -> bool:
        """Whether the format sets a property without being asked."""
        return key.lower().startswith(tuple(prefix.lower() for prefix in self.maintained))

    def at(self, relation: str, version: int) -> str:
        """Return what a query reads for a relation as of a version."""
        return self.as_of.format(relation=relation, version=version)

    def constraints(self, properties: Iterable[str]) -> frozenset[str]:
        """Return the names of the constraints of a table with these properties."""
        prefix = self.constraint_prefix
        return frozenset(key.removeprefix(prefix) for key in properties if key.startswith(prefix))
