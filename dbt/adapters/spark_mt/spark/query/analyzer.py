"""Analysis of queries with Spark, in the user's session, without running anything.

A query without views takes four statements, about 0.1 s:

- a CREATE VIEW in a schema that does not exist, which names temporary objects;
- EXPLAIN of the same, which shows relations, through views;
- the schema of the query as a subquery;
- the formats of its tables.

Only the public DataFrame API is used, so that it works over Spark Connect as well.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import SourceColumns, TableName, parts_of, quote
from dbt.adapters.spark_mt.definition.errors import QueryError
from dbt.adapters.spark_mt.query import analyzer
from dbt.adapters.spark_mt.query.function_use import functions_of
from dbt.adapters.spark_mt.query.functions import RANDOM
from dbt.adapters.spark_mt.query.operator_builder import operator_tree, relations_to_list
from dbt.adapters.spark_mt.query.text import naming_variables, without_lookups
from dbt.adapters.spark_mt.resolution import source_columns
from dbt.adapters.spark_mt.resolution.columns import Names
from dbt.adapters.spark_mt.spark.catalog import objects
from dbt.adapters.spark_mt.spark.formats.installed import FORMATS
from dbt.adapters.spark_mt.spark.query import query_relations
from dbt.adapters.spark_mt.spark.query.binding import (
    current_columns,
    direct_relations,
    refused_columns,
)
from dbt.adapters.spark_mt.spark.query.stream_sources import standing_in
from dbt.adapters.spark_mt.spark.session import errors as spark_errors
from dbt.adapters.spark_mt.spark.session.outages import outage
from dbt.adapters.spark_mt.spark.session.private_session import context_of
from dbt.adapters.spark_mt.spark.session.types import columns_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from dbt.adapters.spark_mt.definition.columns import Column, QueryContext
    from dbt.adapters.spark_mt.definition.errors import OutageError
    from dbt.adapters.spark_mt.definition.table_format import TableFormat
    from dbt.adapters.spark_mt.query.function_use import FunctionUse
    from dbt.adapters.spark_mt.spark.catalog.objects import FunctionDefinition
    from dbt.adapters.spark_mt.spark.query.plan import Plan
    from dbt.adapters.spark_mt.spark.query.query_relations import StandIns
    from dbt.adapters.spark_mt.spark.session.errors import SparkFailure


_SYSTEM_SCHEMAS = frozenset({"builtin", "session", "system"})


_SUBSTITUTES = "spark.sql.variable.substitute"
_SUBSTITUTION = re.compile(r"\$\{([^}$\s]+)\}")
_SUBSTITUTED_PREFIXES = ("env:", "system:", "spark:", "sparkconf:", "hivevar:", "hiveconf:")
_VARIABLE = re.compile(r"variablereference\(system\.session\.(?P<name>.+?)=")
_KINDS = {
    "VIEW": "the temporary view",
    "FUNCTION": "the temporary function",
    "VARIABLE": "the session variable",
}


class QueryObjects:
    """Views and functions that a query uses, and what follows from all their texts together."""

    def __init__(
        self,
        spark: SparkSession,
        inspection: query_relations.Inspection,
        context: QueryContext,
    ) -> None:
        self._spark = spark
        self._inspection = inspection
        self._views = {
            relation.name: objects.describe_view(spark, query_relations.table_name(relation.name))
            for relation in inspection.plan.relations
            if relation.kind == "view"
        }
        self._functions: dict[TableName, FunctionDefinition] = {}
        self._uses: list[FunctionUse] = []
        self._read(inspection.text, context.catalog, context.schema)
        for view in self._views.values():
            self._read(view.text, view.context.catalog, view.context.schema)

    def sources(self) -> Iterator[analyzer.Source]:
        """Yield every source, as often as the plan shows it."""
        plan = self._inspection.plan
        tables = {query_relations.table_name(r.name) for r in plan.relations if r.kind == "table"}
        providers = objects.providers_of(self._spark, sorted(tables, key=str))
        versioned = self._versioned(providers)
        for relation in plan.relations:
            name = query_relations.table_name(relation.name)
            via = tuple(query_relations.table_name(view) for view in relation.via)
            if relation.kind == "view":
                text = self._views[relation.name].fingerprint_text
                yield analyzer.Source(name, analyzer.SourceKind.VIEW, via, text)
            elif relation.kind == "table":
                provider = providers.get(name, "")
                format_ = versioned.get(name)
                kind = (
                    analyzer.SourceKind.UNVERSIONED
                    if format_ is None
                    else analyzer.SourceKind.VERSIONED
                )
                yield analyzer.Source(name, kind, via, format=provider)
        for function in self._functions.values():
            yield analyzer.Source(
                function.name, analyzer.SourceKind.FUNCTION, (), function.definition
            )
        yield from self._unnamed(plan)

    def _versioned(self, providers: Mapping[TableName, str]) -> dict[TableName, TableFormat]:
        """Return the formats of the tables whose versions say what the query reads of them.

        A branch or a tag, to which a query may refer, moves without a new version of the table.
        """
        relations = self._inspection.plan.relations
        moving = {query_relations.table_name(r.name) for r in relations if r.moves}
        found = {name: FORMATS.of(provider) for name, provider in providers.items()}
        return {
            name: format_
            for name, format_ in found.items()
            if format_ is not None
            and name not in moving
            and objects.keeps_versions(self._spark, name, format_)
        }

    def views(self) -> tuple[analyzer.ViewQuery, ...]:
        """Return every view that the query reads, also through other views."""
        return tuple(
            analyzer.ViewQuery(
                query_relations.table_name(name),
                view.text,
                view.context.catalog,
                view.context.schema,
                view.columns,
                view.output,
                view.context.confs,
            )
            for name, view in self._views.items()
        )

    def gap(self) -> str:
        """Return why the text of a view does not account for what it reads; empty if all do."""
        plan = self._inspection.plan
        gaps = (
            (
                view.name,
                query_relations.match_names(view.text, plan, (*r.via, r.name), view.context).gap,
            )
            for r in plan.relations
            if (view := self._views.get(r.name)) is not None
        )
        return next((f"in the view {name}, {gap}" for name, gap in gaps if gap), "")

    def nondeterministic(self) -> tuple[str, ...]:
        """Return functions whose value differs for the same rows, of the query and its objects."""
        names = [n for use in self._uses for n in use.nondeterministic if self._is_called(n, use)]
        names += [str(f.name) for f in self._functions.values() if not f.is_deterministic]
        return tuple(dict.fromkeys(names))

    def time_dependent(self) -> tuple[str, ...]:
        """Return functions with one value per execution, of the query and its objects."""
        names = (n for use in self._uses for n in use.time_dependent if self._is_called(n, use))
        return tuple(dict.fromkeys(names))

    def _is_called(self, name: str, use: FunctionUse) -> bool:
        """Whether a name without parentheses is a function and not a column, by the plan."""
        if name not in use.bare:
            return True
        plan = self._inspection.plan
        printed = ("current_user(", "session_user(") if name in RANDOM else (f"{name}(",)
        return any(p in plan.text for p in printed) or (plan.truncated and name not in RANDOM)

    def _read(self, text: str, catalog: str, schema: str) -> None:
        """Take the functions of a text, and those that these call in turn."""
        use = functions_of(text)
        self._uses.append(use)
        for call in use.calls:
            if len(call) > 3 or _is_builtin(self._spark, call):
                continue
            name = TableName.of(*call).within(catalog, schema)
            if name in self._functions or (len(call) > 1 and call[-2].lower() in _SYSTEM_SCHEMAS):
                continue
            found = objects.describe_function(self._spark, name.parts)
            if found is not None and found.name not in self._functions and not found.is_temporary:
                self._functions[found.name] = found
                self._read(found.body, found.name.catalog or catalog, found.name.schema or schema)

    def _unnamed(self, plan: Plan) -> Iterator[analyzer.Source]:
        """Relations without a name in a catalog, such as ``parquet.`/path` ``."""
        if not plan.unnamed:
            return
        matched = {ref for ref, _ in self._inspection.matched}
        paths = [ref for ref in self._inspection.shape.relations if ref not in matched]
        for ref in paths:
            format_ = ref.parts[-2].lower() if len(ref.parts) > 1 else ""
            yield analyzer.Source(
                TableName.of(*ref.parts[-3:]), analyzer.SourceKind.UNVERSIONED, format=format_
            )
        if len(paths) < plan.unnamed:
            yield analyzer.Source(
                TableName("relations without a name"), analyzer.SourceKind.UNVERSIONED
            )


def _is_builtin(spark: SparkSession, call: tuple[str, ...]) -> bool:
    return len(call) == 1 and call[0].lower() in objects.builtin_functions(spark)


class SparkQueryAnalyzer:
    """The `QueryAnalyzer` on Spark.

    Args:
        spark: The user's session, classic or Connect; its current schema, confs and temporary
            objects count. No conf of it is changed and nothing is created in it.
        stand_ins: Views of that session in the place of tables that Spark reads in no query.
        known: The columns of the query's relations, where the caller has read these.
        context: The context of the session, where the caller has set it.
    """

    def __init__(
        self,
        spark: SparkSession,
        stand_ins: StandIns = query_relations.NO_STAND_INS,
        known: tuple[SourceColumns, ...] | None = None,
        context: QueryContext | None = None,
    ) -> None:
        self._spark = spark
        self._context = context
        self._stand_ins = stand_ins
        self._known = known

    def analyze(
        self, query: str, recorded: tuple[SourceColumns, ...] = ()
    ) -> analyzer.AnalyzedQuery:
        """As `QueryAnalyzer.analyze`."""
        context = self._context or context_of(self._spark)
        try:
            return self._analyzed(query, context, recorded)
        except QueryError:
            if self._stand_ins.views:
                raise
            with standing_in(self._spark, query, context) as (session, stand_ins):
                if not stand_ins.views:
                    raise
                nested = SparkQueryAnalyzer(session, stand_ins, self._known, self._context)
                return nested.analyze(query, recorded)

    def is_accepted(self, query: str) -> bool:
        """Whether Spark takes the query now, and it uses no temporary objects.

        For a query that was analysed in the same context. It takes one statement.
        """
        self._refuse_substitutions(query)
        failure = query_relations.failure_at(
            self._spark, query_relations.CREATE_PROBE + without_lookups(query).text
        )
        return failure is not None and failure.is_missing_schema

    def columns(self, query: str) -> tuple[Column, ...]:
        """As `QueryAnalyzer.columns`; relations are not read."""
        with spark_errors.suppress_spark_errors():
            return columns_of(
                query_relations.analysed(self._spark, without_lookups(query).text).schema
            )
        return self.analyze(query).columns  # which names the error

    def _analyzed(
        self, query: str, context: QueryContext, recorded: tuple[SourceColumns, ...]
    ) -> analyzer.AnalyzedQuery:
        lookups = without_lookups(query)
        self._refuse_substitutions(query)
        if variables := naming_variables(query):
            listed = ", ".join(f"the session variable {quote(name)}" for name in variables)
            raise conditions.TEMPORARY_OBJECT(objects=listed)
        inspection = self._inspect(lookups.text, context)
        if not self._stand_ins.views:  # whose session has no temporary objects but these
            self._refuse_temporary(inspection)
        objects = QueryObjects(self._spark, inspection, context)
        expanded, schema, gap = self._expanded(inspection, context)
        gap = gap or objects.gap()
        columns = self._known
        if columns is None:
            columns, text = self._source_columns(inspection, expanded, context, recorded)
            schema = schema if text == expanded else self._schema(text, context)
        views = objects.views()
        return analyzer.AnalyzedQuery(
            query=query,
            expanded=expanded,
            columns=columns_of(schema),
            sources=tuple(_distinct(objects.sources())),
            context=context,
            pinnable=not gap,
            unpinned=gap,
            nondeterministic=objects.nondeterministic(),
            time_dependent=objects.time_dependent(),
            streaming=inspection.plan.streaming,
            lookups=tuple(
                TableName.of(*name[-3:]).within(context.catalog, context.schema)
                for name in lookups.lookups
            ),
            views=views,
            source_columns=columns,
            more_columns=self._more_columns(expanded, context, columns, views),
        )

    def _source_columns(
        self,
        inspection: query_relations.Inspection,
        expanded: str,
        context: QueryContext,
        recorded: tuple[SourceColumns, ...],
    ) -> tuple[tuple[SourceColumns, ...], str]:
        """Return the columns of the relations, recorded ones first, and the query over these."""
        views = {str(each.name): each.view for each in self._stand_ins.views}
        relations = direct_relations(inspection, context)
        places = {name: views.get(name, sql) for name, sql in relations.items()}
        known, names = source_columns.recorded_fields(recorded), Names.of(context)
        found, selections = [], {}
        for name, now in current_columns(self._spark, places).items():
            wanted = source_columns.merged(
                known.get(name.lower(), ()), source_columns.field_names(now), names
            )
            found.append(SourceColumns(name, wanted))
            if (items := source_columns.selection(now, wanted, names)) is not None:
                selections[name.lower()] = items
        try:
            return tuple(found), source_columns.bind(expanded, context, selections)
        except source_columns.UnboundColumnsError as error:
            raise refused_columns(str(error), ()) from error

    def _more_columns(
        self,
        expanded: str,
        context: QueryContext,
        known: tuple[SourceColumns, ...],
        views: tuple[analyzer.ViewQuery, ...],
    ) -> tuple[SourceColumns, ...]:
        """Return the columns of relations of views, and of relations at a version of the user's."""
        tree = operator_tree(expanded, context, sources=known, views=views)
        places = relations_to_list(tree)
        found = current_columns(self._spark, places)
        return tuple(
            SourceColumns(name, source_columns.field_names(columns))
            for name, columns in found.items()
        )

    def _inspect(self, text: str, context: QueryContext) -> query_relations.Inspection:
        try:
            with spark_errors.unlogged():
                found = query_relations.inspect(self._spark, text, context, self._stand_ins)
        except Exception as error:
            if not spark_errors.is_spark_error(error):
                raise
            failure = spark_errors.failure_of(error)
            if not failure.is_syntax_error:
                self._schema(text, context)
            raise query_error(failure, text, len(query_relations.EXPLAIN_PROBE)) from error
        if found is not None:
            return found
        self._schema(text, context)
        raise conditions.QUERY_ERROR(
            place="", engine_condition="NO_PLAN", message="Spark shows no plan of it."
        )

    def _schema(self, text: str, context: QueryContext) -> StructType:
        try:
            with spark_errors.unlogged():
                return query_relations.analysed(
                    self._spark, self._stand_ins.inserted(text, context)
                ).schema
        except Exception as error:
            if spark_errors.is_spark_error(error):
                raise query_error(
                    spark_errors.failure_of(error), text, query_relations.AS_SUBQUERY_OFFSET
                ) from error
            raise

    def _expanded(
        self, inspection: query_relations.Inspection, context: QueryContext
    ) -> tuple[str, StructType, str]:
        """Return the query with full names, its result, and why not all names could be made full.

        If Spark does not take the query with full names, the text stays: the stored context gives
        the names their meaning. A column may be qualified in a way that only fits a short name.
        """
        text = inspection.rewritten(lambda _, name: name.sql)
        try:
            with spark_errors.unlogged():
                schema = query_relations.analysed(
                    self._spark, self._stand_ins.inserted(text, context)
                ).schema
        except Exception as error:
            if not spark_errors.is_spark_error(error):
                raise
            why = "Spark does not take it with the full names of its tables"
            return inspection.text, self._schema(inspection.text, context), why
        return text, schema, inspection.gap

    def _refuse_substitutions(self, query: str) -> None:
        """Refuse `${key}`, which Spark replaces by this session's value before it parses."""
        found = dict.fromkeys(_SUBSTITUTION.findall(query))
        if not found or str(self._spark.conf.get(_SUBSTITUTES, "true")).lower() != "true":
            return
        known = [
            key
            for key in found
            if key.startswith(_SUBSTITUTED_PREFIXES) or self._spark.conf.get(key, None) is not None
        ]
        if known:
            raise conditions.TEMPORARY_OBJECT(
                objects=", ".join(f"the substitution ${{{key}}}" for key in known)
            )

    def _refuse_temporary(self, inspection: query_relations.Inspection) -> None:
        failure = query_relations.failure_at(
            self._spark, query_relations.CREATE_PROBE + inspection.text
        )
        if failure is None or not failure.is_temporary_object:
            return
        named = {(failure.parameter("tempObj"), failure.parameter("tempObjName")): None}
        for relation in inspection.plan.relations:
            if len(relation.name) == 1 or relation.name[0].lower() == "global_temp":
                named["VIEW", TableName.of(*relation.name).sql] = None
        for match in _VARIABLE.finditer(inspection.plan.text):
            named["VARIABLE", TableName.of(*parts_of(match["name"])).sql] = None
        builtin = objects.builtin_functions(self._spark)
        for call in functions_of(inspection.text).calls:
            function = objects.describe_function(self._spark, call) if len(call) <= 3 else None
            if function is not None and function.is_temporary and call[-1].lower() not in builtin:
                named["FUNCTION", function.name.sql] = None
        listed = [f"{_KINDS.get(kind, kind.lower())} {name}" for kind, name in named]
        raise conditions.TEMPORARY_OBJECT(objects=", ".join(listed))


def query_error(failure: SparkFailure, query: str, offset: int) -> QueryError | OutageError:
    """Return the error of a query that Spark refused, or whose tables it could not look up.

    Args:
        failure: What Spark reported of a statement that contains `query`.
        query: The query.
        offset: How many characters of the statement come before the query. The last of them is
            the only line end.
    """
    if (found := outage(failure, "a table that the query reads")) is not None:
        return found
    line, column = _place(failure, query, offset)
    return conditions.QUERY_ERROR(
        place=f" at line {line}, column {column}" if line else "",
        engine_condition=failure.condition,
        sql_state=failure.sql_state,
        message=failure.message,
        line=line or "",
        column=column or "",
    )


def _place(failure: SparkFailure, query: str, offset: int) -> tuple[int, int]:
    """Return line and column in the query, both from 1; zeros where unknown or outside."""
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


def _distinct(sources: Iterable[analyzer.Source]) -> Iterator[analyzer.Source]:
    """Yield each source once, the direct one where there is one."""
    found: dict[TableName, analyzer.Source] = {}
    for source in sources:
        if source.name not in found or (found[source.name].via and not source.via):
            found[source.name] = source
    yield from found.values()
