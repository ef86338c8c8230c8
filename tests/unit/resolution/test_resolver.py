from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from dbt.adapters.spark_mt.definition.columns import Check, PrimaryKey, TableName
from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition
from dbt.adapters.spark_mt.definition.errors import InvalidDefinitionError, MaterializedTableError
from dbt.adapters.spark_mt.definition.freshness import Freshness
from dbt.adapters.spark_mt.definition.modes import (
    FROM_BEGINNING,
    IntervalUnit,
    LogicalRefreshMode,
    RefreshMode,
    StartInterval,
    StartMode,
    StartModeType,
    StateRetention,
    StateRetentionType,
)
from dbt.adapters.spark_mt.query.analyzer import Source, SourceKind
from dbt.adapters.spark_mt.resolution.resolver import Resolver
from dbt.adapters.spark_mt.resolution.settings import Settings
from dbt.adapters.spark_mt.spark.formats.delta import FORMAT
from dbt.adapters.spark_mt.strategies.checks import StrategyChecks
from dbt.adapters.spark_mt.strategies.choice import choose
from tests.support.errors import raises
from tests.unit.builders import (
    NOW,
    QUERY,
    QUERY_COLUMNS,
    TABLE,
    UNKNOWN_QUERY,
    Engine,
    analyzed,
    columns,
    conditions_of,
    context,
    stored,
    table_source,
)

FULL = LogicalRefreshMode.FULL
HIGH_VALUE = TABLE.name


def declared(**clauses):
    return DeclaredDefinition(QUERY, **clauses)


def engine(*sources, **facts):
    return Engine().knows(analyzed(QUERY, QUERY_COLUMNS, *sources, **facts))


def refused(definition, **facts):
    with pytest.raises(MaterializedTableError) as caught:
        engine(**facts).resolve(definition)
    return conditions_of(caught.value)


def test_nothing_is_left_open():
    resolution = engine().resolve(declared())
    definition = resolution.definition
    assert definition.declared == declared()
    assert definition.columns == columns(QUERY_COLUMNS)
    assert definition.expanded_query == resolution.analyzed.expanded
    assert definition.context == context()
    assert definition.freshness == Freshness.parse("3 minutes")
    assert definition.refresh_mode is RefreshMode.CONTINUOUS
    assert definition.start_mode.mode == FROM_BEGINNING
    assert definition.state_retention == StateRetention(StateRetentionType.NONE)
    assert definition.query_columns == ("user_id", "product_id", "price")
    assert dict(definition.derived_from) == {
        "default-freshness.continuous": "3 minutes",
        "default-start-mode": "FROM_BEGINNING",
        "enricher": "default",
        "refresh-mode.freshness-threshold": "30 minutes",
    }
    assert resolution.warnings == ()


def test_only_settings_that_took_part_are_remembered():
    explicit = declared(
        freshness=Freshness.parse("1 day"), refresh_mode=FULL, start_mode=FROM_BEGINNING
    )
    assert engine().resolve(explicit).definition.derived_from == (("enricher", "default"),)
    full = engine().resolve(declared(refresh_mode=FULL)).definition
    assert dict(full.derived_from)["default-freshness.full"] == "1 hour"


def test_an_error_of_the_query_is_the_engine_s():
    with raises(UNKNOWN_QUERY):
        engine().resolve(DeclaredDefinition("SELECT nothing"))


@pytest.mark.parametrize(
    ("clauses", "condition"),
    [
        ({"constraints": (PrimaryKey(("id",)),)}, "MATERIALIZED_TABLE_PRIMARY_KEY_COLUMN"),
        ({"constraints": (PrimaryKey(("price", "PRICE")),)}, "MATERIALIZED_TABLE_REPEATED_COLUMN"),
        ({"partitioned_by": ("ds",)}, "MATERIALIZED_TABLE_PARTITION_COLUMN"),
        ({"clustered_by": ("ds",)}, "MATERIALIZED_TABLE_CLUSTER_COLUMN"),
        (
            {"partitioned_by": ("price", "product_id", "USER_ID")},
            "MATERIALIZED_TABLE_ONLY_PARTITION_COLUMNS",
        ),
        ({"options": (("materialized-table.x", ""),)}, "MATERIALIZED_TABLE_RESERVED_OPTION"),
    ],
)
def test_keys_partitioning_and_options_are_checked_against_the_columns(clauses, condition):
    assert refused(declared(**clauses)) == [condition]


