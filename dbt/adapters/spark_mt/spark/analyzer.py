"""Analyses queries with Spark, in the user's session, without running or changing anything.

Four statements for a query without views, about 0.1 s: a CREATE VIEW in a schema that does not
exist (names temporary objects), EXPLAIN of the same (shows relations, through views), the schema
of the query as a subquery, and the formats of its tables. Only the public DataFrame API is used,
so that it works over Spark Connect, too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.identifier import TableName
from dbt.adapters.spark_mt.resolution.analysis import AnalyzedQuery, Source
from dbt.adapters.spark_mt.resolution.query_errors import QueryError, TemporaryObjectError
from dbt.adapters.spark_mt.resolution.query_functions import functions_of
from dbt.adapters.spark_mt.resolution.query_text import without_lookups
from dbt.adapters.spark_mt.spark.catalog_objects import (
    builtin_functions,
    describe_function,
)
from dbt.adapters.spark_mt.spark.confs import context_of
from dbt.adapters.spark_mt.spark.errors import failure_of, is_spark_error
from dbt.adapters.spark_mt.spark.inspection import (
    AS_SUBQUERY_OFFSET,
    CREATE_PROBE,
    EXPLAIN_PROBE,
    Inspection,
    analysed,
    failure_at,
    inspect,
)
from dbt.adapters.spark_mt.spark.plan import parts_of
from dbt.adapters.spark_mt.spark.query_objects import QueryObjects
from dbt.adapters.spark_mt.spark.stand_ins import NO_STAND_INS
from dbt.adapters.spark_mt.spark.streams.only_streams import standing_in
from dbt.adapters.spark_mt.spark.types import columns_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from dbt.adapters.spark_mt.definition.definition import QueryContext
    from dbt.adapters.spark_mt.spark.errors import SparkFailure
    from dbt.adapters.spark_mt.spark.stand_ins import StandIns

_SUBSTITUTES = "spark.sql.variable.substitute"
_SUBSTITUTION = re.compile(r"\$\{([^}$\s]+)\}")
_SUBSTITUTED_PREFIXES = ("env:", "system:", "spark:", "sparkconf:", "hivevar:", "hiveconf:")
_VARIABLE = re.compile(r"variablereference\(system\.session\.(?P<name>.+?)=")


class SparkQueryAnalyzer:
    """The `QueryAnalyzer` on Spark.

    Args:
        spark: The user's session, classic or Connect; its current schema, confs and temporary
            objects count. No conf of it is changed and nothing is created in it.
        stand_ins: Views of that session in the place of tables that Spark reads in no query.
    """

    def __init__(self, spark: SparkSession, stand_ins: StandIns = NO_STAND_INS) -> None:
        self._spark = spark
        self._stand_ins = stand_ins

    def analyze(self, query: str) -> AnalyzedQuery:
        """Analyse `query`.

        Raises:
            QueryError: Spark refuses it.
            TemporaryObjectError: It uses temporary views, functions or session variables.
            LookupTimeError: It joins as of another time than the processing time.
        """
        context = context_of(self._spark)
        try:
            return self._analyzed(query, context)
        except QueryError:
            if self._stand_ins.views:
                raise
            with standing_in(self._spark, query, context) as (session, stand_ins):
                if not stand_ins.views:
                    raise
                return SparkQueryAnalyzer(session, stand_ins).analyze(query)

    def _analyzed(self, query: str, context: QueryContext) -> AnalyzedQuery:
        lookups = without_lookups(query)
        self._refuse_substitutions(query)
        inspection = self._inspect(lookups.text, context)
        if not self._stand_ins.views:  # whose session has no temporary objects but these
            self._refuse_temporary(inspection)
        objects = QueryObjects(self._spark, inspection, context)
        expanded, schema, complete = self._expanded(inspection, context)
        return AnalyzedQuery(
            query=query,
            expanded=expanded,
            columns=columns_of(schema),
            sources=tuple(_distinct(objects.sources())),
            context=context,
            pinnable=complete and objects.all_readable(),
            nondeterministic=objects.nondeterministic(),
            time_dependent=objects.time_dependent(),
            streaming=inspection.plan.streaming,
            lookups=tuple(
                TableName.of(*name[-3:]).within(context.catalog, context.schema)
                for name in lookups.lookups
            ),
            views=objects.views(),
            operators=inspection.plan.operators,
        )

    def _inspect(self, text: str, context: QueryContext) -> Inspection:
        try:
            found = inspect(self._spark, text, context, self._stand_ins)
        except Exception as error:
            if not is_spark_error(error):
                raise
            failure = failure_of(error)
            if not failure.is_syntax_error:
                self._schema(text, context)
            raise query_error(failure, text, len(EXPLAIN_PROBE)) from error
        if found is not None:
            return found
        self._schema(text, context)
        raise QueryError(place="", engine_condition="NO_PLAN", message="Spark shows no plan of it.")

    def _schema(self, text: str, context: QueryContext) -> StructType:
        try:
            return analysed(self._spark, self._stand_ins.inserted(text, context)).schema
        except Exception as error:
            if is_spark_error(error):
                raise query_error(failure_of(error), text, AS_SUBQUERY_OFFSET) from error
            raise

    def _expanded(
        self, inspection: Inspection, context: QueryContext
    ) -> tuple[str, StructType, bool]:
        """The query with full names, its result, and whether all names could be made full.

        Where Spark does not take the query with full names (a column qualified in a way that only
        fits the short name), the text stays: the stored context gives the names their meaning.
        """
        text = inspection.rewritten(lambda _, name: name.sql)
        try:
            schema = analysed(self._spark, self._stand_ins.inserted(text, context)).schema
        except Exception as error:
            if not is_spark_error(error):
                raise
            return inspection.text, self._schema(inspection.text, context), False
        return text, schema, not inspection.gap

    def _refuse_substitutions(self, query: str) -> None:
        """`${key}` is replaced by Spark before it reads a statement, by this session's value."""
        found = dict.fromkeys(_SUBSTITUTION.findall(query))
        if not found or str(self._spark.conf.get(_SUBSTITUTES, "true")).lower() != "true":
            return
        known = [
            key
            for key in found
            if key.startswith(_SUBSTITUTED_PREFIXES) or self._spark.conf.get(key, None) is not None
        ]
        if known:
            raise TemporaryObjectError(
                objects=", ".join(f"the substitution ${{{key}}}" for key in known)
            )

    def _refuse_temporary(self, inspection: Inspection) -> None:
        failure = failure_at(self._spark, CREATE_PROBE + inspection.text)
        if failure is None or not failure.is_temporary_object:
            return
        named = {(failure.parameter("tempObj"), failure.parameter("tempObjName")): None}
        for relation in inspection.plan.relations:
            if len(relation.name) == 1 or relation.name[0].lower() == "global_temp":
                named["VIEW", TableName.of(*relation.name).sql] = None
        for match in _VARIABLE.finditer(inspection.plan.text):
            named["VARIABLE", TableName.of(*parts_of(match["name"])).sql] = None
        builtin = builtin_functions(self._spark)
        for call in functions_of(inspection.text).calls:
            function = describe_function(self._spark, call) if len(call) <= 3 else None
            if function is not None and function.is_temporary and call[-1].lower() not in builtin:
                named["FUNCTION", function.name.sql] = None
        listed = [f"{_KINDS.get(kind, kind.lower())} {name}" for kind, name in named]
        raise TemporaryObjectError(objects=", ".join(listed))


