"""Hypothesis strategies for every node of the statement language."""

from __future__ import annotations

from datetime import timezone

from hypothesis import strategies as st

from dbt.adapters.spark_mt.definition.columns import (
    Check,
    ColumnSpec,
    PrimaryKey,
    TableName,
    quote,
    quote_text,
)
from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition
from dbt.adapters.spark_mt.definition.freshness import LONGEST_SECONDS, Freshness, TimeUnit
from dbt.adapters.spark_mt.definition.modes import (
    IntervalUnit,
    LogicalRefreshMode,
    StartInterval,
    StartMode,
    StartModeType,
    StateRetention,
    StateRetentionType,
)
from dbt.adapters.spark_mt.statements import nodes

NASTY = "`'\"\\;-/*+(){}#%_$ \t\r\n\x00\u2028é😀aZ9"
texts = st.text(max_size=12) | st.text(alphabet=NASTY, max_size=12)
names = st.text(min_size=1, max_size=8) | st.text(alphabet=NASTY, min_size=1, max_size=8)
name_lists = st.lists(names, min_size=1, max_size=3, unique=True).map(tuple)
table_names = st.lists(names, min_size=1, max_size=3).map(lambda parts: TableName.of(*parts))
options = st.lists(
    st.tuples(texts, texts), min_size=1, max_size=3, unique_by=lambda pair: pair[0]
).map(tuple)
maybe_options = st.just(()) | options

comments = st.sampled_from(("", '-- it\'s; a "comment"\n', "/* one /* two */ ; ' */ ", "\n\t"))
literals = texts.map(quote_text)
expressions = st.recursive(
    literals | names.map(quote) | st.sampled_from(("1", "2L", ".5", "1e-3", "x.y", "current_date")),
    lambda inner: (
        st.builds(
            "{}{} {} {}".format,
            comments,
            inner,
            st.sampled_from(("+", "<=>", "LIKE", "/*c*/ AND")),
            inner,
        )
        | inner.map("({})".format)
        | inner.map("CASE WHEN true THEN {} END".format)
    ),
    max_leaves=4,
).map(str.strip)
queries = st.builds(
    "{}{} {} AS {} FROM {}{}".format,
    comments,
    st.sampled_from(("SELECT", "WITH c AS (SELECT 1) SELECT", "select /*+ BROADCAST(t) */")),
    expressions,
    names.map(quote),
    table_names.map(lambda name: name.sql),
    st.sampled_from(("", " -- the end", "\n/* ; */", " ORDER BY 1 LIMIT 2", "\r\nGROUP BY ALL")),
).map(str.strip)
types = st.recursive(
    st.sampled_from(
        ("INT", "decimal(10, 2)", "STRING COLLATE UTF8_LCASE", "INTERVAL DAY TO SECOND")
    ),
    lambda inner: (
        inner.map("ARRAY<{}>".format)
        | inner.map("map< string , {} >".format)
        | st.builds("STRUCT<{}: {} NOT NULL COMMENT {}>".format, names.map(quote), inner, literals)
    ),
    max_leaves=3,
)

bare_columns = name_lists.map(lambda listed: tuple(ColumnSpec(name) for name in listed))
typed_columns = st.lists(
    st.builds(ColumnSpec, names, types, st.booleans(), st.none() | texts),
    min_size=1,
    max_size=4,
    unique_by=lambda column: column.name,
).map(tuple)
# The parser keeps a condition from its first to its last word.
conditions = st.builds("{} = {}".format, names.map(quote), expressions)
checks = st.builds(Check, conditions, st.none() | names)
keys = st.builds(PrimaryKey, name_lists, st.none() | names)
constraints = st.tuples(
    st.lists(checks, max_size=2), st.lists(keys, max_size=1), st.lists(checks, max_size=1)
).map(lambda parts: tuple(constraint for part in parts for constraint in part))