def test_a_missing_partition_column_has_the_message_of_flink():
    with pytest.raises(InvalidDefinitionError) as caught:
        engine().resolve(declared(partitioned_by=("ds",)))
    assert (
        "Partition column 'ds' not defined in the query's schema. "
        "Available columns: ['user_id', 'product_id', 'price']."
    ) in str(caught.value)


def test_keys_and_constraints_that_fit_are_kept():
    constraints = (PrimaryKey(("User_Id",), "pk"), Check("price > 0"))
    clauses = {"constraints": constraints, "partitioned_by": ("PRODUCT_ID",)}
    assert engine().resolve(declared(**clauses)).definition.declared.constraints == constraints


def test_all_violations_come_at_once():
    wrong = declared(
        partitioned_by=("ds",),
        constraints=(PrimaryKey(("id",)),),
        options=(("schema.type-widening", "perhaps"),),
        start_mode=StartMode(StartModeType.FROM_TIMESTAMP, timestamp="2999-01-01"),
    )
    with pytest.raises(InvalidDefinitionError) as caught:
        engine(table_source(HIGH_VALUE), nondeterministic=("rand",)).resolve(wrong)
    assert conditions_of(caught.value) == [
        "MATERIALIZED_TABLE_READS_ITSELF",
        "MATERIALIZED_TABLE_START_IN_THE_FUTURE",
        "MATERIALIZED_TABLE_PRIMARY_KEY_COLUMN",
        "MATERIALIZED_TABLE_PARTITION_COLUMN",
        "MATERIALIZED_TABLE_INVALID_OPTION",
        "MATERIALIZED_TABLE_NONDETERMINISTIC_QUERY",
    ]
    assert len(caught.value.violations) == 6
    assert caught.value.parameters["table"] == str(TABLE)


def test_nondeterministic_functions_need_full_mode():
    with pytest.raises(MaterializedTableError) as caught:
        engine(nondeterministic=("rand", "uuid")).resolve(declared())
    assert caught.value.condition == "MATERIALIZED_TABLE_NONDETERMINISTIC_QUERY"
    assert caught.value.parameters["functions"] == "rand(), uuid()"
    (warning,) = engine(nondeterministic=("rand",)).resolve(declared(refresh_mode=FULL)).warnings
    assert "rand()" in warning


@pytest.mark.parametrize("mode", [None, FULL])
def test_time_dependent_functions_are_allowed_with_a_warning(mode):
    resolution = engine(time_dependent=("current_date",)).resolve(declared(refresh_mode=mode))
    assert ["current_date()" in warning for warning in resolution.warnings] == [True]


@pytest.mark.parametrize("clauses", [{"refresh_mode": FULL}, {"freshness": Freshness.parse("1 d")}])
def test_a_stream_cannot_be_refreshed_in_full(clauses):
    assert refused(declared(**clauses), streaming=True) == [
        "MATERIALIZED_TABLE_STREAM_IN_FULL_MODE"
    ]


STREAMED = QUERY.replace("FROM ", "FROM STREAM ")
HAVING = "SELECT user_id, count(*) AS n FROM STREAM orders GROUP BY user_id HAVING count(*) > 1"


def streaming(query=STREAMED, *sources, ddl=QUERY_COLUMNS, **clauses):
    """Resolve a definition with a query that reads a STREAM."""
    known = analyzed(query, ddl, *sources, streaming=True)
    return Engine().knows(known).resolve(DeclaredDefinition(query, **clauses))


def no_stream(query=STREAMED, *sources, **clauses):
    """Why there is none."""
    with pytest.raises(MaterializedTableError) as caught:
        streaming(query, *sources, **clauses)
    return caught.value


def test_a_query_over_a_stream_is_run_as_one_or_refused():
    found = streaming()
    assert choose(found.definition, found.analyzed).name == "stream/append"
    over = STREAMED.replace("price FROM", "row_number() OVER (ORDER BY price) AS price FROM")
    for refused_query in (over, f"{STREAMED} FOR", QUERY):
        assert conditions_of(no_stream(refused_query)) == ["MATERIALIZED_TABLE_STREAM_QUERY"]


def test_every_reason_against_a_stream_is_one_violation():
    having = no_stream(HAVING, ddl="user_id INT; n BIGINT")
    assert having.parameters["code"] == "NO_WATERMARK, FILTER_AFTER_GROUPS"


