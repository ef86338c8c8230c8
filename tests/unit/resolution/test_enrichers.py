"""The four user journeys of FLIP-551, and enrichers of one's own."""

import sys
from dataclasses import replace
from datetime import timedelta
from importlib.metadata import EntryPoint
from types import ModuleType

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition
from dbt.adapters.spark_mt.definition.errors import UnknownEnricherError
from dbt.adapters.spark_mt.definition.freshness import Freshness, TimeUnit
from dbt.adapters.spark_mt.definition.modes import (
    FROM_BEGINNING,
    LogicalRefreshMode,
    RefreshMode,
    StartMode,
    StartModeType,
    StateRetention,
    StateRetentionType,
)
from dbt.adapters.spark_mt.resolution import enrichers
from dbt.adapters.spark_mt.resolution.enrichers import (
    ENRICHERS,
    EnrichmentContext,
    EnrichmentResult,
    enrich,
    load_enricher,
)
from dbt.adapters.spark_mt.resolution.settings import Settings
from tests.support.errors import raises
from tests.unit.builders import NOW, QUERY, Engine, analyzed, stored, table_source

CONTINUOUS, FULL = RefreshMode.CONTINUOUS, RefreshMode.FULL
RESUME = StartMode(StartModeType.RESUME_OR_FROM_BEGINNING)


def declared(**clauses):
    return DeclaredDefinition(QUERY, **clauses)


def ask(definition, *, settings=None, engine=None, sources=()):
    settings = settings or Settings()
    context = EnrichmentContext(settings, sources, engine or Engine(), None, NOW, NOW.tzinfo)
    return enrich(definition, context, "t")


def test_journey_1_a_new_user_gets_three_minutes_and_a_continuous_refresh():
    result = ask(declared())
    assert result == EnrichmentResult(Freshness.parse("3 minutes"), CONTINUOUS, FROM_BEGINNING)


def test_journey_2_an_explicit_hour_is_refreshed_in_full():
    result = ask(declared(freshness=Freshness.parse("1 hour")))
    assert result == EnrichmentResult(Freshness.parse("1 hour"), FULL, FROM_BEGINNING)


def test_journey_3_a_removed_freshness_goes_back_to_the_default():
    engine = Engine().knows(analyzed(QUERY, "a INT"))
    before = stored(engine.resolve(declared(freshness=Freshness.parse("1 hour"))).definition)
    assert before.resolved.refresh_mode is FULL
    after = engine.resolve(declared(), before).definition
    assert (after.freshness, after.refresh_mode) == (Freshness.parse("3 minutes"), CONTINUOUS)


def test_journey_4_full_without_freshness_gets_an_hour():
    result = ask(declared(refresh_mode=LogicalRefreshMode.FULL))
    assert result == EnrichmentResult(Freshness.parse("1 hour"), FULL, FROM_BEGINNING)


@pytest.mark.parametrize(
    ("freshness", "mode"),
    [
        ("29 minutes", CONTINUOUS),
        ("30 minutes", FULL),
        ("1800 seconds", FULL),
        ("1799 s", CONTINUOUS),
    ],
)
@pytest.mark.parametrize("logical", [None, LogicalRefreshMode.AUTOMATIC])
def test_only_a_freshness_strictly_below_the_threshold_is_continuous(freshness, mode, logical):
    result = ask(declared(freshness=Freshness.parse(freshness), refresh_mode=logical))
    assert result.refresh_mode is mode


@pytest.mark.parametrize(
    ("logical", "freshness", "mode"),
    [
        (LogicalRefreshMode.CONTINUOUS, "1 day", CONTINUOUS),
        (LogicalRefreshMode.FULL, "1 minute", FULL),
    ],
)
def test_an_explicit_mode_wins_over_the_threshold(logical, freshness, mode):
    result = ask(declared(freshness=Freshness.parse(freshness), refresh_mode=logical))
    assert (result.freshness, result.refresh_mode) == (Freshness.parse(freshness), mode)


def test_settings_replace_threshold_and_defaults():
    settings = Settings(
        freshness_threshold=timedelta(seconds=60),
        default_freshness_continuous=Freshness.parse("2 minutes"),
        default_freshness_full=Freshness.parse("1 day"),
        default_start_mode=RESUME,
    )
    assert ask(declared(), settings=settings) == EnrichmentResult(
        Freshness.parse("2 minutes"), FULL, RESUME
    )
    full = ask(declared(refresh_mode=LogicalRefreshMode.FULL), settings=settings)
    assert full.freshness == Freshness.parse("1 day")


@pytest.mark.parametrize(
    ("retention", "start"),
    [
        (StateRetentionType.ALL, RESUME),
        (StateRetentionType.PTF_ONLY, RESUME),
        (StateRetentionType.NONE, FROM_BEGINNING),
    ],
)
def test_keeping_state_means_continuing(retention, start):
    assert ask(declared(state_retention=StateRetention(retention))).start_mode == start
    explicit = declared(state_retention=StateRetention(retention), start_mode=FROM_BEGINNING)
    assert ask(explicit).start_mode == FROM_BEGINNING


def upstream():
    queries = {name: analyzed(f"SELECT 1 AS {name}", f"{name} INT") for name in ("fast", "slow")}
    engine = Engine().knows(*queries.values())
    engine.create(
        "fast", DeclaredDefinition(queries["fast"].query, freshness=Freshness.parse("5 min"))
    )
    engine.create(
        "slow", DeclaredDefinition(queries["slow"].query, freshness=Freshness.parse("2 h"))
    )
    engine.looked_up.clear()
    return engine


