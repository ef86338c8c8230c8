"""Analyses of stored queries that are kept, over fake sessions and logs."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import pytest

from dbt.adapters.spark_mt.definition.columns import SourceColumns, TableName
from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition
from dbt.adapters.spark_mt.definition.positions import VersionedPosition
from dbt.adapters.spark_mt.query.analyzer import Source, SourceKind
from dbt.adapters.spark_mt.spark.catalog.table_details import NoTable
from dbt.adapters.spark_mt.spark.query import stored_queries
from dbt.adapters.spark_mt.spark.query.stored_queries import (
    DeclaredQueries,
    KnownQueries,
    SeenTables,
    StoredQueries,
)
from tests.support.refs import delta_at
from tests.unit.builders import QUERY, analyzed, context, resolve

DDL = "k INT; v STRING"
EVENTS = TableName.of("c", "s", "events")


class World:
    """A table with versions, some of which change its columns, and the analyses of its queries."""

    def __init__(self, monkeypatch, kind=SourceKind.VERSIONED):
        self.version, self.location, self.stamps = 3, "/events", {}
        self.described, self.analyses, self.cleaned = set(), [], 0
        self.sources = (Source(EVENTS, kind),)
        self.during = lambda: None
        monkeypatch.setattr(stored_queries, "accepted_text", lambda _, d: self._text(d))
        monkeypatch.setattr(stored_queries, "SparkQueryAnalyzer", self._analyzer)
        sessions = SimpleNamespace(open=self._open)
        self.known = KnownQueries()
        self.history, self.as_of = lambda _: self, lambda _, version: str(version)
        tables = SeenTables(self, self, self.known)
        self.queries = StoredQueries(sessions, dict, tables)
        self.declared = DeclaredQueries(SimpleNamespace(), tables)
        self.context, self.is_accepted = context(), True
        monkeypatch.setattr(stored_queries, "context_of", lambda _: self.context)
        found = resolve(DeclaredDefinition(QUERY), DDL)
        self.definition = replace(found, source_columns=(SourceColumns(str(EVENTS), ()),))

    def analyze(self):
        return self.queries.analyze_stored(self.definition)

    @contextmanager
    def _open(self, context):
        yield SimpleNamespace(spark=context)

    def _text(self, definition):
        text = definition.expanded_query
        return SimpleNamespace(text=text, source_columns=lambda: definition.source_columns)

    def declare(self, query=QUERY):
        return self.declared.analyze(query, self.definition.source_columns)

    def _analyzer(self, session, known=None, context=None):
        if known is None:
            assert context == self.context
        else:
            assert session == context == self.definition.context
            assert known == self.definition.source_columns
        return SimpleNamespace(analyze=self._analyzed, is_accepted=lambda _: self.is_accepted)

    def _analyzed(self, text, _=()):
        self.analyses.append(self.version)
        self.during()
        return analyzed(text, DDL, *self.sources)

    # The log, and the details

    def of(self, name):
        if name != EVENTS or not self.location:
            return NoTable()
        return delta_at(self.location, EVENTS)

    def newest(self, table):
        assert table.handle == self.location
        return self.version

    def stamp(self, table, version):
        there = self.cleaned <= version <= self.version
        return self.stamps.get(version, f"{table.handle}@{version}") if there else ""

    def keeps_columns(self, _, after, upto):
        return not self.described & set(range(after + 1, upto + 1))


@pytest.fixture
def world(monkeypatch):
    return World(monkeypatch)


def test_an_analysis_is_kept_while_rows_change(world):
    first = world.analyze()
    world.version = 9
    assert world.analyze() is first
    assert len(world.analyses) == 1


@pytest.mark.parametrize("version", [4, 7])
def test_a_commit_that_may_change_columns_ends_it(world, version):
    world.analyze()
    world.version, world.described = 7, {version}
    world.analyze()
    assert len(world.analyses) == 2
    world.analyze()
    assert len(world.analyses) == 2


def test_columns_that_change_during_the_analysis_end_it(world):
    def change():
        world.version, world.described = 4, {4}

    world.during = change
    world.analyze()
    world.during = lambda: None
    world.analyze()
    assert len(world.analyses) == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda w: setattr(w, "location", "/another"),
        lambda w: w.stamps.update({3: "another table's commit"}),
        lambda w: setattr(w, "cleaned", 5) or setattr(w, "version", 6),
        lambda w: setattr(w, "location", ""),
    ],
)
def test_another_table_ends_it(world, change):
    world.analyze()
    change(world)
    world.analyze()
    assert len(world.analyses) == 2


@pytest.mark.parametrize("kind", [k for k in SourceKind if k is not SourceKind.VERSIONED])
def test_a_query_over_anything_but_tables_with_versions_is_analysed_each_time(monkeypatch, kind):
    world = World(monkeypatch, kind)
    world.analyze()
    world.analyze()
    assert len(world.analyses) == 2


def test_a_query_over_a_view_is_analysed_each_time(world):
    world.sources += (Source(TableName.of("c", "s", "v"), SourceKind.VIEW),)
    world.analyze()
    world.analyze()
    assert len(world.analyses) == 2


def test_another_definition_has_its_own_analysis(world):
    world.analyze()
    world.definition = replace(world.definition, expanded_query="SELECT 2")
    world.analyze()
    assert len(world.analyses) == 2


def test_the_oldest_of_too_many_is_forgotten(world, monkeypatch):
    monkeypatch.setattr(stored_queries, "_MOST", 2)
    own = world.definition
    for number in range(3):
        world.definition = replace(own, expanded_query=f"SELECT {number}")
        world.analyze()
    world.definition = replace(own, expanded_query="SELECT 0")
    world.analyze()
    assert len(world.analyses) == 4


def text(versions):
    return f"SELECT {versions[str(EVENTS)]}"


def at(version):
    return {str(EVENTS): VersionedPosition(version, "id")}


def test_a_text_over_versions_is_kept_with_the_analysis(world):
    world.queries.keep_text(world.definition, at(3), text)
    assert world.queries.text_at(world.definition, at(3)) is None
    world.analyze()
    assert world.queries.text_at(world.definition, at(3)) is None
    world.queries.keep_text(world.definition, at(3), text)
    world.version = 5
    assert world.queries.text_at(world.definition, at(5)) == "SELECT 5"
    assert world.queries.text_at(world.definition, at(3)) == "SELECT 3"
    assert world.analyze() is world.analyze()
    assert world.queries.text_at(world.definition, at(4)) == "SELECT 4"


@pytest.mark.parametrize("position", [at(2), at(5), {}])
def test_a_text_over_versions_that_may_have_other_columns_is_not_kept(world, position):
    """The refresh of a partition reads the positions of the table, which may be older."""
    world.analyze()
    world.version, world.described = 5, {5}
    world.queries.keep_text(world.definition, position, text)
    assert world.queries.text_at(world.definition, at(3)) is None
    world.queries.keep_text(world.definition, at(4), text)
    assert world.queries.text_at(world.definition, at(3)) == "SELECT 3"


def test_a_text_is_other_table_for_versions_that_may_have_other_columns(world):
    world.analyze()
    world.queries.keep_text(world.definition, at(3), text)
    assert world.queries.text_at(world.definition, at(2)) is None
    world.version, world.described = 5, {5}
    assert world.queries.text_at(world.definition, at(4)) == "SELECT 4"
    assert world.queries.text_at(world.definition, at(5)) is None
    assert world.queries.text_at(world.definition, {}) is None
    world.location = "/another"
    assert world.queries.text_at(world.definition, at(3)) is None
    world.location = "/events"
    world.analyze()
    assert world.queries.text_at(world.definition, at(5)) is None


def test_a_statement_that_is_repeated_is_not_analysed_a_third_time(world):
    world.declare()
    second = world.declare()
    assert len(world.analyses) == 2
    world.version = 9
    assert world.declare() is second
    assert len(world.analyses) == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda w: setattr(w, "is_accepted", False),
        lambda w: setattr(w, "context", replace(w.context, schema="other")),
        lambda w: (setattr(w, "version", 4), setattr(w, "described", {4})),
        lambda w: setattr(w, "location", "/another"),
        lambda w: w.stamps.update({3: "another table's commit"}),
    ],
)
def test_a_query_is_analysed_again_where_its_context_differs(world, change):
    for _ in range(3):
        world.declare()
    change(world)
    world.declare()
    assert len(world.analyses) == 3


def test_it_is_analysed_without_the_columns_of_a_definition(world):
    for _ in range(3):
        world.declared.analyze(QUERY)
    assert len(world.analyses) == 3


def test_columns_that_change_during_its_analysis_end_it(world):
    def change():
        world.version, world.described = 4, {4}

    world.declare()
    world.during = change
    world.declare()
    world.during = lambda: None
    world.declare()
    assert len(world.analyses) == 3
