"""Properties, comments and NOT NULL constraints that follow from a definition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.codec import FORMAT_VERSION, encode_definition
from dbt.adapters.spark_mt.definition.modes import LogicalRefreshMode
from dbt.adapters.spark_mt.resolution.options import Incremental, read_options

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.definition import ResolvedDefinition, StoredDefinition
    from dbt.adapters.spark_mt.definition.table_format import TableFormat
    from dbt.adapters.spark_mt.planning.steps import Publish


_NOT_IN_FILES = frozenset(" ,;{}()\n\t=")
"""Characters that Parquet files do not take in the name of a column."""


PREFIX = "materialized-table."
DEFINITION = PREFIX + "definition"
VERSION = PREFIX + "version"
LOCATION = "location"
_NOT_NULL = PREFIX + "not-null."


def needs_mapped_names(definition: ResolvedDefinition) -> bool:
    """Whether columns need other names in the files of the table than in its schema."""
    return any(_NOT_IN_FILES & set(column.name) for column in definition.columns)


def is_changed_by_row(definition: StoredDefinition) -> bool:
    """Whether refreshes may change single rows of a table."""
    declared = definition.declared
    is_full = declared.logical_refresh_mode is LogicalRefreshMode.FULL
    return not is_full and read_options(declared.options).incremental is not Incremental.OFF


def properties_of(definition: StoredDefinition, format_: TableFormat) -> dict[str, str]:
    """Return every property that follows from a definition.

    Only `materialized-table.definition` counts; the others are a copy for people.
    """
    resolved = definition.resolved
    own = {
        DEFINITION: encode_definition(definition),
        VERSION: str(FORMAT_VERSION),
        PREFIX + "freshness": resolved.freshness.sql,
        PREFIX + "refresh-mode": resolved.refresh_mode.value,
        PREFIX + "status": definition.status.value,
    }
    declared = {key: value for key, value in resolved.declared.options if key != LOCATION}
    mapping = dict(format_.name_mapping) if needs_mapped_names(resolved) else {}
    return mapping | declared | own


def location_of(definition: StoredDefinition) -> str | None:
    """Return where the user wants the table to live, if not under the warehouse."""
    return dict(definition.declared.options).get(LOCATION)


def not_null_constraints(definition: StoredDefinition) -> dict[str, str]:
    """Return the constraint by which the table refuses NULL in each column that is NOT NULL.

    Spark cannot make a column NOT NULL once it is there, and CREATE TABLE AS makes all columns
    nullable. A CHECK constraint refuses the same rows, whoever writes them.

    Returns:
        The column by the constraint's name.
    """
    columns = definition.resolved.columns
    return {not_null_constraint(c.name): c.name for c in columns if not c.nullable}


def not_null_constraint(column: str) -> str:
    """Return the name of the constraint by which a table refuses NULL in a column."""
    return _NOT_NULL + column.lower()


def missing_not_null(definition: StoredDefinition, constraints: Iterable[str]) -> dict[str, str]:
    """Return those of `not_null_constraints` that a table with these constraints lacks."""
    there, wanted = set(constraints), not_null_constraints(definition).items()
    return {name: column for name, column in wanted if name not in there}


def columns_not_null(constraints: Iterable[str]) -> dict[str, str]:
    """Return the columns, in lower case, in which a table with these constraints refuses NULL.

    Returns:
        The column by the constraint's name.
    """
    ours = sorted(name for name in constraints if name.startswith(_NOT_NULL))
    return {name: name.removeprefix(_NOT_NULL) for name in ours}


def obsolete_not_null(definition: StoredDefinition, constraints: Iterable[str]) -> tuple[str, ...]:
    """Return the names of such constraints that a table has and the definition does not want."""
    wanted = not_null_constraints(definition)
    return tuple(name for name in columns_not_null(constraints) if name not in wanted)


def is_superseded(step: Publish, published: StoredDefinition | None) -> bool:
    """Whether a newer definition of the same table is published already.

    Another writer committed after us, on top of our definition, and published first: ours would
    replace theirs.
    """
    ours = step.definition
    if published is None or published.table_id != ours.table_id:
        return False
    return published.generation > ours.generation


def changed_comments(step: Publish) -> dict[str, str]:
    """Return the comments of columns that must be written, by column; empty removes one.

    Where the comments of the columns are unknown, these are all that either definition has.
    """
    wanted = _comments(step.definition)
    before = _comments(step.before) if step.before else {}
    if step.created or step.schema_replaced:
        return {name: text for name, text in wanted.items() if text or before.get(name)}
    return {name: text for name, text in wanted.items() if before.get(name, "") != text}


def obsolete_properties(
    step: Publish, properties: Mapping[str, str], format_: TableFormat
) -> list[str]:
    """Return the keys of `properties` that only the definition before asked for."""
    if step.before is None:
        return []
    wanted = properties_of(step.definition, format_)
    declared = (key for key, _ in step.before.declared.options)
    return sorted(key for key in declared if key not in wanted and key in properties)


def missing_properties(
    step: Publish, properties: Mapping[str, str], identity: str, format_: TableFormat
) -> dict[str, str]:
    """Return what must be set on a table with these properties and this identity of the format."""
    wanted = properties_of(step.definition, format_) | {format_.identity_property: identity}
    return {key: value for key, value in wanted.items() if properties.get(key) != value}


def _comments(definition: StoredDefinition) -> dict[str, str]:
    return {column.name: column.comment or "" for column in definition.resolved.columns}


def nulls_warning(table: TableName, column: str) -> str:
    """Return what to know where NULL keeps a column from refusing it."""
    return (
        f"{table} does not refuse NULL in column {column} yet: rows of other writers hold NULL in "
        "it. Remove them; the next statement or refresh of the table then adds the constraint."
    )
