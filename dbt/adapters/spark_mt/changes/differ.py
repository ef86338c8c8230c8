"""Differences between a stored definition and a declared one, aspect by aspect.

Declared and resolved values both count. Where only a declared value differs, the change is
metadata. Configuration apart from the query is compared for dbt's `on_configuration_change`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.changes.changes import Change, Changed, ColumnMismatch
from dbt.adapters.spark_mt.definition.columns import Check, Column, quote
from dbt.adapters.spark_mt.definition.errors import InvalidTypeError
from dbt.adapters.spark_mt.query.syntax import parse, same_tokens, token_key
from dbt.adapters.spark_mt.query.types import parse_type, widens
from dbt.adapters.spark_mt.resolution.columns import Names, canonical_columns, query_positions
from dbt.adapters.spark_mt.resolution.options import (
    TRIGGER_INTERVAL,
    TYPE_WIDENING,
    formatter_column,
)
from dbt.adapters.spark_mt.resolution.query_options import PROCESS_FUNCTION, WATERMARK
from dbt.adapters.spark_mt.resolution.source_columns import changed_columns, recorded_fields
from dbt.adapters.spark_mt.statements.clauses import CLAUSES, Effect, names_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dbt.adapters.spark_mt.definition.columns import ColumnSpec, PrimaryKey
    from dbt.adapters.spark_mt.definition.definition import ResolvedDefinition, StoredDefinition
    from dbt.adapters.spark_mt.statements.nodes import CreateTable


def _table_columns(stored: ResolvedDefinition, wanted: ResolvedDefinition) -> Iterator[Change]:
    old, new = canonical_columns(stored.columns), canonical_columns(wanted.columns)
    names = Names.of(wanted.context)
    mismatches = tuple(_mismatches(old, new, names))
    widening = dict(wanted.declared.options).get(TYPE_WIDENING, "false").lower() == "true"
    if len(new) < len(old) or not all(m.widens and widening for m in mismatches):
        kind = Changed.COLUMNS_DROPPED if len(new) < len(old) else Changed.COLUMNS_MISMATCHED
        yield Change(kind, Effect.IMPOSSIBLE, old=old, new=new, mismatches=mismatches)
        return
    for mismatch in mismatches:
        before, after = mismatch.old, mismatch.new
        yield Change(Changed.TYPE_WIDENED, Effect.CONTENT, after.name, before.type, after.type)
    if len(new) > len(old):
        yield Change(Changed.COLUMNS_APPENDED, Effect.CONTENT, new=new[len(old) :])
    for before, after in zip(old, new, strict=False):
        if before.nullable != after.nullable:
            kind = Changed.NULL_ALLOWED if after.nullable else Changed.NULL_FORBIDDEN
            yield Change(kind, Effect.STORAGE, after.name)


def _mismatches(
    old: tuple[Column, ...], new: tuple[Column, ...], names: Names
) -> Iterator[ColumnMismatch]:
    for position, (before, after) in enumerate(zip(old, new, strict=False)):
        same_name = names.fold(before.name) == names.fold(after.name)
        if not same_name or before.type != after.type:
            possible = same_name and _widens(before.type, after.type)
            yield ColumnMismatch(position, before, after, widens=possible)


def _widens(old: str, new: str) -> bool:
    try:
        return widens(parse_type(old), parse_type(new))
    except InvalidTypeError:
        return False


def _column_list(stored: ResolvedDefinition, wanted: ResolvedDefinition) -> Iterator[Change]:
    """Yield a column list that is written differently, names of appended columns aside."""
    same_content = _same_content(stored, wanted)
    before, after = _written(stored.declared.columns), _written(wanted.declared.columns)
    if before and len(wanted.columns) > len(stored.columns):
        after = after[: len(before)]
    if not same_content:
        yield Change(Changed.COLUMN_LIST, Effect.CONTENT)
    elif before != after:
        yield Change(Changed.COLUMN_LIST_TEXT, Effect.TEXT)


def _written(specs: tuple[ColumnSpec, ...]) -> tuple[object, ...]:
    """A list without its comments and NOT NULL, which are changes of their own."""
    columns = canonical_columns(Column(spec.name, spec.type or "") for spec in specs)
    return tuple((column.name, column.type) for column in columns)


def _same_content(stored: ResolvedDefinition, wanted: ResolvedDefinition) -> bool:
    """Whether the columns that both have come from the same columns of the same query."""
    both = min(len(stored.columns), len(wanted.columns))
    if stored.query_columns == wanted.query_columns:
        return query_positions(stored)[:both] == query_positions(wanted)[:both]
    renamed = stored.declared.columns and wanted.declared.columns
    if not renamed or not same_tokens(stored.declared.query, wanted.declared.query):
        return True  # what changed is said already, by the names or by the query
    return _origins(stored)[:both] == _origins(wanted)[:both]


def _origins(definition: ResolvedDefinition) -> tuple[str, ...]:
    """The query's own name for each column of the table; `SELECT *` may have sorted them again."""
    names = Names.of(definition.context)
    return tuple(names.fold(definition.query_columns[at]) for at in query_positions(definition))


