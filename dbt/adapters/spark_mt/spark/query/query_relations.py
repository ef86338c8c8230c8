"""Relations of a query: names in its text, relations in Spark's plan, catalog objects.

Spark fails on `STREAM k` over a table of Kafka, whose connector takes no schema from the catalog.
It also fails on any query over a table of generated rows. It analyses the same query over a view of
the stream that the source's own reader makes. So the query that Spark gets has the view's name in
the place of the table's. The plan that Spark prints gets the table's name back.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from dbt.adapters.spark_mt.definition.columns import QueryContext, TableName, quote
from dbt.adapters.spark_mt.query.text import QueryShape, replace_at, shape_of
from dbt.adapters.spark_mt.spark.query.plan import Plan, read_plan
from dbt.adapters.spark_mt.spark.session.errors import failure_of, is_spark_error, unlogged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from dbt.adapters.spark_mt.definition.columns import Parts
    from dbt.adapters.spark_mt.query.text import RelationRef
    from dbt.adapters.spark_mt.spark.session.errors import SparkFailure


_VIEWED = (
    r"SubqueryAlias {view}\n(?P<mark>[ :]*\+- )View \(`{view}`, (?P<columns>\[.*\])\)\n"
    r"[ :]*\+- .*$"
)


_NOWHERE = f"materialized_table_no_such_schema_{uuid4().hex}"
"""A schema that does not exist, so that a CREATE VIEW in it checks a query and then fails."""
CREATE_PROBE = f"CREATE VIEW spark_catalog.{_NOWHERE}.probe AS\n"
EXPLAIN_PROBE = f"EXPLAIN EXTENDED {CREATE_PROBE}"
_AS_SUBQUERY = ("SELECT * FROM (\n", "\n) AS _")
AS_SUBQUERY_OFFSET = len(_AS_SUBQUERY[0])


@dataclass(frozen=True, slots=True)
class StandIn:
    """A view in the place of a table.

    Args:
        name: The table's full name.
        view: The view, of a session of the caller's own.
        only_streams: Whether it replaces the table after STREAM only: otherwise Spark can read it.
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


@dataclass(frozen=True, slots=True)
class Inspection:
    """A query whose names were matched with its plan.

    Args:
        text: The query.
        plan: Spark's answer.
        shape: sqlglot's answer.
        matched: The relations of the text that are relations of the plan, with their full names.
        gap: Why the text does not account for all that the plan reads at one version each; empty if
            it does.
        hidden: The same but for streams, which have no versions.
    """

    text: str
    plan: Plan
    shape: QueryShape
    matched: tuple[tuple[RelationRef, TableName], ...]
    gap: str
    hidden: str

    def rewritten(
        self,
        name_of: Callable[[RelationRef, TableName], str],
        alias_of: Callable[[RelationRef, TableName], str] | None = None,
    ) -> str:
        """Replace every matched name by what `name_of` makes of it.

        Args:
            name_of: Returns what takes the place of a name.
            alias_of: Returns what is added in the place of a relation's alias, after its clauses.
        """
        names = ((ref.start, ref.end, name_of(ref, name)) for ref, name in self.matched)
        aliases = (
            (ref.tail, ref.tail, alias_of(ref, name)) for ref, name in self.matched if alias_of
        )
        return replace_at(self.text, (*names, *aliases))


def as_subquery(query: str) -> str:
    """Wrap a query; it ends with a line end, as it may end with a comment."""
    before, after = _AS_SUBQUERY
    return f"{before}{query}{after}"


def analysed(spark: SparkSession, query: str) -> DataFrame:
    """Analyse a query as a subquery, so that nothing but a query can get through.

    Raises:
        pyspark.errors.PySparkException: Spark refuses it.
    """
    frame = spark.sql(as_subquery(query))
    frame.schema  # noqa: B018 - Connect analyses when the schema is asked for
    return frame


def has_rows(spark: SparkSession, query: str) -> bool:
    """Whether a query returns any row."""
    return bool(spark.sql(f"SELECT 1 FROM (\n{query}\n) LIMIT 1").collect())


def failure_at(spark: SparkSession, statement: str) -> SparkFailure | None:
    """Run a statement that is expected to fail, and return why it did."""
    try:
        with unlogged():
            spark.sql(statement).collect()
    except Exception as error:
        if is_spark_error(error):
            return failure_of(error)
        raise
    return None


def inspect(
    spark: SparkSession, text: str, context: QueryContext, stand_ins: StandIns = NO_STAND_INS
) -> Inspection | None:
    """Inspect a query that is valid in the session, whose current schema is the context's.

    Nothing is planned or executed: EXPLAIN of a CREATE VIEW stops at the analysed query.

    Args:
        spark: The session.
        text: The query.
        context: Its catalog, schema and confs.
        stand_ins: Views in the session that stand for some of its tables.

    Returns:
        None where Spark shows no plan.

    Raises:
        pyspark.errors.ParseException: It is no query.
    """
    fold = dict(context.confs).get("spark.sql.caseSensitive") != "true"
    explained = spark.sql(EXPLAIN_PROBE + stand_ins.inserted(text, context)).collect()[0][0]
    plan = read_plan(stand_ins.removed(explained), fold=fold)
    if plan is None:
        return None
    return match_names(text, plan, (), context)


def match_names(text: str, plan: Plan, via: tuple[Parts, ...], context: QueryContext) -> Inspection:
    """Match the names in a text with the relations that the plan reads within `via`."""
    shape = shape_of(text)
    names = {_folded(name): name for name in plan.within(via)}
    matched = tuple(
        (ref, TableName.of(*names[full]))
        for ref in shape.relations
        if (full := full_name(ref, context)) in names and 1 <= len(full) <= 3
    )
    hidden = _hidden(plan, via, matched)
    if not shape.readable:
        hidden = "the query's text cannot be parsed"
    gap = "the query reads a stream" if shape.readable and plan.streaming else hidden
    return Inspection(text, plan, shape, matched, gap, hidden)


def table_name(parts: Parts) -> TableName:
    """Make a name of a plan's parts; nested namespaces become one part."""
    return (
        TableName.of(parts[0], ".".join(parts[1:-1]), parts[-1])
        if len(parts) > 3
        else (TableName.of(*parts))
    )


def _folded(parts: Parts) -> Parts:
    return tuple(part.lower() for part in parts)


def _hidden(
    plan: Plan, via: tuple[Parts, ...], matched: tuple[tuple[RelationRef, TableName], ...]
) -> str:
    """Name a relation that the plan reads more often than the text says."""
    here = [relation for relation in plan.relations if relation.via == via]
    opened = sum((*r.via, r.name) == via for r in plan.relations)
    in_text = Counter(name for _, name in matched)
    in_plan = Counter(table_name(r.name) for r in here)
    for relation in here:
        name = table_name(relation.name)
        if relation.kind == "function":
            return f"the query reads the table function {name}"
        if in_plan[name] > in_text[name] * max(1, opened):
            return f"the query reads {name} in a place where its text does not name it"
    return ""
