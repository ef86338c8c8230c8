"""How a stored definition and a wanted one differ, aspect by aspect (semantics 6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.changes.changes import (
    CheckAdded,
    CheckDropped,
    ClusteringChanged,
    ColumnCommentChanged,
    CommentChanged,
    ConfChanged,
    OptionReset,
    OptionSet,
    PartitioningChanged,
    PrimaryKeyChanged,
    QueryChanged,
)
from dbt.adapters.spark_mt.changes.column_differ import diff_column_list, diff_columns
from dbt.adapters.spark_mt.changes.refresh_differ import (
    diff_freshness,
    diff_refresh_mode,
    diff_start_mode,
    diff_state_retention,
)
from dbt.adapters.spark_mt.definition.columns import Check
from dbt.adapters.spark_mt.resolution.columns import Names
from dbt.adapters.spark_mt.resolution.query_tokens import parse, same_tokens, token_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dbt.adapters.spark_mt.changes.changes import Change
    from dbt.adapters.spark_mt.definition.columns import PrimaryKey
    from dbt.adapters.spark_mt.definition.definition import ResolvedDefinition


def diff(stored: ResolvedDefinition, wanted: ResolvedDefinition) -> tuple[Change, ...]:
    """Return what must change in `stored` to make it `wanted`; nothing for the same definition.

    Canonical values are compared: durations by length, types by their canonical spelling, names
    without case unless the session says otherwise.
    """
    if stored == wanted:
        return ()
    return tuple(change for aspect in _ASPECTS for change in aspect(stored, wanted))


def _query(stored: ResolvedDefinition, wanted: ResolvedDefinition) -> Iterator[Change]:
    same = same_tokens(stored.asked.query, wanted.asked.query)
    same = same and same_tokens(stored.expanded_query, wanted.expanded_query)
    if not (same and _same_place(stored, wanted)):
        yield QueryChanged(text_only=False)
    elif stored.asked.query != wanted.asked.query:
        yield QueryChanged(text_only=True)


def _same_place(stored: ResolvedDefinition, wanted: ResolvedDefinition) -> bool:
    """Whether the catalog and schema of the session do not matter, or are the same.

    They matter to a query whose names could not be made full, because it cannot be parsed.
    """
    ours, theirs = stored.context, wanted.context
    if (ours.catalog, ours.schema) == (theirs.catalog, theirs.schema):
        return True
    return wanted.expanded_query != wanted.asked.query or parse(wanted.expanded_query) is not None


def _confs(stored: ResolvedDefinition, wanted: ResolvedDefinition) -> Iterator[Change]:
    old, new = dict(stored.context.confs), dict(wanted.context.confs)
    for key in sorted(old.keys() | new.keys()):
        if old.get(key) != new.get(key):
            yield ConfChanged(key, old.get(key), new.get(key))


def _comments(stored: ResolvedDefinition, wanted: ResolvedDefinition) -> Iterator[Change]:
    old, new = stored.asked.comment or None, wanted.asked.comment or None
    if old != new:
        yield CommentChanged(old, new)
    names = Names.of(wanted.context)
    for column in stored.columns:
        now = names.find(column.name, wanted.columns)
        if now is not None and (column.comment or None) != (now.comment or None):
            yield ColumnCommentChanged(now.name, column.comment or None, now.comment or None)


def _constraints(stored: ResolvedDefinition, wanted: ResolvedDefinition) -> Iterator[Change]:
    names = Names.of(wanted.context)
    old, new = stored.asked.primary_key, wanted.asked.primary_key
    if _key(old, names) != _key(new, names):
        same = old is not None and new is not None and _columns(old, names) == _columns(new, names)
        yield PrimaryKeyChanged(old, new, same_columns=same)
    before, after = _checks(stored), _checks(wanted)
    yield from (CheckDropped(check) for key, check in before.items() if key not in after)
    yield from (CheckAdded(check) for key, check in after.items() if key not in before)


def _key(key: PrimaryKey | None, names: Names) -> tuple[object, ...]:
    return (key.name, *map(names.fold, key.columns)) if key else ()


def _columns(key: PrimaryKey, names: Names) -> frozenset[str]:
    return frozenset(map(names.fold, key.columns))


def _checks(definition: ResolvedDefinition) -> dict[tuple[str | None, str], Check]:
    checks = (c for c in definition.asked.constraints if isinstance(c, Check))
    return {(check.name, token_key(check.expression)): check for check in checks}


def _options(stored: ResolvedDefinition, wanted: ResolvedDefinition) -> Iterator[Change]:
    old, new = dict(stored.asked.options), dict(wanted.asked.options)
    for key in sorted(new):
        if old.get(key) != new[key]:
            yield OptionSet(key, old.get(key), new[key])
    for key in sorted(old.keys() - new.keys()):
        yield OptionReset(key, old[key])


def _layout(stored: ResolvedDefinition, wanted: ResolvedDefinition) -> Iterator[Change]:
    names = Names.of(wanted.context)
    old, new = stored.asked.partitioned_by, wanted.asked.partitioned_by
    if [names.fold(c) for c in old] != [names.fold(c) for c in new]:
        yield PartitioningChanged(old, new)
    old, new = stored.asked.clustered_by, wanted.asked.clustered_by
    if [names.fold(c) for c in old] != [names.fold(c) for c in new]:
        yield ClusteringChanged(old, new)


_ASPECTS = (
    _query,
    diff_columns,
    diff_column_list,
    _confs,
    diff_freshness,
    diff_refresh_mode,
    diff_start_mode,
    diff_state_retention,
    _options,
    _comments,
    _constraints,
    _layout,
)
