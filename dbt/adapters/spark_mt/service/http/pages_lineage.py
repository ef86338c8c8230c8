"""Which tables and sources the lineage shows: a part of a catalog that a person can take in."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dbt.adapters.spark_mt.service.http.pages_rows import Row

MOST = 60


@dataclass(frozen=True, slots=True)
class Node:
    """A table, or a source that is none.

    Args:
        name: The full name.
        row: None of a source.
        reads: What it reads, of what is shown.
    """

    name: str
    row: Row | None
    reads: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lineage:
    """Nodes, those read before those that read them where there is no cycle.

    Args:
        left_out: How many tables and sources belong to it but are not shown.
    """

    nodes: tuple[Node, ...]
    left_out: int = 0


def lineage_of(wanted: Sequence[Row], rows: Mapping[str, Row]) -> Lineage:
    """Show tables with what they read, as many as fit, in their order.

    Args:
        wanted: The tables of the list.
        rows: Every table by its full name.
    """
    names = [name for row in wanted for name in (row.view.name, *row.view.reads)]
    return _cut(names, rows)


def lineage_around(row: Row, rows: Mapping[str, Row]) -> Lineage:
    """Show one table with all that it comes from and all that comes from it, nearest first."""
    readers: dict[str, list[str]] = {}
    for other in rows.values():
        for source in other.view.reads:
            readers.setdefault(source, []).append(other.view.name)
    reads = {name: list(other.view.reads) for name, other in rows.items()}
    up, down = _nearest(row.view.name, reads), _nearest(row.view.name, readers)
    near = sorted([*up.items(), *down.items()], key=lambda found: found[1])
    return _cut([name for name, _ in near], rows)


def _nearest(start: str, neighbours: Mapping[str, Sequence[str]]) -> dict[str, int]:
    distances = {start: 0}
    waiting = deque([start])
    while waiting:
        name = waiting.popleft()
        for other in neighbours.get(name, ()):
            if other not in distances:
                distances[other] = distances[name] + 1
                waiting.append(other)
    return distances


def _cut(names: Iterable[str], rows: Mapping[str, Row]) -> Lineage:
    distinct = list(dict.fromkeys(names))
    shown = set(distinct[:MOST])
    nodes = tuple(_node(name, rows, shown) for name in distinct[:MOST])
    return Lineage(_upstream_first(nodes), len(distinct) - len(nodes))


def _node(name: str, rows: Mapping[str, Row], shown: set[str]) -> Node:
    row = rows.get(name)
    reads = row.view.reads if row else ()
    return Node(name, row, tuple(dict.fromkeys(source for source in reads if source in shown)))


def _upstream_first(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Sort by depth; the members of a cycle come last, as they were."""
    left = list(nodes)
    done: dict[str, Node] = {}
    while left:
        ready = [node for node in left if all(source in done for source in node.reads)]
        for node in ready or left:
            done[node.name] = node
        left = [node for node in left if node.name not in done]
    return tuple(done.values())
