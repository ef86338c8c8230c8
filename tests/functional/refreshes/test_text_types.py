"""CHAR, VARCHAR and collated STRING, also nested, in every place of a query and of a table."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition.errors import (
    MaterializedTableError,
    RefreshNotIncrementalError,
)
from dbt.adapters.spark_mt.execution.results import RefreshResult
from dbt.adapters.spark_mt.spark.session.types import columns_of
from dbt.adapters.spark_mt.spark.tables import result_changes, writer
from dbt.adapters.spark_mt.strategies import differential
from tests.functional.engine.oracle import outcome, rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import SparkSession

VALUES = {
    "char": "c",
    "varchar": "v",
    "collated": "CAST(n COLLATE UTF8_LCASE AS STRING)",
    "struct": "st",
    "array": "ar",
    "map": "mp",
}
"""A value of each type. No table stores a collation, which queries use."""
KEYS = {**VALUES, "collated": "n COLLATE UTF8_LCASE"}
ROLES = {
    "value": "SELECT id, {value} AS x FROM s WHERE id > 1",
    "group": "SELECT CAST(x AS STRING) AS x, n "
    "FROM (SELECT {key} AS x, count(*) AS n FROM s GROUP BY {key})",
    "key": "SELECT {value} AS x, count(*) AS n, max(id) AS m FROM s GROUP BY {value}",
    "distinct": "SELECT DISTINCT {value} AS x FROM s",
    "extremes": "SELECT id % 2 AS k, max({value}) AS x, min({value}) AS y FROM s GROUP BY id % 2",
    "sort key": "SELECT id, {value} AS x FROM s ORDER BY {key}, id LIMIT 4",
    "top value": "SELECT id, {value} AS x FROM s ORDER BY id DESC LIMIT 4",
    "window": "SELECT id, {value} AS x, count(*) OVER (PARTITION BY {key}) AS n FROM s",
    "join": "SELECT a.id, b.x FROM s a "
    "LEFT JOIN (SELECT id + 1 AS id, {value} AS x FROM s) b ON a.id = b.id",
    "equal": "SELECT a.id, b.id AS other FROM s a JOIN (SELECT id, {key} AS y FROM s) b "
    "ON {outer} = b.y AND a.id < b.id",
    "union": "SELECT {value} AS x FROM s WHERE id > 2 UNION SELECT {value} FROM s WHERE id < 9",
    "partition": "SELECT id, {value} AS x FROM s",
    "primary key": "SELECT {value} AS x, max(id) AS m FROM s WHERE {value} IS NOT NULL "
    "GROUP BY {value}",
    "recompute": "SELECT id, {value} AS x, current_date() AS d FROM s",
}
TEXTS = ("char", "varchar", "collated")
BY_ROWS = ("INCOMPARABLE_TYPE", "TOP_ROWS_LEFT")
"""Why some changes cannot be applied, whatever `strict` accepts."""
CLAUSES = {"partition": "PARTITIONED BY (x)", "primary key": "(PRIMARY KEY (x) NOT ENFORCED)"}
ALWAYS = ("distinct",)
"""Places that `make test` tries; `make conformance` tries all."""
CHANGES = (
    (
        (
            "INSERT INTO s SELECT 90 + id, c, v, 'B', st, ar, mp FROM s WHERE id < 3 UNION ALL "
            "SELECT * FROM VALUES "
            "(50, 'zz', 'w', 'Q', named_struct('a', 'k', 'b', NULL), NULL, NULL), "
            "(51, NULL, NULL, NULL, NULL, array(NULL), map())"
        ),
    ),
    (
        (
            "UPDATE s SET c = 'u', v = 'u ', n = 'U', st = named_struct('a', 'u', 'b', 'u') "
            "WHERE id = 4"
        ),
        "DELETE FROM s WHERE id IN (1, 2, 50)",
    ),
)


def change(tables: MaterializedTables, statements: Iterable[str]) -> None:
    for statement in statements:
        tables.sql(statement)


@pytest.fixture
def tables(
    session: SparkSession, schema: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[MaterializedTables]:
    """A source `s` with columns of all text types."""
    monkeypatch.setattr(differential, "SMALLEST_SOURCES", 0)
    monkeypatch.setattr(differential, "slower", lambda *_: None)
    monkeypatch.setattr(differential, "SHORTEST_RECOMPUTE_S", 0)
    monkeypatch.setattr(result_changes, "SMALLEST_RATIO", 0)
    session.sql(
        f"CREATE TABLE {schema}.s (id INT, c CHAR(3), v VARCHAR(4), n STRING, "
        "st STRUCT<a: CHAR(2), b: VARCHAR(3)>, ar ARRAY<VARCHAR(3)>, mp MAP<VARCHAR(2), CHAR(3)>) "
        "USING delta"
    )
    session.sql(
        f"INSERT INTO {schema}.s SELECT INT(id), substr('abc', 1 + INT(id % 2), 2), "
        "concat('v', id % 3), IF(id % 2 = 0, 'a', 'A'), "
        "named_struct('a', STRING(id % 2), 'b', STRING(id % 3)), array(STRING(id % 3)), "
        "map('k', STRING(id % 2)) FROM range(10)"
    )
    yield MaterializedTables(session)
    session.catalog.clearCache()


def types(tables: MaterializedTables, name: str = "t") -> list[str]:
    """The types of a table in the catalog."""
    return [column.type for column in columns_of(tables.sql(f"SELECT * FROM {name}").schema)]


def assert_same(tables: MaterializedTables, name: str, query: str) -> None:
    stored, wanted = (
        Counter(map(repr, tables.sql(text).collect())) for text in (f"TABLE {name}", query)
    )
    assert (stored - wanted, wanted - stored) == (Counter(), Counter()), name


def created(
    tables: MaterializedTables, name: str, role: str, query: str, setting: str = "strict"
) -> str:
    """Create a table in `strict` if it is incremental at all; return its setting."""
    try:
        outcome(
            tables,
            f"CREATE MATERIALIZED TABLE {name} {CLAUSES.get(role, '')} "
            f"WITH ('incremental' = '{setting}') FRESHNESS = INTERVAL '1' MINUTE "
            f"REFRESH_MODE = CONTINUOUS AS {query}",
        )
    except MaterializedTableError as error:
        if setting == "auto" or "NOT_INCREMENTAL" not in str(error):
            raise
        return created(tables, name, role, query, "auto")
    return setting


def cases(role: str) -> Iterator[tuple[str, str]]:
    """Yield types and queries for a role; Spark neither groups nor sorts by a MAP."""
    for type_, value in VALUES.items():
        nested = type_ not in TEXTS
        if (type_ == "map" and role not in ("value", "top value", "join", "recompute")) or (
            nested and role in ("partition", "primary key", "group")
        ):
            continue
        outer = f"a.{KEYS[type_]}"
        facts = {"value": value, "key": KEYS[type_], "outer": outer}
        yield type_, ROLES[role].format(**facts)


def refresh(tables: MaterializedTables, name: str) -> None:
    """Refresh a table; compute all rows where its changed rows need others, or cannot be found."""
    try:
        done = tables.refresh(name)
    except RefreshNotIncrementalError as error:
        if not any(f"({code})" in str(error) for code in BY_ROWS):
            raise
        done = tables.refresh(name, force=True)
    assert done.status in (RefreshResult.REFRESHED, RefreshResult.UP_TO_DATE)


def assert_followed(tables: MaterializedTables, roles: Iterable[str], types: Iterable[str]) -> None:
    """Assert that tables with text types in some places are those of their queries."""
    found = {
        f"{role.replace(' ', '_')}_{type_}": (role, query)
        for role in roles
        for type_, query in cases(role)
        if type_ in types
    }
    settings = {name: created(tables, name, *each) for name, each in found.items()}
    for statements in CHANGES:
        change(tables, statements)
        for name, (_, query) in found.items():
            refresh(tables, name)
            assert_same(tables, name, query)
    for name, setting in settings.items():
        assert setting == "strict" or not name.endswith("char") or "recompute" in name


def test_char_follows_its_source(tables):
    assert_followed(tables, ALWAYS, ("char",))


@pytest.mark.conformance
@pytest.mark.parametrize("role", ROLES)
def test_texts_in_every_place_follow_their_sources(tables, role):
    assert_followed(tables, (role,), VALUES)


LIST = "(id INT, c CHAR(3) COMMENT 'fixed', v VARCHAR(10) COMMENT 'text', w VARCHAR(7))"
TYPED = (
    f"CREATE OR ALTER MATERIALIZED TABLE t {LIST} FRESHNESS = INTERVAL '1' MINUTE "
    "REFRESH_MODE = CONTINUOUS AS SELECT id, c, v, NULL AS w FROM s"
)
QUERY = "SELECT id, c, v, CAST(NULL AS STRING) AS w FROM s"


def test_a_list_with_char_and_varchar_is_what_the_table_has(tables):
    outcome(tables, TYPED)
    for statements in CHANGES:
        assert types(tables) == ["INT", "CHAR(3)", "VARCHAR(10)", "VARCHAR(7)"]
        assert not outcome(tables, TYPED).changes
        change(tables, statements)
        assert tables.refresh("t").status is RefreshResult.REFRESHED
        assert_same(tables, "t", QUERY)
    tables.refresh("t", force=True)
    assert types(tables) == ["INT", "CHAR(3)", "VARCHAR(10)", "VARCHAR(7)"]


@pytest.mark.conformance
def test_a_table_of_an_older_release_without_text_bounds_stays_usable(tables, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(writer, "with_bounded_texts", lambda _spark, rows, _columns: rows)
        outcome(tables, TYPED)
    assert types(tables) == ["INT", "STRING", "STRING", "STRING"]
    for statements in CHANGES:
        assert not outcome(tables, TYPED).changes
        change(tables, statements)
        assert tables.refresh("t").status is RefreshResult.REFRESHED
        assert_same(tables, "t", QUERY)
    outcome(tables, TYPED.replace("OR ALTER", "OR REPLACE"))
    assert types(tables) == ["INT", "CHAR(3)", "VARCHAR(10)", "VARCHAR(7)"]
    assert_same(tables, "t", QUERY)


@pytest.mark.conformance
def test_a_listed_column_that_is_added_has_its_bound(tables):
    outcome(tables, TYPED)
    more = TYPED.replace("w VARCHAR(7)", "w VARCHAR(7), x VARCHAR(4)").replace(
        "NULL AS w", "NULL AS w, v AS x"
    )
    outcome(tables, more)
    assert types(tables)[-1] == "VARCHAR(4)"
    assert not outcome(tables, more).changes
    assert_same(tables, "t", "SELECT id, c, v, CAST(NULL AS STRING) AS w, v AS x FROM s")


def test_a_query_that_ends_with_a_semicolon_has_columns(tables):
    for text in ("SELECT id, v FROM s;", "SELECT id, v FROM s ; -- the end\n"):
        found = tables.columns(text)
        assert [(c.name, c.type) for c in found] == [("id", "INT"), ("v", "VARCHAR(4)")]


def test_a_type_that_delta_does_not_store_is_refused_before_the_write(tables):
    for value in ("make_dt_interval(1)", "struct()", "array(NULL)", "n COLLATE UTF8_LCASE"):
        with pytest.raises(MaterializedTableError, match="TYPE_NOT_STORED"):
            tables.execute(
                f"CREATE MATERIALIZED TABLE t FRESHNESS = INTERVAL '1' MINUTE AS "
                f"SELECT id, {value} AS x FROM s"
            )
        assert rows(tables, "SHOW TABLES LIKE 't'") == [], value
