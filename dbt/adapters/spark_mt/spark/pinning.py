"""Writes a query so that it reads every Delta source as of one recorded version.

`VERSION AS OF` goes behind each name, by offset. Persistent views on the way are inlined as
temporary views of the private session, made where and under the confs with which the view was
made, with the columns that the view has today. Where that does not work, the caller compares the
versions before and after instead (design 5).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.identifier import quote
from dbt.adapters.spark_mt.spark.catalog_objects import describe_view, providers_of
from dbt.adapters.spark_mt.spark.confs import enter_context
from dbt.adapters.spark_mt.spark.errors import failure_of, is_spark_error
from dbt.adapters.spark_mt.spark.inspection import analysed, inspect
from dbt.adapters.spark_mt.spark.stand_ins import NO_STAND_INS
from dbt.adapters.spark_mt.spark.types import ddl_type

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.definition import QueryContext
    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.resolution.query_text import RelationRef
    from dbt.adapters.spark_mt.spark.catalog_objects import ViewDefinition
    from dbt.adapters.spark_mt.spark.inspection import Inspection
    from dbt.adapters.spark_mt.spark.stand_ins import StandIns

_ANY_AGE = "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration"
_INLINED = "__materialized_table_view_"


@dataclass(frozen=True, slots=True)
class Pins:
    """What stands for the sources of a query.

    Args:
        versions: The version to read of each Delta source, by full name; also of those behind
            views.
        replaced: The temporary view to read in the place of a source, by full name.
        label: Tells the temporary views of this query from those of others in the same session.
        streams: Whether the query may read streams; what stands for these are streams then.
        stand_ins: What stands for sources while the query itself is analysed.
    """

    versions: Mapping[str, int]
    replaced: Mapping[str, str] = field(default_factory=dict)
    label: str = ""
    streams: bool = False
    stand_ins: StandIns = NO_STAND_INS


@dataclass(frozen=True, slots=True)
class PinnedQuery:
    """A query at fixed versions.

    Args:
        text: The text to run in the session that pinned it; None if the query cannot be pinned.
        reason: Why not; empty otherwise.
    """

    text: str | None
    reason: str = ""


class _NotPinnableError(Exception):
    """Some relation cannot be read as of a version; the message says which and why."""


def pin_query(private: SparkSession, query: str, context: QueryContext, pins: Pins) -> PinnedQuery:
    """Pin a query to versions of its Delta sources.

    Args:
        private: A session of the caller's own: its current schema and confs become the context's,
            and temporary views named `__materialized_table_view_<n>` are made in it. The text has
            its meaning only there.
        query: A query, best the expanded one.
        context: Where and under which confs it was analysed.
        pins: What to read in the place of each source.

    Raises:
        pyspark.errors.PySparkException: The context's schema is gone.
    """
    private.conf.set(_ANY_AGE, "false")
    enter_context(private, context)
    try:
        text = _Pinner(private, pins).pinned(query, context)
        enter_context(private, context)
        return _checked(private, pins.stand_ins.inserted(query, context), text)
    except _NotPinnableError as no:
        reason = str(no)
    except Exception as error:
        if not is_spark_error(error):
            raise
        reason = failure_of(error).message
    enter_context(private, context)
    return PinnedQuery(None, reason)


def _checked(private: SparkSession, query: str, text: str) -> PinnedQuery:
    """The pinned query must give the very same columns."""
    pinned, plain = analysed(private, text).schema, analysed(private, query).schema
    same = [(f.name, f.dataType) for f in pinned] == [(f.name, f.dataType) for f in plain]
    return PinnedQuery(text) if same else PinnedQuery(None, "its columns were others at that time")


class _Pinner:
    def __init__(self, private: SparkSession, pins: Pins) -> None:
        self._spark = private
        self._versions = {name.lower(): version for name, version in pins.versions.items()}
        self._replaced = {name.lower(): view for name, view in pins.replaced.items()}
        self._label = pins.label
        self._streams = pins.streams
        self._stand_ins = pins.stand_ins
        self._inlined: dict[TableName, str] = {}

    def pinned(self, text: str, context: QueryContext) -> str:
        """Pin one text in its own context; leaves the session in some context."""
        enter_context(self._spark, context)
        inspection = inspect(self._spark, text, context, self._stand_ins)
        if inspection is None:
            raise _NotPinnableError("Spark shows no plan of it")  # noqa: TRY003, EM101
        gap = inspection.hidden if self._streams else inspection.gap
        if gap:
            raise _NotPinnableError(gap)
        self._refuse_unknown(inspection)
        views = {r.name for r in inspection.plan.relations if r.kind == "view" and not r.via}
        for _, name in inspection.matched:
            if name.parts in views and name not in self._inlined:
                self._inlined[name] = self._inline(describe_view(self._spark, name))
        return inspection.rewritten(self._place, self._alias)

    def _refuse_unknown(self, inspection: Inspection) -> None:
        """A Delta table without a given version would be read at another time than the rest."""
        read = {n for ref, n in inspection.matched if not ref.pinned}
        tables = {r.name for r in inspection.plan.relations if r.kind == "table" and not r.via}
        unknown = [n for n in read if n.parts in tables and str(n).lower() not in self._versions]
        for name, provider in providers_of(self._spark, unknown).items():
            if provider == "delta":
                raise _NotPinnableError(f"no version of {name} is given")  # noqa: TRY003, EM102

    def _place(self, ref: RelationRef, name: TableName) -> str:
        view = self._view(ref, name)
        if view is not None:
            return view
        version = self._versions.get(str(name).lower())
        return name.sql if ref.pinned or version is None else f"{name.sql} VERSION AS OF {version}"

    def _alias(self, ref: RelationRef, name: TableName) -> str:
        """The query's columns may be qualified by the name of what a view stands for."""
        if self._view(ref, name) is None or ref.aliased:
            return ""
        if ref.sampled:
            raise _NotPinnableError(f"the view {name} is sampled without an alias")  # noqa: TRY003, EM102
        return f" AS {quote(name.name)}"

    def _view(self, ref: RelationRef, name: TableName) -> str | None:
        """The temporary view that stands for a relation; None where it stands for itself."""
        return (
            None if ref.pinned else self._inlined.get(name) or self._replaced.get(str(name).lower())
        )

    def _inline(self, view: ViewDefinition) -> str:
        """Make a temporary view with the content of `view` at the versions, and return its name."""
        schema = self._spark.table(view.name.sql).schema
        body = self.pinned(view.text, view.context)
        enter_context(self._spark, view.context)
        by_name = len(view.output) == len(set(view.output)) == len(schema.fields)
        inner = view.output if by_name else [f"c{i}" for i in range(len(schema.fields))]
        columns = ",\n".join(
            f"CAST({quote(source)} AS {ddl_type(field.dataType)}) AS {quote(field.name)}"
            for source, field in zip(inner, schema.fields, strict=True)
        )
        alias = "_" if by_name else f"_({', '.join(inner)})"
        name = f"{_INLINED}{self._label}{len(self._inlined)}"
        self._spark.sql(
            f"CREATE OR REPLACE TEMPORARY VIEW {name} AS\n"
            f"SELECT {columns}\nFROM (\n{body}\n) AS {alias}"
        )
        return name
