"""Temporary views in the place of tables that Spark reads in no query.

Spark fails on `STREAM k` over a table of Kafka, whose connector wants no schema from the catalog,
and on any query over a table of generated rows. Over a view of the stream that their own reader
makes, it analyses the same query. So the views' names are put into what Spark is given, and taken
out of the plan that it shows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.identifier import quote
from dbt.adapters.spark_mt.resolution.query_text import replace_at, shape_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dbt.adapters.spark_mt.definition.definition import QueryContext
    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.resolution.query_text import RelationRef

_VIEWED = (
    r"SubqueryAlias {view}\n(?P<mark>[ :]*\+- )View \(`{view}`, (?P<columns>\[.*\])\)\n"
    r"[ :]*\+- .*$"
)


@dataclass(frozen=True, slots=True)
class StandIn:
    """A view in the place of a table.

    Args:
        name: The table's full name.
        view: The view, of a session of the caller's own.
        only_streams: Whether it stands only behind STREAM, because Spark reads the table otherwise.
    """

    name: TableName
    view: str
    only_streams: bool


@dataclass(frozen=True, slots=True)
class StandIns:
    """The views of one session."""

    views: tuple[StandIn, ...] = ()

    def inserted(self, query: str, context: QueryContext) -> str:
        """Return the query over the views, as Spark is given it."""
        return replace_at(query, self._replacements(query, context)) if self.views else query

    def removed(self, explained: str) -> str:
        """Return a plan of such a query as that of the query itself."""
        for each in self.views:
            viewed = re.compile(_VIEWED.format(view=re.escape(each.view)), re.MULTILINE)
            name = each.name.sql.replace("\\", r"\\")
            explained = viewed.sub(
                rf"SubqueryAlias {name}\n\g<mark>~StreamingRelation \g<columns>", explained
            )
        return explained

    def _replacements(self, query: str, context: QueryContext) -> Iterator[tuple[int, int, str]]:
        by_name = {tuple(p.lower() for p in each.name.parts): each for each in self.views}
        for ref in shape_of(query).relations:
            found = by_name.get(full_name(ref, context))
            if found is None or ref.pinned or (found.only_streams and not ref.streamed):
                continue
            yield ref.start, ref.end, found.view
            if not ref.aliased:
                yield ref.tail, ref.tail, f" AS {quote(ref.parts[-1])}"


NO_STAND_INS = StandIns()


def full_name(ref: RelationRef, context: QueryContext) -> tuple[str, ...]:
    """Return the parts of what a name in a query means, in lower case."""
    missing = (context.catalog, context.schema)[: max(0, 3 - len(ref.parts))]
    return tuple(part.lower() for part in (*missing, *ref.parts))
