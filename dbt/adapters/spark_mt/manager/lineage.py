"""Order of tables by what they read of each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.execution.ports import KnownTable


def upstream_first(tables: Iterable[KnownTable]) -> tuple[KnownTable, ...]:
    """Return tables so that each comes after those that it reads; otherwise in the given order.

    Tables that read each other, which only rows of different times can say, keep their order.
    """
    by_name = {str(table.name): table for table in tables}
    ordered: dict[str, KnownTable] = {}
    visited: set[str] = set()
    for start, table in by_name.items():
        stack = [(start, iter(table.reads))]  # no recursion: a chain may be long
        visited.add(start)
        while stack:
            name, sources = stack[-1]
            following = next((s for s in sources if s in by_name and s not in visited), None)
            if following is None:
                ordered.setdefault(name, by_name[name])
                stack.pop()
            else:
                visited.add(following)
                stack.append((following, iter(by_name[following].reads)))
    return tuple(ordered.values())


def upstream_of(tables: Iterable[KnownTable]) -> dict[TableName, frozenset[TableName]]:
    """Return the materialized tables that each table reads, directly or through others."""
    by_name = {str(table.name): table for table in tables}
    found: dict[TableName, frozenset[TableName]] = {}
    for table in upstream_first(by_name.values()):
        direct = {by_name[s].name for s in table.reads if s in by_name and s != str(table.name)}
        further = (found.get(name, frozenset()) for name in direct)
        found[table.name] = frozenset(direct).union(*further)
    return found