def _clauses(stored: ResolvedDefinition, wanted: ResolvedDefinition) -> Iterator[Change]:
    fold = Names.of(wanted.context).fold
    for clause in CLAUSES:
        if clause.effect is None:
            continue
        same = clause.compared(stored, fold) == clause.compared(wanted, fold)
        if not same or clause.origin(stored) != clause.origin(wanted):
            effect = Effect.TEXT if same else clause.effect(wanted)
            before, after = clause.described(stored), clause.described(wanted)
            yield Change(Changed.CLAUSE, effect, clause.field, before, after)


def diff(stored: ResolvedDefinition, wanted: ResolvedDefinition) -> tuple[Change, ...]:
    """Return what must change in `stored` to make it `wanted`; nothing for the same definition.

    Canonical values are compared: durations by length, types by their canonical spelling, names
    without case unless the session says otherwise.
    """
    if stored == wanted:
        return ()
    return tuple(change for aspect in _ASPECTS for change in aspect(stored, wanted))


def _query(stored: ResolvedDefinition, wanted: ResolvedDefinition) -> Iterator[Change]:
    same = same_tokens(stored.declared.query, wanted.declared.query)
    same = same and same_tokens(stored.expanded_query, wanted.expanded_query)
    if not (same and _same_place(stored, wanted)):
        yield Change(Changed.QUERY, Effect.CONTENT)
    elif stored.declared.query != wanted.declared.query:
        yield Change(Changed.QUERY_TEXT, Effect.TEXT)


def _source_columns(stored: ResolvedDefinition, wanted: ResolvedDefinition) -> Iterator[Change]:
    """Yield what sources gained or lost; `wanted` has other columns only where these count."""
    names, known = Names.of(wanted.context), recorded_fields(stored.source_columns)
    for now in wanted.source_columns:
        before = known.get(now.source.lower(), now.columns)
        for what in changed_columns(now.source, before, now.columns, names):
            yield Change(Changed.SOURCE_COLUMNS, Effect.CONTENT, what)


def _same_place(stored: ResolvedDefinition, wanted: ResolvedDefinition) -> bool:
    """Whether the catalog and schema of the session do not matter, or are the same.

    They matter to a query whose names could not be made full, because it cannot be parsed.
    """
    ours, theirs = stored.context, wanted.context
    if (ours.catalog, ours.schema) == (theirs.catalog, theirs.schema):
        return True
    return (
        wanted.expanded_query != wanted.declared.query or parse(wanted.expanded_query) is not None
    )


def _confs(stored: ResolvedDefinition, wanted: ResolvedDefinition) -> Iterator[Change]:
    old, new = dict(stored.context.confs), dict(wanted.context.confs)
    for key in sorted(old.keys() | new.keys()):
        if old.get(key) != new.get(key):
            yield Change(Changed.CONF, Effect.CONTENT, key, old.get(key), new.get(key))


