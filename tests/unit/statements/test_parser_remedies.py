"""Remedies of errors: the advice is in the message, and following it parses."""

import pytest

from dbt.adapters.spark_mt.definition.columns import Check, ColumnSpec, PrimaryKey
from dbt.adapters.spark_mt.definition.errors import StatementSyntaxError
from dbt.adapters.spark_mt.definition.freshness import Freshness, TimeUnit
from dbt.adapters.spark_mt.resolution.query_options import parse_watermarks
from dbt.adapters.spark_mt.statements import nodes
from dbt.adapters.spark_mt.statements.parser import parse_statement

ALTER = "ALTER MATERIALIZED TABLE s.t "
SHOW = "SHOW CREATE OR ALTER MATERIALIZED TABLE `s`.`t`"
WATERMARK = "ALTER MATERIALIZED TABLE `s`.`t` SET ('watermark' = '{} DELAY OF INTERVAL {}')"


def refused(sql: str) -> StatementSyntaxError:
    with pytest.raises(StatementSyntaxError) as caught:
        parse_statement(sql)
    return caught.value


def followed(sql: str, clauses: str):
    """Write `clauses` into the statement that SHOW CREATE prints."""
    assert isinstance(parse_statement(SHOW), nodes.ShowCreate)
    assert SHOW in refused(sql).parameters["instead"]
    created = parse_statement(f"CREATE OR ALTER MATERIALIZED TABLE s.t {clauses} AS SELECT 1 AS a")
    return created.declared


@pytest.mark.parametrize(
    ("form", "clause"),
    [
        ("ADD PRIMARY KEY (a) NOT ENFORCED", "PRIMARY KEY (column, …) NOT ENFORCED"),
        ("ADD (PRIMARY KEY (a) NOT ENFORCED)", "PRIMARY KEY (column, …) NOT ENFORCED"),
        ("ADD CONSTRAINT c PRIMARY KEY (a)", "PRIMARY KEY (column, …) NOT ENFORCED"),
        ("MODIFY PRIMARY KEY (a) NOT ENFORCED", "PRIMARY KEY (column, …) NOT ENFORCED"),
        ("MODIFY CONSTRAINT c PRIMARY KEY (a)", "PRIMARY KEY (column, …) NOT ENFORCED"),
        ("ADD UNIQUE (a)", "PRIMARY KEY (column, …) NOT ENFORCED"),
        ("ADD CONSTRAINT u UNIQUE (a)", "PRIMARY KEY (column, …) NOT ENFORCED"),
        ("MODIFY (UNIQUE (a))", "PRIMARY KEY (column, …) NOT ENFORCED"),
        ("ADD CHECK (a > 0)", "CHECK (condition)"),
        ("ADD CONSTRAINT c CHECK (a > 0)", "CHECK (condition)"),
    ],
)
def test_a_constraint_goes_into_the_column_list(form, clause):
    item = clause.replace("column, …", "a").replace("condition", "a")
    declared = followed(ALTER + form, f"({item})")
    assert declared.constraints in ((PrimaryKey(("a",)),), (Check("a"),))
    advice = refused(ALTER + form).parameters["instead"]
    assert clause in advice
    assert "REPLACE" not in advice


@pytest.mark.parametrize(
    "form",
    [
        "DROP PRIMARY KEY",
        "DROP CONSTRAINT c",
        "DROP CONSTRAINT IF EXISTS c",
        "DROP UNIQUE (a)",
        "DROP CHECK c",
    ],
)
def test_a_constraint_is_left_out_of_the_column_list(form):
    assert followed(ALTER + form, "").constraints == ()
    advice = refused(ALTER + form).parameters["instead"]
    assert "without" in advice
    assert "REPLACE" not in advice


@pytest.mark.parametrize(
    ("form", "column", "delay"),
    [
        ("ADD WATERMARK FOR ts AS ts - INTERVAL '5' SECOND", "ts", "5 SECOND"),
        ("ADD (WATERMARK FOR `t s` AS `t s` - INTERVAL '5' MINUTES)", "`t s`", "5 MINUTES"),
        ("MODIFY WATERMARK FOR ts AS now()", "ts", "10 SECONDS"),
        ("ADD WATERMARK", "ts", "10 SECONDS"),
    ],
)
def test_a_watermark_is_an_option(form, column, delay):
    statement = WATERMARK.format(column, delay)
    error = refused(ALTER + form)
    assert statement in error.parameters["instead"]
    assert "REPLACE" not in error.parameters["instead"]
    parsed = parse_statement(statement)
    assert isinstance(parsed, nodes.SetOptions)
    assert parse_watermarks(dict(parsed.options)["watermark"])[0].column == column.strip("`")


