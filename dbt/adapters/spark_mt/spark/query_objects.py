"""Views and functions behind a query, and what follows from all their texts together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.identifier import TableName
from dbt.adapters.spark_mt.resolution.analysis import Source, SourceKind, ViewQuery
from dbt.adapters.spark_mt.resolution.query_functions import RANDOM, functions_of
from dbt.adapters.spark_mt.spark.catalog_objects import (
    builtin_functions,
    describe_function,
    describe_view,
    providers_of,
)
from dbt.adapters.spark_mt.spark.inspection import match_names, table_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.definition import QueryContext
    from dbt.adapters.spark_mt.resolution.query_functions import FunctionUse
    from dbt.adapters.spark_mt.spark.catalog_objects import FunctionDefinition
    from dbt.adapters.spark_mt.spark.inspection import Inspection
    from dbt.adapters.spark_mt.spark.plan import Plan

_SYSTEM_SCHEMAS = frozenset({"builtin", "session", "system"})
_DELTA = "delta"


class QueryObjects:
    """Views and functions behind a query, and what follows from all their texts together."""

    def __init__(
        self,
        spark: SparkSession,
        inspection: Inspection,
        context: QueryContext,
    ) -> None:
        self._spark = spark
        self._inspection = inspection
        self._views = {
            relation.name: describe_view(spark, table_name(relation.name))
            for relation in inspection.plan.relations
            if relation.kind == "view"
        }
        self._functions: dict[TableName, FunctionDefinition] = {}
        self._uses: list[FunctionUse] = []
        self._read(inspection.text, context.catalog, context.schema)
        for view in self._views.values():
            self._read(view.text, view.context.catalog, view.context.schema)

    def sources(self) -> Iterator[Source]:
        """Every source, as often as the plan shows it."""
        plan = self._inspection.plan
        tables = {table_name(r.name) for r in plan.relations if r.kind == "table"}
        providers = providers_of(self._spark, sorted(tables, key=str))
        for relation in plan.relations:
            name = table_name(relation.name)
            via = tuple(table_name(view) for view in relation.via)
            if relation.kind == "view":
                text = self._views[relation.name].fingerprint_text
                yield Source(name, SourceKind.VIEW, via, text)
            elif relation.kind == "table":
                provider = providers.get(name, "")
                kind = SourceKind.VERSIONED if provider == _DELTA else SourceKind.UNVERSIONED
                yield Source(name, kind, via, format=provider)
        for function in self._functions.values():
            yield Source(function.name, SourceKind.FUNCTION, (), function.definition)
        yield from self._unnamed(plan)

    def views(self) -> tuple[ViewQuery, ...]:
        """Every view behind the query."""
        return tuple(
            ViewQuery(table_name(name), view.text, view.context.catalog, view.context.schema)
            for name, view in self._views.items()
        )

    def all_readable(self) -> bool:
        """Whether the texts of all views account for what they read."""
        plan = self._inspection.plan
        return not any(
            match_names(view.text, plan, (*relation.via, relation.name), view.context).gap
            for relation in plan.relations
            if (view := self._views.get(relation.name)) is not None
        )

    def nondeterministic(self) -> tuple[str, ...]:
        """Functions whose value differs for the same rows, in the query or behind it."""
        names = [n for use in self._uses for n in use.nondeterministic if self._is_called(n, use)]
        names += [str(f.name) for f in self._functions.values() if not f.is_deterministic]
        return tuple(dict.fromkeys(names))

    def time_dependent(self) -> tuple[str, ...]:
        """Functions with one value per execution, in the query or behind it."""
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
            found = describe_function(self._spark, name.parts)
            if found is not None and found.name not in self._functions and not found.is_temporary:
                self._functions[found.name] = found
                self._read(found.body, found.name.catalog or catalog, found.name.schema or schema)

    def _unnamed(self, plan: Plan) -> Iterator[Source]:
        """Relations without a name in a catalog, such as ``parquet.`/path` ``."""
        if not plan.unnamed:
            return
        matched = {ref for ref, _ in self._inspection.matched}
        paths = [ref for ref in self._inspection.shape.relations if ref not in matched]
        for ref in paths:
            format_ = ref.parts[-2].lower() if len(ref.parts) > 1 else ""
            yield Source(TableName.of(*ref.parts[-3:]), SourceKind.UNVERSIONED, format=format_)
        if len(paths) < plan.unnamed:
            yield Source(TableName("relations without a name"), SourceKind.UNVERSIONED)


def _is_builtin(spark: SparkSession, call: tuple[str, ...]) -> bool:
    return len(call) == 1 and call[0].lower() in builtin_functions(spark)