def _column_comments(stored: ResolvedDefinition, wanted: ResolvedDefinition) -> Iterator[Change]:
    names = Names.of(wanted.context)
    for column in stored.columns:
        now = names.find(column.name, wanted.columns)
        if now is None:
            continue
        before, after = column.comment or None, now.comment or None
        if before != after:
            yield Change(Changed.COLUMN_COMMENT, Effect.TEXT, now.name, before, after)


def _constraints(stored: ResolvedDefinition, wanted: ResolvedDefinition) -> Iterator[Change]:
    names = Names.of(wanted.context)
    old, new = stored.declared.primary_key, wanted.declared.primary_key
    ours, theirs = _key(old, names), _key(new, names)
    if ours != theirs:
        same = old is not None and new is not None and {*ours[1:]} == {*theirs[1:]}
        # Another name or order for the same key is metadata.
        effect = Effect.TEXT if same else Effect.REFRESH
        yield Change(Changed.PRIMARY_KEY, effect, "", _key_text(old), _key_text(new))
    before, after = _checks(stored), _checks(wanted)
    for key, check in before.items():
        if key not in after:
            yield Change(Changed.CHECK_DROPPED, Effect.STORAGE, _check_text(check))
    for key, check in after.items():
        if key not in before:
            yield Change(Changed.CHECK_ADDED, Effect.STORAGE, _check_text(check))


def _key_text(key: PrimaryKey | None) -> str | None:
    if key is None:
        return None
    return f"{names_text(key.columns)}" + (f" named {quote(key.name)}" if key.name else "")


def _check_text(check: Check) -> str:
    name = f" {quote(check.name)}" if check.name else ""
    return f"{name} CHECK ({check.expression})"


def _key(key: PrimaryKey | None, names: Names) -> tuple[object, ...]:
    return (key.name, *map(names.fold, key.columns)) if key else ()


def _checks(definition: ResolvedDefinition) -> dict[tuple[str | None, str], Check]:
    checks = (c for c in definition.declared.constraints if isinstance(c, Check))
    return {(check.name, token_key(check.expression)): check for check in checks}


def _options(stored: ResolvedDefinition, wanted: ResolvedDefinition) -> Iterator[Change]:
    old, new = dict(stored.declared.options), dict(wanted.declared.options)
    for key in sorted(new):
        if old.get(key) != new[key]:
            yield Change(Changed.OPTION, _option_effect(key), key, old.get(key), new[key])
    for key in sorted(old.keys() - new.keys()):
        yield Change(Changed.OPTION, _option_effect(key), key, old[key])


def _option_effect(key: str) -> Effect:
    """Every option is a property of the table; some have another effect, too."""
    if key == PROCESS_FUNCTION:
        return Effect.CONTENT
    if key in (TRIGGER_INTERVAL, WATERMARK) or formatter_column(key) is not None:
        return Effect.REFRESH
    return Effect.STORAGE


_ASPECTS = (
    _query,
    _source_columns,
    _table_columns,
    _column_list,
    _confs,
    _clauses,
    _options,
    _column_comments,
    _constraints,
)


def configuration_changes(found: Iterable[Change]) -> tuple[Change, ...]:
    """Return the changes that are not of the query."""
    return tuple(change for change in found if not change.kind.of_query)


def keep_configuration(statement: CreateTable, stored: StoredDefinition) -> CreateTable:
    """Return `statement` with everything as `stored` that is not the query.

    The column list stays the statement's, because it belongs to its query; comments and NOT NULL of
    columns that were there already stay as stored.
    """
    before = {column.name.lower(): column for column in stored.declared.columns}
    columns = tuple(
        _as_stored(spec, before.get(spec.name.lower())) for spec in statement.declared.columns
    )
    declared = replace(stored.declared, query=statement.declared.query, columns=columns)
    return replace(statement, declared=declared)


def _as_stored(spec: ColumnSpec, stored: ColumnSpec | None) -> ColumnSpec:
    if stored is None or spec.type is None:
        return spec
    return replace(spec, not_null=stored.not_null, comment=stored.comment)
