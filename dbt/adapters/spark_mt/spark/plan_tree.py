"""The tree of operators behind the lines of a plan."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.resolution.analysis import PlanOperator

if TYPE_CHECKING:
    from collections.abc import Callable

_LINE = re.compile(
    r"^(?P<indent>(?:   |:  )*)(?:\+- |:- )(?P<stream>~?)(?P<name>\w+)(?P<detail>.*)$"
)
_STREAM_LEAF = re.compile(r"Streaming\w*Relation")


@dataclass(slots=True)
class _Node:
    depth: int
    name: str
    detail: str
    streaming: bool
    children: list[_Node] = field(default_factory=list)
    subqueries: list[_Node] = field(default_factory=list)


def read_operators(text: str, relation_of: Callable[[str], str]) -> PlanOperator | None:
    """Return the root of a plan's query; None where the text shows no tree.

    Spark prints the inputs of an operator one level below it, and the plans inside its expressions
    two levels. A line that begins no operator goes on with the one before: its text had a line end.

    Args:
        text: The plan as EXPLAIN EXTENDED prints it; the line of the command itself has no marks.
        relation_of: Returns the full name of the relation that an alias of the plan names, empty
            for an alias that the query gives.
    """
    roots: list[_Node] = []
    path: list[_Node] = []
    for line in text.splitlines():
        match = _LINE.match(line)
        if match is None:
            if path:
                path[-1].detail += f"\n{line}"
            continue
        depth = len(match["indent"]) // 3
        while path and path[-1].depth >= depth:
            path.pop()
        name = match["name"]
        streaming = bool(match["stream"]) or _STREAM_LEAF.match(name) is not None
        node = _Node(depth, name, match["detail"].strip(), streaming)
        if not path:
            roots.append(node)
        elif depth == path[-1].depth + 1:
            path[-1].children.append(node)
        else:
            path[-1].subqueries.append(node)
        path.append(node)
    return _operator(roots[0], relation_of) if len(roots) == 1 else None


def _operator(node: _Node, relation_of: Callable[[str], str]) -> PlanOperator:
    children = tuple(_operator(child, relation_of) for child in node.children)
    return PlanOperator(
        name=node.name,
        detail=node.detail,
        children=children,
        subqueries=tuple(_operator(query, relation_of) for query in node.subqueries),
        streaming=node.streaming or any(child.streaming for child in children),
        relation=relation_of(node.detail) if node.name == "SubqueryAlias" else "",
    )