def test_a_watermark_is_dropped_by_resetting_the_option():
    statement = "ALTER MATERIALIZED TABLE `s`.`t` RESET ('watermark')"
    assert statement in refused(ALTER + "DROP WATERMARK").parameters["instead"]
    assert parse_statement(statement).keys == ("watermark",)


@pytest.mark.parametrize(
    "form",
    ["ADD DISTRIBUTION BY HASH(a) INTO 4 BUCKETS", "ADD DISTRIBUTED BY (a)", "MODIFY DISTRIBUTION"],
)
def test_a_distribution_is_a_clustering(form):
    assert followed(ALTER + form, "CLUSTER BY (a)").clustered_by == ("a",)
    assert "CLUSTER BY (column, …)" in refused(ALTER + form).parameters["instead"]


def test_a_distribution_is_dropped_with_the_clustering():
    assert followed(ALTER + "DROP DISTRIBUTION", "").clustered_by == ()
    assert "without CLUSTER BY" in refused(ALTER + "DROP DISTRIBUTION").parameters["instead"]


@pytest.mark.parametrize(
    "form",
    [
        "ALTER COLUMN a SET NOT NULL",
        "ALTER COLUMN a DROP NOT NULL",
        "MODIFY a INT NOT NULL",
        "CHANGE COLUMN a a INT COMMENT 'x'",
        "ALTER COLUMN a COMMENT 'x'",
    ],
)
def test_not_null_and_comments_of_columns_are_in_the_column_list(form):
    declared = followed(ALTER + form, "(a INT NOT NULL COMMENT 'x')")
    assert declared.columns == (ColumnSpec("a", "INT", not_null=True, comment="x"),)
    assert "REPLACE" not in refused(ALTER + form).parameters["instead"]


def test_a_wider_type_needs_an_option_and_no_rebuild_by_hand():
    advice = refused(ALTER + "ALTER COLUMN a TYPE BIGINT").parameters["instead"]
    statement = "ALTER MATERIALIZED TABLE `s`.`t` SET ('schema.type-widening' = 'true')"
    assert statement in advice
    assert isinstance(parse_statement(statement), nodes.SetOptions)


def test_options_are_set_without_a_keyword():
    error = refused(ALTER + "SET TBLPROPERTIES ('a' = 'b')")
    assert "SET ('key' = 'value', …)" in error.parameters["instead"]
    assert parse_statement(ALTER + "SET ('a' = 'b')").options == (("a", "b"),)
    automatic = refused(ALTER + "RESET REFRESH_MODE").parameters["instead"]
    assert "SET REFRESH_MODE = AUTOMATIC" in automatic
    assert parse_statement(ALTER + "SET REFRESH_MODE = AUTOMATIC")


@pytest.mark.parametrize(
    ("sql", "suggestion"),
    [
        ("SET FRESHNESS", "FRESHNESS = INTERVAL '3' MINUTE"),
        ("SET FRESHNESS;", "FRESHNESS = INTERVAL '3' MINUTE"),
        ("SET FRESHNESS INTERVAL", "FRESHNESS = INTERVAL '3' MINUTE"),
        ("SET FRESHNESS 3 MINUTES", "FRESHNESS = INTERVAL '3' MINUTE"),
        ("SET FRESHNESS INTERVAL '5' HOUR", "FRESHNESS = INTERVAL '5' HOUR"),
        ("SET REFRESH_MODE", "REFRESH_MODE = FULL"),
        ("SET REFRESH_MODE CONTINUOUS", "REFRESH_MODE = CONTINUOUS"),
        ("SET START_MODE AS SELECT 1", "START_MODE = FROM_BEGINNING"),
        (
            "SET START_MODE FROM_NOW(INTERVAL '7' DAY) AS SELECT 1",
            "START_MODE = FROM_NOW(INTERVAL '7' DAY)",
        ),
        ("SET STATE_RETENTION PTF_ONLY('a') AS SELECT 1", "STATE_RETENTION = PTF_ONLY('a')"),
        ("SET STATE_RETENTION SOME AS SELECT 1", "STATE_RETENTION = NONE"),
    ],
)
def test_a_missing_equals_sign_is_put_before_a_value_that_is_one(sql, suggestion):
    error = refused(ALTER + sql)
    assert error.condition == "MATERIALIZED_TABLE_MISSING_EQUALS"
    assert error.parameters["suggestion"] == suggestion
    query = " AS SELECT 1" if "AS SELECT" in sql else ""
    assert parse_statement(f"{ALTER}SET {suggestion}{query}")


def test_an_option_without_a_value_gets_one():
    error = refused("CREATE MATERIALIZED TABLE t WITH ('k') AS SELECT 1")
    assert error.parameters["suggestion"] == "'k' = 'value'"


