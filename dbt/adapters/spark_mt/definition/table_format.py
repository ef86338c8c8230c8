"""Names of table formats: provider, properties, error conditions and confs, as values.

The engine knows no format by name. It asks these values. What a format does with tables is the port
in `execution/table_format.py`.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field, fields
from enum import Enum
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from dbt.adapters.spark_mt.definition.columns import TableName


CATALOG_PREFIX = "spark.sql.catalog."
"""How the confs of catalogs begin; the conf with the name of a catalog alone is its class."""
SINGLE_DRIVER = "spark.materialized-table.single-driver"
"""The setting that confirms that one Spark driver writes the tables of a warehouse."""


class CommitEffect(Enum):
    """What the operation of a commit does to a table."""

    ROWS = "changes rows"
    NO_ROWS = "changes properties, constraints or the layout of files"
    RESTORE = "brings an earlier version back"
    CLONE = "copies another table"
    REPLACE = "replaces the table"


class Capability(Enum):
    """A feature of definitions that not every format has."""

    MATERIALIZED_TABLE = "the rows of a materialized table"
    CLUSTERING = "CLUSTER BY"
    LATER_NOT_NULL = "NOT NULL on a column that allows NULL so far"
    NOT_NULL = "NOT NULL"
    REPLACEMENT = "other columns or partitions in place of those that they have"
    STRICT_FENCE = "the option strict-fence"


@dataclass(frozen=True, slots=True)
class TableRef:
    """A table of a format that keeps versions.

    Args:
        name: The full name.
        format: The name of the format.
        handle: By what the format finds the table, such as a path. Only the format reads it.
    """

    name: TableName
    format: str
    handle: str


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
        outcome_unknown: Whether a commit was made is not known.
        catalog_away: The catalog of a table did not answer.
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
    outcome_unknown: frozenset[str] = frozenset()
    catalog_away: frozenset[str] = frozenset()
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
        staged_prefix: How properties begin that list columns which a write has added to a table
            and not yet published; their names follow. Empty where a write adds both at once.
        maintained: How properties begin that the format sets without being asked.
        name_mapping: Properties by which columns may have names that files do not take.
        system_properties: Properties of tables of which only the newest version is read.
        log_retention: The property that says how long commits can be read.
        log_retention_default: How long that is without the property.
        file_retention: The property that says how long files of older versions are kept.
        effects: What operations of commits do, by their names; all others change rows.
        compaction: The statement that merges the small files of a `{table}`.
        catalog_class: The class of `spark_catalog` that reads the format's tables, and adds nothing
            to what Spark's own catalog says of them.
        catalogs: The classes of catalogs in which every new table has the format.
        lower_case: Types of these catalogs that keep names in lower case.
        unversioned: Properties, with values, of tables that keep no versions that can be ordered.
        types: Types, as words in upper case, that no column of its tables can have, with what to
            declare or to cast to instead.
        capabilities: Which features of definitions its tables can have. A definition with another
            one is refused by `resolution.validation.check_capabilities`.
        properties_doc: What the documentation says of the format's own properties: key, values
            and meaning.
    """

    name: str
    title: str
    identity_property: str
    constraint_prefix: str
    staged_prefix: str = ""
    maintained: tuple[str, ...] = ()
    name_mapping: Mapping[str, str] = field(default_factory=dict)
    system_properties: Mapping[str, str] = field(default_factory=dict)
    log_retention: str = ""
    log_retention_default: str = ""
    file_retention: str = ""
    effects: Mapping[str, CommitEffect] = field(default_factory=dict)
    compaction: str = ""
    catalog_class: str = ""
    catalogs: frozenset[str] = frozenset()
    lower_case: frozenset[str] = frozenset()
    unversioned: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    capabilities: frozenset[Capability] = frozenset()
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

    def constraints(self, properties: Iterable[str]) -> frozenset[str]:
        """Return the names of the constraints of a table with these properties."""
        prefix = self.constraint_prefix
        return frozenset(key.removeprefix(prefix) for key in properties if key.startswith(prefix))

    def staged_columns(self, properties: Iterable[str]) -> frozenset[str]:
        """Return the columns, in lower case, that a write added and has not yet published."""
        prefix = self.staged_prefix
        found = [key for key in properties if prefix and key.startswith(prefix)]
        return frozenset(key.removeprefix(prefix).lower() for key in found)


@dataclass(frozen=True)
class TableFormats:
    """The table formats that are installed.

    Args:
        known: Each with another name; the first one is the default of tables that name none.
    """

    known: tuple[TableFormat, ...]

    @property
    def default(self) -> TableFormat:
        """The format of tables that name none."""
        return self.known[0]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the providers, the default first."""
        return tuple(each.name for each in self.known)

    def of(self, provider: str | None) -> TableFormat | None:
        """Return the format of a provider, in any case; None where its tables have no versions."""
        folded = (provider or "").lower()
        return next((each for each in self.known if each.name == folded), None)

    def of_catalog(self, catalog: str, conf: Callable[[str], str | None]) -> TableFormat | None:
        """Return the format of the tables of a catalog; None where its class does not say it.

        Args:
            catalog: The catalog.
            conf: Returns the value of a conf, or None without one.
        """
        class_ = conf(f"{CATALOG_PREFIX}{catalog}")
        known = (each for each in self.known if class_ in {each.catalog_class, *each.catalogs})
        return next(known, None) if class_ else None

    def keeps_lower_case(self, catalog: str, conf: Callable[[str], str | None]) -> bool:
        """Whether a catalog keeps names in lower case; the arguments are those of `of_catalog`."""
        found = self.of_catalog(catalog, conf)
        type_ = conf(f"{CATALOG_PREFIX}{catalog}.type") or ""
        return found is not None and type_.strip().lower() in found.lower_case

    def is_default(self, provider: str | None) -> bool:
        """Whether a provider, in any case, is that of the format of tables that name none."""
        return self.of(provider) is self.default

    def is_maintained(self, key: str) -> bool:
        """Whether a format sets a property without being asked."""
        return any(each.is_maintained(key) for each in self.known)

    @cached_property
    def conditions(self) -> Conditions:
        """The conditions of all formats: an error does not say which one raised it."""
        return _united(Conditions, [each.conditions for each in self.known])

    @cached_property
    def confs(self) -> EngineConfs:
        """The confs of all formats: a session reads and writes tables of each."""
        return _united(EngineConfs, [each.confs for each in self.known])


_UnitedT = TypeVar("_UnitedT", Conditions, EngineConfs)


def _united(kind: type[_UnitedT], values: Sequence[_UnitedT]) -> _UnitedT:
    """Return a value whose fields, collections all of them, have what each value has."""
    found: dict[str, Any] = {}
    for each in fields(kind):
        parts = [getattr(value, each.name) for value in values]
        unite = operator.add if isinstance(parts[0], tuple) else operator.or_
        found[each.name] = reduce(unite, parts)
    return kind(**found)
