"""Confs of a session by the size of what it reads, over a fake session."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.positions import (
    DefinitionPosition,
    UnknownPosition,
    VersionedPosition,
)
from dbt.adapters.spark_mt.execution.table_format import InstalledTables
from dbt.adapters.spark_mt.planning.steps import ApplyChanges
from dbt.adapters.spark_mt.query.analyzer import Source, SourceKind
from dbt.adapters.spark_mt.spark.delta.tables import DeltaTables
from dbt.adapters.spark_mt.spark.session.input_size import (
    interpret_if_small,
    may_interpret,
    plan_at_once,
    size_of,
    sizes_of,
    total_of,
)
from dbt.adapters.spark_mt.spark.session.private_session import PrivateSession
from dbt.adapters.spark_mt.spark.streams.batches import batch_session
from dbt.adapters.spark_mt.spark.tables.writer import ContentWriter
from dbt.adapters.spark_mt.strategies.strategy import Write
from tests.support.refs import delta_at

MODE = "spark.sql.codegen.factoryMode"
ADAPTIVE, PARTITIONS = "spark.sql.adaptive.enabled", "spark.sql.shuffle.partitions"


class Conf(dict):
    """Confs of a session."""

    def set(self, key, value):
        self[key] = value


class Session:
    """A session whose relations have sizes."""

    def __init__(self, mode="FALLBACK", **sizes):
        self.conf, self.sizes, self.asked = Conf({MODE: mode, PARTITIONS: "200"}), sizes, []
        self.sparkContext = SimpleNamespace(defaultParallelism=2)

    def sql(self, statement):
        name = statement.removeprefix("EXPLAIN COST SELECT * FROM ")
        self.asked.append(name)
        plan = f"Relation {name}, Statistics(sizeInBytes={self.sizes[name]})"
        return SimpleNamespace(collect=lambda: [(plan,)])


def writing(session, sizes=None):
    """A writer of rows over tables whose logs have sizes, in files and bytes, or have none."""
    log = SimpleNamespace(
        newest=lambda _: 9, size=lambda where, version: (sizes or {}).get((where.handle, version))
    )
    details = SimpleNamespace(table=lambda name: delta_at(f"/{name.name}", name))
    return ContentWriter(session, None, InstalledTables(DeltaTables(log)), details, None)


@pytest.mark.parametrize(
    ("plan", "size"),
    [
        ("Relation t[a#1] parquet, Statistics(sizeInBytes=12.5 MiB)", 12.5 * 1024**2),
        ("Project, Statistics(sizeInBytes=512.0 B, rowCount=3)\n+- sizeInBytes=9.0 B", 512.0),
        ("Statistics(sizeInBytes=8.0 EiB)", 8.0 * 1024**6),
        ("no costs", None),
    ],
)
def test_sizes_are_those_of_the_plan(plan, size):
    assert size_of(plan) == size


@pytest.mark.parametrize(
    ("sizes", "mode"),
    [
        ({"a": "1.5 MiB"}, "NO_CODEGEN"),
        ({"a": "1.5 MiB", "b": "512.0 KiB"}, "NO_CODEGEN"),
        ({"a": "1.5 MiB", "b": "513.0 KiB"}, "FALLBACK"),
        ({"a": "1.0 GiB"}, "FALLBACK"),
        ({"a": "1.0 B", "b": "unknown"}, "FALLBACK"),
        ({}, "NO_CODEGEN"),
    ],
)
def test_projections_are_interpreted_where_all_is_small(sizes, mode):
    session = Session(**sizes)
    interpret_if_small(session, sizes_of(session, sizes))
    assert session.conf[MODE] == mode
    assert session.asked == list(sizes)


def test_a_mode_of_the_user_stays():
    assert may_interpret(Session())
    assert not may_interpret(Session("CODEGEN_ONLY"))
    assert not may_interpret(Session("NO_CODEGEN"))


def test_a_session_compiles_again_when_its_next_input_is_large():
    session = Session(a="1.0 B", b="1.0 GiB")
    for relation, mode in (("a", "NO_CODEGEN"), ("b", "FALLBACK"), ("a", "NO_CODEGEN")):
        interpret_if_small(session, sizes_of(session, [relation]))
        assert session.conf[MODE] == mode


@pytest.mark.parametrize(
    ("sizes", "total"), [((1.0, 2.0), 3.0), ((1.0, None), None), ((), 0), ((0.0,), 0)]
)
def test_a_total_is_that_of_known_sizes(sizes, total):
    assert total_of(sizes) == total


@pytest.mark.parametrize(
    ("others", "mode"),
    [
        ({}, "NO_CODEGEN"),
        ({"v": DefinitionPosition("text")}, "NO_CODEGEN"),
        ({"files": UnknownPosition()}, "FALLBACK"),
    ],
)
def test_a_refresh_over_anything_of_unknown_size_is_compiled(others, mode):
    positions = {"c.s.t": VersionedPosition(7, "id"), **{f"c.s.{n}": p for n, p in others.items()}}
    names = [TableName.of(*name.split(".")) for name in positions]
    sources = [Source(name, SourceKind.VERSIONED) for name in names]
    session = Session(**{"`c`.`s`.`t` VERSION AS OF 7": "3.0 KiB"})
    run = SimpleNamespace(sources=sources, positions=positions)
    for chosen in ("FALLBACK", "CODEGEN_ONLY"):
        session.conf[MODE] = chosen
        step = SimpleNamespace(run=run, definition=SimpleNamespace(run_options=()))
        writing(session)._configure(PrivateSession(session), step)
        assert session.conf[MODE] == (mode if chosen == "FALLBACK" else chosen)


@pytest.mark.parametrize(
    ("write", "own", "mode"),
    [
        (Write.CHANGE, "1.0 GiB", "FALLBACK"),
        (Write.KEYS, "1.0 GiB", "FALLBACK"),
        (Write.CHANGE, "1.0 MiB", "NO_CODEGEN"),
        (Write.ADD, "1.0 GiB", "NO_CODEGEN"),
    ],
)
def test_a_change_of_rows_reads_the_table_too(write, own, mode):
    source = Source(TableName.of("c", "s", "t"), SourceKind.VERSIONED)
    session = Session(**{"`c`.`s`.`t` VERSION AS OF 7": "3.0 KiB", "`c`.`s`.`own`": own})
    choice = SimpleNamespace(write=write)
    run = SimpleNamespace(
        sources=[source], positions={"c.s.t": VersionedPosition(7, "id")}, choice=choice
    )
    name = TableName.of("c", "s", "own")
    definition = SimpleNamespace(run_options=(), name=name)
    writing(session)._configure(PrivateSession(session), ApplyChanges(definition, 2, run, ()))
    assert session.conf[MODE] == mode
    planned = (session.conf.get(ADAPTIVE), session.conf[PARTITIONS])
    assert planned == (("false", "2") if mode == "NO_CODEGEN" else (None, "200"))


@pytest.mark.parametrize(
    ("size", "own", "mode"),
    [(3_000, 3_000, "NO_CODEGEN"), (3_000_000, 3_000, "FALLBACK"), (3_000, 3_000_000, "FALLBACK")],
)
def test_a_size_that_the_log_says_is_not_planned(size, own, mode):
    source = Source(TableName.of("c", "s", "t"), SourceKind.VERSIONED)
    session = Session()
    choice = SimpleNamespace(write=Write.CHANGE)
    run = SimpleNamespace(
        sources=[source], positions={"c.s.t": VersionedPosition(7, "id")}, choice=choice
    )
    definition = SimpleNamespace(run_options=(), name=TableName.of("c", "s", "own"))
    step = ApplyChanges(definition, 2, run, (), version=5)
    by_log = writing(session, {("/t", 7): (1, size), ("/own", 5): (1, own)})
    by_log._configure(PrivateSession(session), step)
    assert (session.conf[MODE], session.asked) == (mode, [])


@pytest.mark.parametrize(("before", "cores", "after"), [("1", 2, "1"), ("200", 64, "64")])
def test_a_small_statement_has_at_most_a_partition_for_each_core(before, cores, after):
    session = Session()
    session.conf[PARTITIONS], session.sparkContext.defaultParallelism = before, cores
    plan_at_once(session)
    assert (session.conf[ADAPTIVE], session.conf[PARTITIONS]) == ("false", after)


@pytest.mark.parametrize(
    ("interprets", "own", "sizes", "mode"),
    [
        (True, None, {"batch": "1.0 KiB"}, "NO_CODEGEN"),
        (True, None, {"batch": "1.0 GiB"}, "FALLBACK"),
        (True, "1.0 GiB", {"batch": "1.0 KiB"}, "FALLBACK"),
        (True, "1.0 KiB", {"batch": "1.0 KiB"}, "NO_CODEGEN"),
        (False, None, {}, "CODEGEN_ONLY"),
    ],
)
def test_a_batch_is_small_with_the_table_that_it_is_merged_into(interprets, own, sizes, mode):
    session = Session("FALLBACK" if interprets else "CODEGEN_ONLY", **sizes)
    table = TableName.of("c", "s", "own") if own else None
    if own:
        session.sizes["`c`.`s`.`own`"] = own
    views = []
    frame = SimpleNamespace(sparkSession=session, createOrReplaceTempView=views.append)
    context = SimpleNamespace(interprets=interprets)
    assert batch_session(frame, "batch", context, table).spark is session
    assert (views, session.conf[MODE]) == (["batch"], mode)
