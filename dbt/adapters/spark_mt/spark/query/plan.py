"""Plan of an analysed query: the relations that it reads, from EXPLAIN EXTENDED.

The plan is Spark's own answer to which relations a query reads and through which views. It is text
for people, so it never decides alone: names in it are looked up in the catalog. A query whose text
names other relations than its plan is not rewritten.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from dbt.adapters.spark_mt.definition.columns import Parts, parts_of

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
_AS_OF = re.compile(r"\w*V2\w*\[.*\].* (?:(?P<time>TIMESTAMP)|VERSION) AS OF (?P<version>.+)$")
"""What Spark prints after a relation whose catalog reads it at a version."""
_NUMBER = re.compile(r"'?\d+'?")
_TRUNCATED = re.compile(r"\.\.\. \d+ more fields")


@dataclass(frozen=True, slots=True)
class PlanRelation:
    """A relation of a catalog in a plan.

    Args:
        name: Its full name; a single part is a temporary view.
        via: The views and table functions around it, outermost first.
        kind: `table`, `view` or `function`.
        moves: Whether it is read at a version that may become another one: by the name of a branch
            or a tag, or by a time.
    """

    name: Parts
    via: tuple[Parts, ...] = ()
    kind: str = "table"
    moves: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What an analysed plan shows.

    Args:
        relations: In the plan's order.
        unnamed: How many relations have no name in a catalog (``parquet.`/path` ``).
        streaming: Whether any part of it is a stream.
        text: The plan's text.
    """

    relations: tuple[PlanRelation, ...]
    unnamed: int
    streaming: bool
    text: str

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
    return Plan(tuple(reader.relations), reader.unnamed, streaming, text)


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
        elif _LEAF.match(node) is not None:
            self._read_leaf(depth, node)
        if _ALIAS.match(node) is None:
            self._named_at = -1

    def _read_alias(self, depth: int, name: Parts) -> None:
        self._named_at = depth if len(name) > 1 else -1
        if len(name) > 1:
            self.relations.append(PlanRelation(name, self._via))

    def _read_leaf(self, depth: int, node: str) -> None:
        if self._named_at != depth - 1:
            self.unnamed += 1
        elif (as_of := _AS_OF.match(node)) is not None:
            is_fixed = as_of["time"] is None and _NUMBER.fullmatch(as_of["version"]) is not None
            self.relations[-1] = replace(self.relations[-1], moves=not is_fixed)

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
