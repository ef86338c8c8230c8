"""Relations of a query: names in its text, relations in Spark's plan, catalog objects.

Spark fails on `STREAM k` over a table of Kafka, whose connector takes no schema from the catalog.
It also fails on any query over a table of generated rows. It analyses the same query over a view of
the stream that the source's own reader makes. So the query that Spark gets has the view's name in
the place of the table's. The plan that Spark prints gets the table's name back.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING
from uuid import uuid4

from dbt.adapters.spark_mt.definition.columns import QueryContext, TableName, quote, quote_text
from dbt.adapters.spark_mt.execution.errors import SourceNotFoundError
from dbt.adapters.spark_mt.query.confs import semantic_confs
from dbt.adapters.spark_mt.query.text import QueryShape, replace_at, shape_of
from dbt.adapters.spark_mt.spark.query.plan import Plan, parts_of, read_plan
from dbt.adapters.spark_mt.spark.session.errors import failure_of, is_spark_error, unlogged
from dbt.adapters.spark_mt.spark.session.private_session import set_for_now

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from dbt.adapters.spark_mt.query.text import RelationRef
    from dbt.adapters.spark_mt.spark.query.plan import Parts
    from dbt.adapters.spark_mt.spark.session.errors import SparkFailure

    Options = Mapping[str, str]


_BUILTIN: dict[str, frozenset[str]] = {}
_PROVIDER = re.compile(r"^Provider: (.*)$", re.MULTILINE)
_NO_FUNCTION = frozenset({"UNRESOLVED_ROUTINE", "ROUTINE_NOT_FOUND", "SCHEMA_NOT_FOUND"})
_NOT_FUNCTIONS = _NO_FUNCTION | {"PARSE_SYNTAX_ERROR", "FORBIDDEN_OPERATION"}
_FIELD = re.compile(r"(?P<key>[A-Z][A-Za-z ]*):\s+(?P<value>.*)", re.DOTALL)


VIEW_TYPES = "\n\0"
"""Separates the definition of a view from the types of its columns, in what defines it."""


@dataclass(frozen=True, slots=True)
class ViewDefinition:
    """A persistent view.

    Args:
        text: Its query, as in its CREATE VIEW.
        context: Catalog, schema and confs under which Spark analyses that query.
        output: The names that the query's own columns had at creation, in the view's order.
        columns: The names of its columns.
        types: The types of its columns, to which Spark casts what its query returns later.
    """

    name: TableName
    text: str
    context: QueryContext
    output: tuple[str, ...]
    columns: tuple[str, ...] = ()
    types: str = ""

    @property
    def fingerprint_text(self) -> str:
        """All that changes the view's content besides its sources' content, the types last."""
        confs = [f"{key}={value}" for key, value in self.context.confs]
        where = f"{self.context.catalog}.{self.context.schema}"
        definition = "\n".join((where, *confs, *self.output, self.text))
        return f"{definition}{VIEW_TYPES}{self.types}"


@dataclass(frozen=True, slots=True)
class FunctionDefinition:
    """A persistent or temporary function; `definition` is everything Spark says about it."""

    name: TableName
    body: str
    definition: str
    is_deterministic: bool

    @property
    def is_temporary(self) -> bool:
        """Whether it belongs to the session; persistent ones have a catalog and a schema."""
        return self.name.schema is None


def describe_view(spark: SparkSession, name: TableName) -> ViewDefinition:
    """Read a view's definition.

    Raises:
        pyspark.errors.PySparkException: There is no such view.
    """
    row = spark.sql(f"DESCRIBE TABLE EXTENDED {name.sql} AS JSON").collect()[0]
    facts = json.loads(row[0])
    own_place = f"{quote(name.catalog or '')}.{quote(name.schema or '')}"
    catalog, *schema = parts_of(facts.get("view_catalog_and_namespace") or own_place)
    confs = semantic_confs(facts.get("view_creation_spark_configuration") or {})
    return ViewDefinition(
        name=name,
        text=facts["view_text"],
        context=QueryContext(catalog, ".".join(schema), confs),
        output=tuple(facts.get("view_query_output_columns") or ()),
        columns=tuple(column["name"] for column in facts.get("columns") or ()),
        types=json.dumps([column.get("type") for column in facts.get("columns") or ()]),
    )


def describe_function(spark: SparkSession, parts: tuple[str, ...]) -> FunctionDefinition | None:
    """Read a function's definition; None where the catalog has none of this name."""
    name = ".".join(quote(part) for part in parts)
    try:
        with unlogged():
            rows = spark.sql(f"DESCRIBE FUNCTION EXTENDED {name}").collect()
    except Exception as error:
        if is_spark_error(error) and _is_no_function(failure_of(error)):
            return None
        raise
    facts = {}
    for row in rows:
        if (field := _FIELD.fullmatch(row[0])) is not None:
            facts[field["key"]] = field["value"]
    full = parts_of(facts.get("Function", ""))
    if not 1 <= len(full) <= 3:
        return None
    unstable = ("Configs:", "Create Time:", " ")
    return FunctionDefinition(
        name=TableName.of(*full),
        body=facts.get("Body", ""),
        definition="\n".join(row[0] for row in rows if not row[0].startswith(unstable)),
        is_deterministic=facts.get("Deterministic", "true") != "false",
    )


