"""One look at a query in a session: the names in its text beside the relations in Spark's plan."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from dbt.adapters.spark_mt.definition.identifier import TableName, quote
from dbt.adapters.spark_mt.resolution.query_text import QueryShape, replace_at, shape_of
from dbt.adapters.spark_mt.spark.errors import failure_of, is_spark_error
from dbt.adapters.spark_mt.spark.plan import Plan, read_plan
from dbt.adapters.spark_mt.spark.stand_ins import NO_STAND_INS, full_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from dbt.adapters.spark_mt.definition.definition import QueryContext
    from dbt.adapters.spark_mt.resolution.query_text import RelationRef
    from dbt.adapters.spark_mt.spark.errors import SparkFailure
    from dbt.adapters.spark_mt.spark.plan import Parts
    from dbt.adapters.spark_mt.spark.stand_ins import StandIns

_NOWHERE = f"materialized_table_no_such_schema_{uuid4().hex}"
"""A schema that does not exist, so that a CREATE VIEW in it checks a query and then fails."""

CREATE_PROBE = f"CREATE VIEW spark_catalog.{_NOWHERE}.probe AS\n"
EXPLAIN_PROBE = f"EXPLAIN EXTENDED {CREATE_PROBE}"
_AS_SUBQUERY = ("SELECT * FROM (\n", "\n) AS _")


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
            name_of: Returns what stands in the place of a name.
            alias_of: Returns what is added where a relation's alias goes: behind its clauses.
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


AS_SUBQUERY_OFFSET = len(_AS_SUBQUERY[0])


def analysed(spark: SparkSession, query: str) -> DataFrame:
    """Analyse a query as a subquery, so that nothing but a query can get through.

    Raises:
        pyspark.errors.PySparkException: Spark refuses it.
    """
    frame = spark.sql(as_subquery(query))
    frame.schema  # noqa: B018 - Connect analyses when the schema is asked for
    return frame


def failure_at(spark: SparkSession, statement: str) -> SparkFailure | None:
    """Run a statement that is expected to fail, and return why it did."""
    try:
        spark.sql(statement).collect()
    except Exception as error:
        if is_spark_error(error):
            return failure_of(error)
        raise
    return None


def inspect(
    spark: SparkSession, text: str, context: QueryContext, stand_ins: StandIns = NO_STAND_INS
) -> Inspection | None:
    """Look at a query that is valid in the session, whose current schema is the context's.

    Nothing is planned or executed: EXPLAIN of a CREATE VIEW stops at the analysed query.

    Args:
        spark: The session.
        text: The query.
        context: Where it stands.
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
        hidden = "the query's text cannot be taken apart"
    gap = "the query reads a stream" if shape.readable and plan.streaming else hidden
    return Inspection(text, plan, shape, matched, gap, hidden)


def table_name(parts: Parts) -> TableName:
    """Make a name of a plan's parts; nested namespaces become one part."""
    return (
        TableName.of(parts[0], ".".join(parts[1:-1]), parts[-1])
        if len(parts) > 3
        else (TableName.of(*parts))
    )


def quoted(parts: Parts) -> str:
    """Return the name for a statement."""
    return ".".join(quote(part) for part in parts)


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