def test_watermarks_of_a_query_over_a_stream_are_in_the_query():
    options = (("watermark", "ts DELAY OF 1 minute"),)
    assert conditions_of(no_stream(options=options)) == [
        "MATERIALIZED_TABLE_WATERMARK_IN_STREAM_QUERY"
    ]


def watermarked(text, **types):
    """What is wrong with a watermark over `orders`, whose column `ts` has the type `types`."""
    found = engine()
    name = "`spark_catalog`.`sales`.`orders`"
    for column, type_ in types.items():
        found.knows(analyzed(f"SELECT `{column}` FROM {name}", f"{column} {type_}"))
    with pytest.raises(MaterializedTableError) as caught:
        found.resolve(declared(options=(("watermark", text),)))
    return conditions_of(caught.value)


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("day DELAY OF 1 minute", "WATERMARK_COLUMN"),
        ("sales.payments: ts DELAY OF 1 minute", "WATERMARK_SOURCE"),
        ("ts DELAY OF 1 minute; orders: ts DELAY OF 2 minutes", "REPEATED_WATERMARK"),
        ("ts DELAY OF 0 seconds", "INVALID_OPTION"),
        ("ts DELAY OF soon", "INVALID_OPTION"),
        ("ts", "INVALID_OPTION"),
    ],
)
def test_a_watermark_that_fits_no_source_is_refused(text, condition):
    assert watermarked(text, ts="TIMESTAMP", day="DATE") == [f"MATERIALIZED_TABLE_{condition}"]


def test_a_watermark_without_effect_is_a_warning():
    found = engine()
    found.knows(analyzed("SELECT `ts` FROM `spark_catalog`.`sales`.`orders`", "ts TIMESTAMP"))
    for mode in (None, FULL):
        wanted = declared(options=(("watermark", "ts DELAY OF 1 minute"),), refresh_mode=mode)
        (warning,) = found.resolve(wanted).warnings
        assert "watermark" in warning


def test_a_stream_starts_at_an_instant_where_its_sources_have_positions():
    files, log = (
        Source(table_source("orders").name, SourceKind.UNVERSIONED, format=name)
        for name in ("parquet", "kafka")
    )
    assert conditions_of(no_stream(STREAMED, files, start_mode=NOW_MODE)) == [
        "MATERIALIZED_TABLE_UNSUPPORTED_START_MODE"
    ]
    found = streaming(STREAMED, log, start_mode=NOW_MODE)
    assert choose(found.definition, found.analyzed).is_stream


NOW_MODE = StartMode(StartModeType.FROM_NOW)
STAMP = StartMode(StartModeType.RESUME_OR_FROM_TIMESTAMP, timestamp="2025-10-28 12:00:00")


@pytest.mark.parametrize("mode", [NOW_MODE, STAMP])
def test_a_start_other_than_the_beginning_needs_sources_with_versions(mode):
    condition = "MATERIALIZED_TABLE_UNSUPPORTED_START_MODE"
    assert refused(declared(start_mode=mode), pinnable=False) == [condition]
    assert engine().resolve(declared(start_mode=mode)).definition.start_mode.instant_ms


@pytest.mark.parametrize("form", ["FROM_BEGINNING", "RESUME_OR_FROM_BEGINNING"])
def test_a_new_table_may_start_at_the_beginning(form):
    mode = StartMode(StartModeType[form])
    assert engine().resolve(declared(start_mode=mode)).definition.start_mode.mode == mode


@pytest.mark.parametrize("mode", [NOW_MODE, STAMP])
def test_a_start_is_stored_in_full_mode_with_its_instant_and_a_warning(mode):
    resolution = engine().resolve(declared(start_mode=mode, refresh_mode=FULL))
    assert resolution.definition.start_mode.mode == mode
    assert resolution.definition.start_mode.instant_ms is not None
    assert len(resolution.warnings) == 1


def test_the_differ_decides_on_the_start_of_an_existing_table():
    before = stored(engine().resolve(declared()).definition)
    assert engine().resolve(declared(start_mode=STAMP), before).definition.start_mode.mode == STAMP


def test_an_unchanged_start_keeps_its_instant_at_a_later_time():
    week = StartMode(StartModeType.FROM_NOW, interval=StartInterval(7, IntervalUnit.DAY))
    definition = declared(start_mode=week, refresh_mode=FULL)
    before = stored(engine().resolve(definition).definition)
    later = engine().resolve(definition, before, now=NOW + timedelta(days=1)).definition
    assert later.start_mode == before.resolved.start_mode
    again = engine().resolve(definition, None, now=NOW + timedelta(days=1)).definition
    assert again.start_mode.instant_ms == before.resolved.start_mode.instant_ms + 86_400_000