def providers_of(spark: SparkSession, names: Iterable[TableName]) -> dict[TableName, str]:
    """Return the format of each table in lower case; one statement per schema, no table is opened.

    A path (``parquet.`/a/b` ``) has its format as its schema. Tables that are not listed are left
    out.
    """
    found: dict[TableName, str] = {}
    schemas: dict[tuple[str, str], list[TableName]] = defaultdict(list)
    for name in names:
        if "/" in name.name:
            found[name] = (name.schema or "").lower()
        else:
            schemas[name.catalog or "", name.schema or ""].append(name)
    for (catalog, schema), tables in schemas.items():
        found |= _listed(spark, f"{quote(catalog)}.{quote(schema)}", tables)
    return found


def _listed(spark: SparkSession, schema: str, tables: list[TableName]) -> dict[TableName, str]:
    """Return the formats of tables of one schema, singly if the catalog cannot list them."""
    pattern = quote_text("|".join(table.name for table in tables))
    try:
        with unlogged():
            rows = spark.sql(f"SHOW TABLE EXTENDED IN {schema} LIKE {pattern}").collect()
    except Exception as error:
        if not is_spark_error(error):
            raise
        return {table: _described(spark, table) for table in tables}
    formats = {row["tableName"].lower(): _provider(row["information"]) for row in rows}
    return {t: formats[t.name.lower()] for t in tables if t.name.lower() in formats}


def _described(spark: SparkSession, table: TableName) -> str:
    rows = spark.sql(f"DESCRIBE TABLE EXTENDED {table.sql}").collect()
    return next((row[1].lower() for row in rows if row[0] == "Provider"), "")


def builtin_functions(spark: SparkSession) -> frozenset[str]:
    """Return the names of Spark's own functions, lower case; asked once per version of Spark."""
    if spark.version not in _BUILTIN:
        rows = spark.sql("SHOW SYSTEM FUNCTIONS").collect()
        _BUILTIN[spark.version] = frozenset(row[0].lower() for row in rows)
    return _BUILTIN[spark.version]


def _provider(information: str) -> str:
    match = _PROVIDER.search(information)
    return match[1].strip().lower() if match else ""


def _is_no_function(failure: SparkFailure) -> bool:
    return failure.is_missing_table or failure.main_condition in _NOT_FUNCTIONS


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


AS_SUBQUERY_OFFSET = len(_AS_SUBQUERY[0])


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


NO_LIMITS: Mapping[str, str] = MappingProxyType({})
"""A batch takes all that is there."""
_OPTION = "option."
_SHOWING_ALL = {
    "spark.sql.legacy.setCommandRejectsSparkCoreConfs": "false",
    "spark.redaction.regex": "(?!)",
    "spark.sql.redaction.options.regex": "(?!)",
}
"""Confs under which Spark shows the values of passwords and addresses, which a source needs."""


def table_options(private: SparkSession, name: TableName) -> dict[str, str]:
    """Return the options of a table's CREATE TABLE … OPTIONS; keys as they were written.

    Args:
        private: A session in which nothing else runs meanwhile. The values are secrets: they belong
            into readers and nowhere else.
        name: The table's full name.

    Raises:
        SourceNotFoundError: It is gone.
    """
    with set_for_now(private, _SHOWING_ALL):
        try:
            with unlogged():
                rows = private.sql(f"SHOW TBLPROPERTIES {name.sql}").collect()
        except Exception as error:
            if not is_spark_error(error):
                raise
            raise SourceNotFoundError(source=name, problem=failure_of(error).message) from error
    return {key[len(_OPTION) :]: value for key, value in rows if key.startswith(_OPTION)}


def without(options: Options, keys: Collection[str]) -> dict[str, str]:
    """Return the options without some, by names without regard to case, as in Spark."""
    dropped = {key.lower() for key in keys}
    return {key: value for key, value in options.items() if key.lower() not in dropped}


def only(options: Options, keys: Collection[str]) -> dict[str, str]:
    """Return some of the options, by names without regard to case, as in Spark."""
    kept = {key.lower() for key in keys}
    return {key: value for key, value in options.items() if key.lower() in kept}


def has_any(options: Options, keys: Collection[str]) -> bool:
    """Whether any of these options is given."""
    return len(without(options, keys)) < len(options)