freshness = st.sampled_from(TimeUnit).flatmap(
    lambda unit: st.builds(Freshness, st.integers(1, LONGEST_SECONDS // unit.value), st.just(unit))
)
intervals = st.builds(StartInterval, st.integers(1, 10**9), st.sampled_from(IntervalUnit))
_kinds = {
    base: tuple(kind for kind in StartModeType if kind.fallback is base)
    for base in (StartModeType.FROM_BEGINNING, StartModeType.FROM_NOW, StartModeType.FROM_TIMESTAMP)
}
start_modes = (
    st.builds(StartMode, st.sampled_from(_kinds[StartModeType.FROM_BEGINNING]))
    | st.builds(StartMode, st.sampled_from(_kinds[StartModeType.FROM_NOW]), st.none() | intervals)
    | st.builds(StartMode, st.sampled_from(_kinds[StartModeType.FROM_TIMESTAMP]), timestamp=texts)
)
state_retentions = st.builds(StateRetention, st.sampled_from(StateRetentionType)) | st.builds(
    StateRetention, st.just(StateRetentionType.PTF_ONLY), st.lists(texts, max_size=3).map(tuple)
)
layouts = st.sampled_from(("partitioned_by", "clustered_by")).flatmap(
    lambda field: name_lists.map(lambda listed: {field: listed})
)


@st.composite
def declared_definitions(draw: st.DrawFn) -> DeclaredDefinition:
    return DeclaredDefinition(
        query=draw(queries),
        columns=draw(st.just(()) | bare_columns | typed_columns),
        constraints=draw(constraints),
        comment=draw(st.none() | texts),
        options=draw(maybe_options),
        freshness=draw(st.none() | freshness),
        refresh_mode=draw(st.none() | st.sampled_from(LogicalRefreshMode)),
        start_mode=draw(st.none() | start_modes),
        state_retention=draw(st.none() | state_retentions),
        **draw(st.just({}) | layouts),
    )


creates = st.builds(
    nodes.CreateTable,
    st.sampled_from((nodes.CreateForm.CREATE_OR_ALTER, nodes.CreateForm.CREATE_OR_REPLACE)),
    table_names,
    declared_definitions(),
) | st.builds(
    nodes.CreateTable,
    st.just(nodes.CreateForm.CREATE),
    table_names,
    declared_definitions(),
    st.booleans(),
)
alter_queries = st.builds(
    nodes.AlterQuery,
    table_names,
    st.builds(
        DeclaredDefinition,
        queries,
        start_mode=st.none() | start_modes,
        state_retention=st.none() | state_retentions,
    ),
    maybe_options,
)
partition_literals = (
    literals
    | st.integers().map(str)
    | st.sampled_from(("true", "FALSE", "-1.5", "+ 2L", ".5", "-.5e3", "'a''b'", "r'\\d'"))
    | st.builds("{} {}".format, st.sampled_from(("DATE", "timestamp", "TIMESTAMP_NTZ")), literals)
)
partitions = st.lists(
    st.builds(nodes.PartitionValue, names, st.none() | partition_literals),
    max_size=3,
    unique_by=lambda value: value.column,
).map(tuple)

by_node = {
    nodes.CreateTable: creates,
    nodes.Adopt: st.builds(nodes.Adopt, table_names, declared_definitions(), st.booleans())
    | st.builds(
        nodes.Adopt,
        table_names,
        declared_definitions(),
        as_of=st.datetimes(timezones=st.none() | st.just(timezone.utc)),
    ),
    nodes.Release: st.builds(nodes.Release, table_names),
    nodes.CheckTable: st.builds(nodes.CheckTable, table_names, st.sampled_from(nodes.CheckKind))
    | st.builds(
        nodes.CheckTable, table_names, st.just(nodes.CheckKind.FRESHNESS), st.none() | freshness
    ),
    nodes.Suspend: st.builds(nodes.Suspend, table_names),
    nodes.Resume: st.builds(nodes.Resume, table_names, maybe_options),
    nodes.Refresh: st.builds(nodes.Refresh, table_names, partitions),
    nodes.SetClause: st.builds(
        nodes.SetClause, table_names, st.just("freshness"), st.none() | freshness
    )
    | st.builds(
        nodes.SetClause, table_names, st.just("refresh_mode"), st.sampled_from(LogicalRefreshMode)
    )
    | st.builds(nodes.SetClause, table_names, st.just("comment"), texts),
    nodes.SetOptions: st.builds(nodes.SetOptions, table_names, options),
    nodes.ResetOptions: st.builds(
        nodes.ResetOptions,
        table_names,
        st.lists(texts, min_size=1, max_size=3, unique=True).map(tuple),
    ),
    nodes.AlterQuery: alter_queries,
    nodes.AddQuery: st.builds(nodes.AddQuery, table_names, queries),
    nodes.DropTable: st.builds(nodes.DropTable, table_names, st.booleans()),
    nodes.ShowTables: st.builds(nodes.ShowTables, st.lists(names, max_size=2).map(tuple))
    | st.builds(nodes.ShowTables, st.lists(names, max_size=2).map(tuple), texts, st.booleans()),
    nodes.ShowCreate: st.builds(nodes.ShowCreate, table_names, st.booleans()),
    nodes.DescribeTable: st.builds(nodes.DescribeTable, table_names, st.booleans()),
    nodes.DescribeJob: st.builds(nodes.DescribeJob, texts),
    nodes.ShowJobs: st.just(nodes.ShowJobs()),
    nodes.Explain: st.builds(nodes.Explain, creates | alter_queries),
}
statements = st.one_of(*by_node.values())
