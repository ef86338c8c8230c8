"""Binding of a stored query to the columns that its relations had when it was defined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import SourceColumns, TableName, quote
from dbt.adapters.spark_mt.query.text import shape_of
from dbt.adapters.spark_mt.resolution import source_columns
from dbt.adapters.spark_mt.resolution.columns import Names
from dbt.adapters.spark_mt.spark.query.query_relations import analysed
from dbt.adapters.spark_mt.spark.session.errors import failure_of, is_spark_error, unlogged
from dbt.adapters.spark_mt.spark.session.types import columns_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.columns import Column, FieldName, QueryContext
    from dbt.adapters.spark_mt.definition.definition import ResolvedDefinition
    from dbt.adapters.spark_mt.definition.errors import QueryError
    from dbt.adapters.spark_mt.spark.query.query_relations import Inspection
    from dbt.adapters.spark_mt.spark.session.errors import SparkFailure

    Now = dict[str, tuple[Column, ...]]


_TAKES_ALL = "the query takes all columns of a source, named or not"


@dataclass(frozen=True, slots=True)
class BoundQuery:
    """A query that reads the recorded columns of its relations.

    Args:
        text: The query itself where its relations have just these columns.
        plain: The query itself.
        now: The columns that the relations have, by full name.
        changes: How they differ from the recorded ones, one sentence for each relation.
    """

    text: str
    plain: str
    now: Mapping[str, tuple[FieldName, ...]]
    changes: tuple[str, ...] = ()

    @property
    def forms(self) -> tuple[str, ...]:
        """The texts that give the recorded result where Spark accepts them, the best first.

        Where nothing in a query takes columns without naming them, its own text does as well. It
        is needed where a subquery hides what it uses, such as a qualified name.
        """
        if self.text == self.plain or source_columns.hides_order(self.plain):
            return (self.text,)
        return self.text, self.plain

    def source_columns(self) -> tuple[SourceColumns, ...]:
        """Return the columns that the relations have now."""
        return tuple(SourceColumns(name, now) for name, now in self.now.items())


def bound_query(
    spark: SparkSession,
    query: str,
    context: QueryContext,
    recorded: tuple[SourceColumns, ...],
    place_of: Callable[[str, str], str] | None = None,
) -> BoundQuery:
    """Let a query read the recorded columns of its relations.

    Args:
        spark: A session in the context.
        query: The query.
        context: Where it was defined.
        recorded: The columns; none for a definition that was stored without.
        place_of: Returns what is read for a relation, from its full name and its SQL; the
            relation itself by default.

    Raises:
        QueryError: Recorded columns are gone, or the text cannot be changed so.
    """
    wanted, names = {each.source: each.columns for each in recorded}, Names.of(context)
    relations = _relations(query, context, recorded)
    places = {n: place_of(n, sql) if place_of else sql for n, sql in relations.items()}
    now = current_columns(spark, places)
    fields = {name: source_columns.field_names(columns) for name, columns in now.items()}
    changes = tuple(
        c for n in now for c in source_columns.changed_columns(n, wanted[n], fields[n], names)
    )
    is_losing = any(True for n in now for _ in source_columns.missing(wanted[n], fields[n], names))
    if is_losing and source_columns.takes_all_columns(query):
        raise refused_columns(_TAKES_ALL, changes)
    try:
        found = (
            (n.lower(), source_columns.selection(columns, wanted[n], names))
            for n, columns in now.items()
        )
        text = source_columns.bind(
            query, context, {n: items for n, items in found if items is not None}
        )
    except source_columns.UnboundColumnsError as error:
        raise refused_columns(str(error), changes) from error
    return BoundQuery(text, query, fields, changes)


def accepted_text(spark: SparkSession, definition: ResolvedDefinition) -> BoundQuery:
    """Return a definition's query over its recorded columns, as Spark accepts it now.

    Raises:
        QueryError: Spark does not accept it, or recorded columns are gone.
    """
    query, context = definition.expanded_query, definition.context
    bound = bound_query(spark, query, context, definition.source_columns)
    if bound.text == query:
        return bound
    refusals = []
    for text in bound.forms:
        refusal = _refusal(spark, text)
        if refusal is None:
            return BoundQuery(text, query, bound.now, bound.changes)
        refusals.append(refusal)
    raise refused_columns(refusals[0].message, bound.changes, refusals[0])


def _refusal(spark: SparkSession, text: str) -> SparkFailure | None:
    try:
        with unlogged():
            analysed(spark, text)
    except Exception as error:
        if is_spark_error(error):
            return failure_of(error)
        raise
    return None


def refused_columns(
    problem: str, changes: tuple[str, ...], failure: SparkFailure | None = None
) -> QueryError:
    """Return the error of a query that cannot be read by its recorded columns."""
    return conditions.SOURCE_COLUMNS_CHANGED(
        violations=changes,
        message=problem,
        engine_condition=failure.condition if failure else "",
        sql_state=failure.sql_state if failure else "",
        place="",
        line="",
        column="",
    )


def current_columns(spark: SparkSession, places: Mapping[str, str]) -> Now:
    """Return the columns of relations by one analysis, without those that cannot be read.

    Args:
        spark: A session.
        places: The SQL of each relation, by its name.
    """
    if not places:
        return {}
    parts = (f"(SELECT struct(*) AS r{n} FROM {sql})" for n, sql in enumerate(places.values()))
    try:
        with unlogged():
            fields = spark.sql(f"SELECT * FROM {', '.join(parts)}").schema.fields
    except Exception as error:
        if not is_spark_error(error):
            raise
        if len(places) == 1:
            return {}
        single = (current_columns(spark, {name: sql}) for name, sql in places.items())
        return {name: columns for found in single for name, columns in found.items()}
    return {
        name: columns_of(field.dataType)  # type: ignore[arg-type]
        for name, field in zip(places, fields, strict=True)
    }


def _relations(
    query: str, context: QueryContext, recorded: tuple[SourceColumns, ...]
) -> dict[str, str]:
    """Return the SQL of each recorded relation by its full name, as the query names it."""
    if not recorded:
        return {}
    named = {
        source_columns.full_name_of(ref, context): relation_sql(ref.parts, context)
        for ref in shape_of(query).relations
        if not ref.pinned
    }
    return {each.source: named.get(each.source.lower()) or each.table.sql for each in recorded}


def relation_sql(parts: tuple[str, ...], context: QueryContext) -> str:
    """Return a relation's name for another query; a path stays as it is written."""
    if "/" in parts[-1]:
        return ".".join(map(quote, parts[-2:]))
    return TableName.of(*parts[-3:]).within(context.catalog, context.schema).sql


def direct_relations(inspection: Inspection, context: QueryContext) -> dict[str, str]:
    """Return the SQL of each relation that a query reads without a view, by its full name.

    Relations at a version that the user wrote are left out.
    """
    plan, shape = inspection.plan, inspection.shape
    pinned = {name for ref, name in inspection.matched if ref.pinned}
    pinned -= {name for ref, name in inspection.matched if not ref.pinned}
    named = [
        name
        for relation in plan.relations
        if not relation.via and relation.kind != "function" and 1 < len(relation.name) <= 3
        if (name := TableName.of(*relation.name)) not in pinned
    ]
    paths = [
        ref.parts
        for ref in shape.relations
        if "/" in ref.parts[-1] and len(ref.parts) == 2 and not ref.pinned
    ]
    found = {str(name): relation_sql(name.parts, context) for name in named}
    known = {name.lower() for name in found}
    for parts in paths:
        path = str(TableName.of(*parts).within(context.catalog, context.schema))
        if path.lower() not in known:
            found[path] = relation_sql(parts, context)
    return found
