"""Plan of an analysed query: its operators and relations, from EXPLAIN EXTENDED.

The plan is Spark's own answer to which relations a query reads and through which views. It is text
for people, so it never decides alone: names in it are looked up in the catalog. A query whose text
names other relations than its plan is not rewritten.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.columns import Parts, parts_of
from dbt.adapters.spark_mt.query.analyzer import PlanOperator

if TYPE_CHECKING:
    from collections.abc import Callable


_OPERATOR_LINE = re.compile(
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
    two levels. A line that begins no operator continues the one before, whose text had a line end.

    Args:
        text: The plan as EXPLAIN EXTENDED prints it; the line of the command itself has no marks.
        relation_of: Returns the full name of the relation that an alias of the plan names, empty
            for an alias that the query gives.
    """
    roots: list[_Node] = []
    path: list[_Node] = []
    for line in text.splitlines():
        match = _OPERATOR_LINE.match(line)
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


_SESSION_CATALOG = "spark_catalog"
_HEADER = "== Analyzed Logical Plan =="
_NEXT_HEADER = "\n== Optimized Logical Plan =="
_RELATION_LINE = re.compile(r"^(?P<indent>(?:   |:  )*)(?:\+- |:- )(?P<stream>~?)(?P<node>\S.*)$")
_ALIAS = re.compile(r"SubqueryAlias (?P<name>.+)$")
_VIEW = re.compile(r"View \((?P<name>.+?), \[")
_PROJECT = re.compile(r"Project \[")
_FUNCTION = re.compile(r"SQLFunctionNode (?P<name>.+)$")
_LEAF = re.compile(
    r"(?:Relation|RelationV2|HiveTableRelation|LogicalRDD|DataSourceV2\w*|Streaming\w*Relation\w*)\b"
)
_FAILED = re.compile(r"\s*[\w.$]+(?:Exception|Error)\b")
_TRUNCATED = re.compile(r"\.\.\. \d+ more fields")


@dataclass(frozen=True, slots=True)
class PlanRelation:
    """A relation of a catalog in a plan.

    Args:
        name: Its full name; a single part is a temporary view.
        via: The views and table functions around it, outermost first.
        kind: `table`, `view` or `function`.
    """

    name: Parts
    via: tuple[Parts, ...] = ()
    kind: str = "table"


@dataclass(frozen=True, slots=True)
class Plan:
    """What an analysed plan shows.

    Args:
        relations: In the plan's order.
        unnamed: How many relations have no name in a catalog (``parquet.`/path` ``).
        streaming: Whether any part of it is a stream.
        text: The plan's text.
        operators: Its root; None where the text shows no tree.
    """

    relations: tuple[PlanRelation, ...]
    unnamed: int
    streaming: bool
    text: str
    operators: PlanOperator | None = None

    @property
    def truncated(self) -> bool:
        """Whether expressions were left out of the text (`spark.sql.debug.maxToStringFields`)."""
        return _TRUNCATED.search(self.text) is not None

    def within(self, via: tuple[Parts, ...]) -> frozenset[Parts]:
        """Names of the relations read right there, not through further views."""
        return frozenset(r.name for r in self.relations if r.via == via)


def read_plan(explained: str, *, fold: bool = True) -> Plan | None:
    """Read the analysed plan out of `EXPLAIN EXTENDED`; None when the analysis failed.

    Args:
        explained: What EXPLAIN EXTENDED said.
        fold: Whether Spark's own catalog takes names without case (`spark.sql.caseSensitive`); the
            plan shows them as they were typed, here they become what the catalog holds.
    """
    _, header, rest = explained.partition(_HEADER)
    text = rest.partition(_NEXT_HEADER)[0]
    lines = [match for line in text.splitlines() if (match := _RELATION_LINE.match(line))]
    if not header or not lines or _FAILED.match(text):
        return None
    reader = _Reader(fold=fold)
    for line in lines:
        reader.read(len(line["indent"]) // 3, line["node"])
    streaming = any(line["stream"] for line in lines)
    operators = read_operators(text, reader.relation)
    return Plan(tuple(reader.relations), reader.unnamed, streaming, text, operators)


class _Reader:
    """Reader of the lines of a plan, with the views around each."""

    def __init__(self, *, fold: bool) -> None:
        self._fold = fold
        self.relations: list[PlanRelation] = []
        self.unnamed = 0
        self._views: list[tuple[int, Parts]] = []
        self._named_at = -1

    def read(self, depth: int, node: str) -> None:
        self._views = [view for view in self._views if view[0] < depth]
        if (alias := _ALIAS.match(node)) is not None:
            self._read_alias(depth, self._name(alias))
        elif (view := _VIEW.match(node)) is not None:
            self._read_view(depth, self._name(view))
        elif (function := _FUNCTION.match(node)) is not None:
            name = self._name(function)
            self.relations.append(PlanRelation(name, self._via, "function"))
            self._views.append((depth, name))
        elif _PROJECT.match(node) is not None and self._named_at == depth - 1:
            self._named_at = depth  # pads the CHAR columns of the relation below
            return
        elif _LEAF.match(node) is not None and self._named_at != depth - 1:
            self.unnamed += 1
        if _ALIAS.match(node) is None:
            self._named_at = -1

    def relation(self, alias: str) -> str:
        """Return the full name of the relation that an alias names; empty for a query's own."""
        parts = parts_of(alias)
        return ".".join(self._folded(parts)) if len(parts) > 1 else ""

    def _read_alias(self, depth: int, name: Parts) -> None:
        self._named_at = depth if len(name) > 1 else -1
        if len(name) > 1:
            self.relations.append(PlanRelation(name, self._via))

    def _read_view(self, depth: int, name: Parts) -> None:
        if self._named_at == depth - 1:
            self.relations.pop()
        self.relations.append(PlanRelation(name, self._via, "view"))
        self._views.append((depth, name))

    def _name(self, match: re.Match[str]) -> Parts:
        return self._folded(parts_of(match["name"]))

    def _folded(self, name: Parts) -> Parts:
        in_session_catalog = name[0].lower() == _SESSION_CATALOG and "/" not in name[-1]
        return tuple(p.lower() for p in name) if self._fold and in_session_catalog else name

    @property
    def _via(self) -> tuple[Parts, ...]:
        return tuple(name for _, name in self._views)