_KINDS = {
    "VIEW": "the temporary view",
    "FUNCTION": "the temporary function",
    "VARIABLE": "the session variable",
}


def query_error(failure: SparkFailure, query: str, offset: int) -> QueryError:
    """Make our error of Spark's.

    Args:
        failure: What Spark said about a statement that holds `query`.
        query: The query.
        offset: How many characters of the statement stand before the query, the last of them the
            only line end.
    """
    line, column = _place(failure, query, offset)
    return QueryError(
        place=f" at line {line}, column {column}" if line else "",
        engine_condition=failure.condition,
        sql_state=failure.sql_state,
        message=failure.message,
        line=line or "",
        column=column or "",
    )


def _place(failure: SparkFailure, query: str, offset: int) -> tuple[int, int]:
    """Line and column in the query, both from 1; zeros where unknown or outside."""
    if failure.offset is not None:
        start = failure.offset - offset
        if not 0 <= start <= len(query):
            return 0, 0
        start += len(query[start:]) - len(query[start:].lstrip())
        return query.count("\n", 0, start) + 1, start - query.rfind("\n", 0, start)
    if failure.line_and_column is None:
        return 0, 0
    line, column = failure.line_and_column
    return (line - 1, column) if line > 1 else (0, 0)


def _distinct(sources: Iterable[Source]) -> Iterator[Source]:
    """Each source once, the direct one where there is one."""
    found: dict[TableName, Source] = {}
    for source in sources:
        if source.name not in found or (found[source.name].via and not source.via):
            found[source.name] = source
    yield from found.values()