@pytest.mark.parametrize("word", ["TEMPORARY", "TEMP", "GLOBAL TEMPORARY"])
@pytest.mark.parametrize("verb", ["CREATE", "CREATE OR ALTER", "DROP", "ALTER"])
def test_temporary_is_left_out(verb, word):
    rest = {"DROP": "IF EXISTS t", "ALTER": "t SUSPEND"}.get(verb, "t AS SELECT 1")
    error = refused(f"{verb} {word} MATERIALIZED TABLE {rest}")
    assert error.condition == "MATERIALIZED_TABLE_TEMPORARY"
    assert error.parameters["found"] == word.partition(" ")[0]
    assert error.parameters["temporary"] == word
    assert ("temporary view" in str(error)) == verb.startswith("CREATE")
    assert parse_statement(f"{verb} MATERIALIZED TABLE {rest}")


@pytest.mark.parametrize(
    ("item", "instead"),
    [
        ("a BIGINT PRIMARY KEY NOT ENFORCED", "PRIMARY KEY (`a`) NOT ENFORCED"),
        ("a BIGINT NOT NULL PRIMARY KEY", "PRIMARY KEY (`a`) NOT ENFORCED"),
        ("a BIGINT CONSTRAINT k PRIMARY KEY", "PRIMARY KEY (`a`) NOT ENFORCED"),
        ("a BIGINT UNIQUE", "PRIMARY KEY (`a`) NOT ENFORCED"),
        ("a BIGINT CHECK (a > 0)", "CHECK (condition)"),
        ("UNIQUE (a)", "PRIMARY KEY (column, …) NOT ENFORCED"),
    ],
)
def test_a_constraint_of_a_column_is_an_item_of_its_own(item, instead):
    error = refused(f"CREATE MATERIALIZED TABLE t ({item}) AS SELECT 1 AS a")
    assert error.condition == "MATERIALIZED_TABLE_UNSUPPORTED_CONSTRAINT"
    assert instead in error.parameters["instead"]
    own = instead.replace("column, …", "a").replace("condition", "a > 0")
    declared = parse_statement(
        f"CREATE MATERIALIZED TABLE t (a BIGINT, {own}) AS SELECT 1 AS a"
    ).declared
    assert len(declared.constraints) == 1


@pytest.mark.parametrize(
    ("item", "column", "delay"),
    [
        ("WATERMARK FOR ts AS ts - INTERVAL '5' SECOND", "ts", "5 SECOND"),
        ("WATERMARK FOR ts AS ts", "ts", "10 SECONDS"),
    ],
)
def test_a_watermark_in_the_column_list_is_an_option(item, column, delay):
    error = refused(f"CREATE MATERIALIZED TABLE t (ts TIMESTAMP, {item}) AS SELECT 1 AS ts")
    assert error.condition == "MATERIALIZED_TABLE_WATERMARK_CLAUSE"
    clause = f"WITH ('watermark' = '{column} DELAY OF INTERVAL {delay}')"
    assert clause in str(error)
    assert parse_statement(f"CREATE MATERIALIZED TABLE t (ts TIMESTAMP) {clause} AS SELECT 1 AS ts")


def test_columns_may_be_called_watermark():
    (column, other) = parse_statement(
        "CREATE MATERIALIZED TABLE t (watermark INT, `for` INT) AS SELECT 1, 2"
    ).declared.columns
    assert (column.name, other.name) == ("watermark", "for")


@pytest.mark.parametrize(
    ("item", "instead"),
    [
        ("b AS a + 1", "a + 1 AS `b`"),
        ("b AS (a + f(1, 2))", "(a + f(1, 2)) AS `b`"),
        ("b BIGINT GENERATED ALWAYS AS (a + 1)", "(a + 1) AS `b`"),
        ("b BIGINT DEFAULT 5", "coalesce(`b`, 5) AS `b`"),
    ],
)
def test_a_computed_column_is_selected_by_the_query(item, instead):
    error = refused(f"CREATE MATERIALIZED TABLE t (a BIGINT, {item}) AS SELECT a FROM s")
    assert error.condition == "MATERIALIZED_TABLE_UNSUPPORTED_COLUMN_OPTION"
    assert instead in error.parameters["instead"]
    assert parse_statement(
        f"CREATE MATERIALIZED TABLE t (a BIGINT, b BIGINT) AS SELECT a, {instead} FROM s"
    )


def test_a_freshness_of_one_unit_can_be_written_instead():
    error = refused(ALTER + "SET FRESHNESS = INTERVAL '30' DAY TO HOUR")
    assert "INTERVAL '30' DAY" in str(error)
    parsed = parse_statement(ALTER + "SET FRESHNESS = INTERVAL '30' DAY")
    assert parsed.value == Freshness(30, TimeUnit.DAY)