UPSTREAM = Settings(enricher="upstream-freshness")


@pytest.mark.parametrize(
    ("sources", "freshness", "mode"),
    [
        (("fast",), "5 min", CONTINUOUS),
        (("fast", "slow", "orders"), "2 h", FULL),
        (("orders",), "3 min", CONTINUOUS),
        ((), "3 min", CONTINUOUS),
    ],
)
def test_freshness_is_inherited_from_the_slowest_materialized_source(sources, freshness, mode):
    found = tuple(table_source(name) for name in sources)
    result = ask(declared(), settings=UPSTREAM, engine=upstream(), sources=found)
    assert (result.freshness, result.refresh_mode) == (Freshness.parse(freshness), mode)


def test_an_explicit_freshness_is_not_inherited():
    explicit = declared(freshness=Freshness.parse("1 min"))
    sources = (table_source("slow"),)
    result = ask(explicit, settings=UPSTREAM, engine=upstream(), sources=sources)
    assert result.freshness == Freshness.parse("1 min")


def test_the_default_enricher_looks_nothing_up():
    engine = upstream()
    ask(declared(), engine=engine, sources=(table_source("slow"),))
    assert engine.looked_up == []


class Weekly:
    """An enricher of one's own."""

    def enrich(self, _definition, _context):
        return EnrichmentResult(Freshness.parse("1 week"), FULL, RESUME)


class Silent:
    def enrich(self, _definition, _context):
        return None


class Incomplete:
    def enrich(self, definition, context):
        return replace(Weekly().enrich(definition, context), refresh_mode=None)


class Endless:
    def enrich(self, definition, context):
        freshness = Freshness(10**12, TimeUnit.DAY)
        return replace(Weekly().enrich(definition, context), freshness=freshness)


class Failing:
    def enrich(self, _definition, _context):
        raise LookupError


class Unbuildable:
    def __init__(self):
        raise OSError

    def enrich(self, _definition, _context):
        raise NotImplementedError


@pytest.fixture
def my_enrichers(monkeypatch):
    module = ModuleType("my_enrichers")
    for enricher in (Weekly, Silent, Incomplete, Endless, Failing, Unbuildable):
        setattr(module, enricher.__name__, enricher)
    module.NUMBER = 1
    monkeypatch.setitem(sys.modules, "my_enrichers", module)
    points = [EntryPoint("weekly", "my_enrichers:Weekly", enrichers.ENTRY_POINT_GROUP)]
    monkeypatch.setattr(
        enrichers, "entry_points", lambda group: points if group == "dbt_spark_mt.enrichers" else []
    )


@pytest.mark.parametrize("spec", ["my_enrichers:Weekly", "weekly"])
@pytest.mark.usefixtures("my_enrichers")
def test_an_enricher_is_found_by_class_and_by_entry_point(spec):
    result = ask(declared(), settings=Settings(enricher=spec))
    assert result == EnrichmentResult(Freshness.parse("1 week"), FULL, RESUME)


@pytest.mark.usefixtures("my_enrichers")
def test_explicit_values_are_put_over_the_answer_of_any_enricher():
    explicit = declared(
        freshness=Freshness.parse("1 min"),
        refresh_mode=LogicalRefreshMode.CONTINUOUS,
        start_mode=FROM_BEGINNING,
    )
    result = ask(explicit, settings=Settings(enricher="weekly"))
    assert result == EnrichmentResult(Freshness.parse("1 min"), CONTINUOUS, FROM_BEGINNING)


@pytest.mark.parametrize("name", ["Silent", "Incomplete", "Failing"])
@pytest.mark.usefixtures("my_enrichers")
def test_an_enricher_without_an_answer_is_named(name):
    with raises(conditions.ENRICHER_FAILED) as caught:
        ask(declared(), settings=Settings(enricher=f"my_enrichers:{name}"))
    assert caught.value.parameters["enricher"] == f"my_enrichers:{name}"
    assert caught.value.parameters["table"] == "t"


@pytest.mark.parametrize(
    "spec",
    [
        "no_such_module:Enricher",
        "my_enrichers:Missing",
        "my_enrichers:NUMBER",
        "my_enrichers:Unbuildable",
        "defalt",
        ":",
    ],
)
@pytest.mark.usefixtures("my_enrichers")
def test_an_enricher_that_cannot_be_loaded_is_named(spec):
    with pytest.raises(UnknownEnricherError) as caught:
        load_enricher(spec)
    assert caught.value.parameters["enricher"] == spec


@pytest.mark.parametrize("name", list(ENRICHERS))
def test_the_enrichers_that_ship_are_explained(name):
    assert ENRICHERS[name].__doc__
    assert type(load_enricher(name)) is ENRICHERS[name]


@pytest.mark.usefixtures("my_enrichers")
def test_an_enricher_may_not_choose_a_freshness_that_no_statement_takes():
    with raises(conditions.ENRICHER_FAILED) as caught:
        ask(declared(), settings=Settings(enricher="my_enrichers:Endless"))
    assert "2147483647 seconds" in caught.value.parameters["problem"]
    stored = declared(freshness=Freshness(10**12, TimeUnit.DAY))
    assert ask(stored).freshness == stored.freshness