def test_a_literal_is_read_in_the_session_s_zone():
    mode = StartMode(StartModeType.FROM_TIMESTAMP, timestamp="2025-07-01 12:00:00")
    session = context(timeZone="Europe/Berlin")
    resolution = engine(context=session).resolve(declared(start_mode=mode, refresh_mode=FULL))
    expected = datetime(2025, 7, 1, 10, tzinfo=timezone.utc).timestamp() * 1000
    assert resolution.definition.start_mode.instant_ms == expected


def test_state_retention_on_a_new_table_has_no_effect_and_a_warning():
    clauses = {"state_retention": StateRetention(StateRetentionType.ALL)}
    resolution = engine().resolve(declared(**clauses))
    assert len(resolution.warnings) == 1
    before = stored(resolution.definition)
    assert engine().resolve(declared(**clauses), before).warnings == ()


# reading itself


def path(definition, *, on, before=None):
    with pytest.raises(MaterializedTableError) as caught:
        on.resolve(definition, before)
    assert caught.value.condition == "MATERIALIZED_TABLE_READS_ITSELF"
    return [step.rsplit(".", 1)[-1] for step in caught.value.parameters["path"].split(" -> ")]


def test_a_query_may_not_read_its_own_table():
    assert path(declared(), on=engine(table_source(HIGH_VALUE.upper()))) == [
        HIGH_VALUE,
        HIGH_VALUE.upper(),
    ]


def test_a_short_name_is_a_table_of_the_session_s_schema():
    analyzer = engine(table_source("t"))
    resolver = Resolver(
        analyzer, analyzer, Settings(), lambda: NOW, StrategyChecks(), lambda _: FORMAT
    )
    with pytest.raises(MaterializedTableError) as caught:
        resolver.resolve(TableName("T"), declared(), None)
    assert caught.value.condition == "MATERIALIZED_TABLE_READS_ITSELF"


def test_a_table_of_the_same_name_elsewhere_is_another_table():
    other = Source(TableName(HIGH_VALUE, "archive", "spark_catalog"), SourceKind.VERSIONED)
    assert engine(other).resolve(declared()).definition


def test_a_query_may_not_read_its_own_table_through_views():
    on = engine(table_source(HIGH_VALUE, "outer_view", "inner_view"))
    assert path(declared(), on=on) == [HIGH_VALUE, "outer_view", "inner_view", HIGH_VALUE]


def chain():
    """`high_value_orders` reads `middle`, which reads `first`, which reads `high_value_orders`."""
    queries = {
        "first": analyzed("SELECT first", "a INT", table_source(HIGH_VALUE, "a_view")),
        "middle": analyzed("SELECT middle", "a INT", table_source("first")),
    }
    on = engine(table_source("middle")).knows(*queries.values())
    for name, query in queries.items():
        on.create(name, DeclaredDefinition(query.query))
    return on


def test_a_query_may_not_read_its_own_table_through_other_materialized_tables():
    assert path(declared(), on=chain()) == [HIGH_VALUE, "middle", "first", "a_view", HIGH_VALUE]


def test_upstream_tables_are_searched_for_new_queries_only():
    on = chain()
    before = stored(engine(table_source("middle")).resolve(declared()).definition)
    on.looked_up.clear()
    assert on.resolve(declared(), before).definition
    assert on.looked_up == []
    other = replace(before, resolved=replace(before.resolved, expanded_query="SELECT other"))
    assert path(declared(), on=on, before=other)


def test_materialized_tables_that_read_each_other_do_not_trap_the_search():
    queries = {
        "one": analyzed("SELECT one", "a INT", table_source("two")),
        "two": analyzed("SELECT two", "a INT", table_source("one")),
    }
    on = engine(table_source("one"))
    for name, query in queries.items():
        alone = Engine().knows(analyzed(query.query, "a INT"))
        on.tables[name] = stored(alone.resolve(DeclaredDefinition(query.query)).definition)
    assert on.knows(*queries.values()).resolve(declared()).definition


def test_a_source_that_no_longer_analyses_leads_nowhere():
    on = chain()
    del on.queries[on.tables["first"].resolved.expanded_query]
    assert on.resolve(declared()).definition
