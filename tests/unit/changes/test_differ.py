from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.spark_mt.changes.changes import Change, Changed
from dbt.adapters.spark_mt.changes.differ import diff
from dbt.adapters.spark_mt.definition.columns import Check, Column, ColumnSpec, PrimaryKey
from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition
from dbt.adapters.spark_mt.definition.freshness import Freshness, TimeUnit
from dbt.adapters.spark_mt.definition.modes import (
    LogicalRefreshMode,
    ResolvedStartMode,
    StateRetention,
    StateRetentionType,
)
from dbt.adapters.spark_mt.resolution.settings import parse_start_mode
from dbt.adapters.spark_mt.statements.clauses import Effect
from tests.unit.builders import QUERY, QUERY_COLUMNS, changed, columns, context, resolve

AUTOMATIC, FULL = LogicalRefreshMode.AUTOMATIC, LogicalRefreshMode.FULL
CONTINUOUS = LogicalRefreshMode.CONTINUOUS


def declared(query=QUERY, **clauses):
    return DeclaredDefinition(query, **clauses)


def between(before, after, ddl=QUERY_COLUMNS, **facts):
    """What differs between two definitions over the same columns."""
    return diff(resolve(before, **facts), resolve(after, ddl, **facts))


def fresh(text):
    return Freshness.parse(text)


# query


def test_the_same_definition_has_no_changes():
    assert between(declared(), declared()) == ()


def test_another_query_fills_the_table_again():
    (change,) = between(declared(), declared(QUERY.replace("1000", "500")))
    assert change == Change(Changed.QUERY, Effect.CONTENT)
    assert (change.effect, change.kind.of_query) == (Effect.CONTENT, True)


@pytest.mark.parametrize(
    "query", [f"-- why\n{QUERY}", QUERY.replace(" FROM", "\n  from"), f"{QUERY} /* end */"]
)
def test_another_text_of_the_same_query_is_metadata(query):
    (change,) = between(declared(), declared(query), expanded="SELECT full")
    assert change == Change(Changed.QUERY_TEXT, Effect.TEXT)
    assert change.effect is Effect.TEXT


def test_the_same_text_over_other_tables_is_another_query():
    before = resolve(declared(), expanded="SELECT * FROM a.orders")
    after = resolve(declared(), expanded="SELECT * FROM b.orders")
    assert diff(before, after) == (Change(Changed.QUERY, Effect.CONTENT),)


@pytest.mark.parametrize(
    ("query", "expanded", "changes"),
    [
        (QUERY, "SELECT full", ()),
        ("SELECT 1 FROM c.s.t", "SELECT 1 FROM c.s.t", ()),
        ("FROM ((", "FROM ((", (Change(Changed.QUERY, Effect.CONTENT),)),
    ],
)
def test_the_session_s_schema_counts_where_names_could_not_be_made_full(query, expanded, changes):
    before = resolve(declared(query), expanded=expanded)
    elsewhere = replace(before.context, schema="other")
    assert diff(before, changed(before, context=elsewhere)) == changes


def test_confs_count_like_the_query():
    before = resolve(declared(), context=context(ansi="true", caseSensitive="false"))
    after = resolve(declared(), context=context(ansi="false", timestampType="TIMESTAMP_NTZ"))
    found = diff(before, after)
    assert found == (
        Change(Changed.CONF, Effect.CONTENT, "spark.sql.ansi.enabled", "true", "false"),
        Change(Changed.CONF, Effect.CONTENT, "spark.sql.caseSensitive", "false", None),
        Change(Changed.CONF, Effect.CONTENT, "spark.sql.timestampType", None, "TIMESTAMP_NTZ"),
    )
    assert {(c.effect, c.kind.of_query) for c in found} == {(Effect.CONTENT, True)}


# columns


def test_columns_are_appended_after_the_old_ones():
    after = f"{QUERY_COLUMNS}; description STRING; note STRING"
    found = between(declared(), declared(), after)
    assert found == (
        Change(
            Changed.COLUMNS_APPENDED, Effect.CONTENT, new=columns("description STRING; note STRING")
        ),
    )


@pytest.mark.parametrize(
    ("ddl", "positions", "drops"),
    [
        ("user_id INT; product_id INT", [], True),
        ("user_id INT; price DECIMAL(10,2)", [1], True),
        ("user_id INT; price DECIMAL(10,2); product_id INT", [1, 2], False),
        ("user_id INT; product INT; price DECIMAL(10,2)", [1], False),
        ("user_id INT; product_id INT; price INT", [2], False),
        ("user_id BIGINT; product_id INT; price DECIMAL(10,2)", [0], False),
        ("id INT; product_id INT; price INT; more INT", [0, 2], False),
    ],
)
def test_every_mismatch_is_found_by_position(ddl, positions, drops):
    (change,) = between(declared(), declared(), ddl)
    assert [m.position for m in change.mismatches] == positions
    assert (change.kind is Changed.COLUMNS_DROPPED, change.effect) == (drops, Effect.IMPOSSIBLE)


def test_names_are_compared_without_case_unless_the_session_says_otherwise():
    other = QUERY_COLUMNS.replace("price", "PRICE")
    assert between(declared(), declared(), other) == ()
    (change,) = between(declared(), declared(), other, context=context(caseSensitive="true"))
    assert change.mismatches


WIDENING = (("schema.type-widening", "true"),)


def test_the_option_lets_types_be_widened():
    wider = "user_id BIGINT; product_id INT; price DECIMAL(12,2); note STRING"
    found = between(declared(options=WIDENING), declared(options=WIDENING), wider)
    assert found == (
        Change(Changed.TYPE_WIDENED, Effect.CONTENT, "user_id", "INT", "BIGINT"),
        Change(Changed.TYPE_WIDENED, Effect.CONTENT, "price", "DECIMAL(10,2)", "DECIMAL(12,2)"),
        Change(Changed.COLUMNS_APPENDED, Effect.CONTENT, new=columns("note STRING")),
    )


def test_the_option_does_not_let_types_be_narrowed():
    narrower = "user_id SMALLINT; product_id INT; price DECIMAL(12,2)"
    (change,) = between(declared(options=WIDENING), declared(options=WIDENING), narrower)
    assert [(m.position, m.widens) for m in change.mismatches] == [(0, False), (2, True)]


def typed(*items, **clauses):
    return declared("SELECT 1", columns=tuple(ColumnSpec(*item) for item in items), **clauses)


def lists(before, after, ddl="a INT; b INT"):
    return diff(resolve(before, ddl), resolve(after, ddl))


def test_a_list_that_says_what_the_query_says_is_metadata():
    found = lists(declared("SELECT 1"), typed(("a", "INT"), ("b", "INT")))
    assert found == (Change(Changed.COLUMN_LIST_TEXT, Effect.TEXT),)
    assert found[0].effect is Effect.TEXT


def test_a_list_that_names_an_appended_column_is_no_change_of_its_own():
    before, after = typed(("a",), ("b",)), typed(("a",), ("b",), ("c",))
    found = diff(resolve(before, "a INT; b INT"), resolve(after, "a INT; b INT; c INT"))
    assert found == (Change(Changed.COLUMNS_APPENDED, Effect.CONTENT, new=columns("c INT")),)


def test_the_spelling_of_a_listed_type_does_not_count():
    assert lists(typed(("a", "int"), ("b", "INTEGER")), typed(("a", "INT"), ("b", "INT"))) == ()


def test_a_list_that_exchanges_columns_fills_the_table_again():
    exchanged = lists(typed(("b",), ("a",)), typed(("b", "INT"), ("a", "INT")))
    assert exchanged == (Change(Changed.COLUMN_LIST, Effect.CONTENT),)
    assert exchanged[0].effect is Effect.CONTENT


def test_a_star_with_reordered_columns_below_bare_names_fills_the_table_again():
    names = typed(("x",), ("y",))
    found = diff(resolve(names, "a INT; b INT"), resolve(names, "b INT; a INT"))
    assert found == (Change(Changed.COLUMN_LIST, Effect.CONTENT),)


def test_a_listed_type_may_be_widened():
    before, after = typed(("a", "INT"), ("b", "INT")), typed(("a", "BIGINT"), ("b", "INT"))
    (mismatch,) = lists(before, after)[:1]
    assert mismatch.kind is Changed.COLUMNS_MISMATCHED
    found = lists(before, replace(after, options=WIDENING))
    assert Change(Changed.TYPE_WIDENED, Effect.CONTENT, "a", "INT", "BIGINT") in found


def test_not_null_and_comments_are_changes_of_their_own():
    before = typed(("a", "INT", False, "old"), ("b", "INT", True, None))
    after = typed(("a", "INT", True, "new"), ("b", "INT", False, None))
    assert lists(before, after) == (
        Change(Changed.NULL_FORBIDDEN, Effect.STORAGE, "a"),
        Change(Changed.NULL_ALLOWED, Effect.STORAGE, "b"),
        Change(Changed.COLUMN_COMMENT, Effect.TEXT, "a", "old", "new"),
    )


# refresh


@pytest.mark.parametrize(
    ("old", "new", "effect"),
    [
        (None, None, None),
        ("60 seconds", "1 minute", None),
        ("24 hours", "1 day", None),
        (None, "3 minutes", Effect.TEXT),
        ("180 seconds", None, Effect.TEXT),
        ("5 minutes", "6 minutes", Effect.REFRESH),
        (None, "5 minutes", Effect.REFRESH),
    ],
)
def test_freshness_is_compared_by_length_as_asked_and_as_resolved(old, new, effect):
    found = between(declared(freshness=old and fresh(old)), declared(freshness=new and fresh(new)))
    assert [(c.subject, c.effect) for c in found] == ([("freshness", effect)] if effect else [])


def test_a_freshness_beyond_the_threshold_changes_the_mode_as_well():
    found = between(declared(), declared(freshness=fresh("1 hour")))
    assert [c.describe() for c in found] == [
        "Freshness changed from 3 minutes (by default) to 1 hour.",
        "Refresh mode changed from CONTINUOUS (by AUTOMATIC) to FULL (by AUTOMATIC).",
    ]
    assert {c.effect for c in found} == {Effect.REFRESH}


@pytest.mark.parametrize(
    ("old", "new", "effect"),
    [
        (None, AUTOMATIC, None),
        (None, CONTINUOUS, Effect.TEXT),
        (CONTINUOUS, AUTOMATIC, Effect.TEXT),
        (CONTINUOUS, FULL, Effect.REFRESH),
        (FULL, None, Effect.REFRESH),
    ],
)
def test_modes_are_compared_as_asked_and_as_resolved(old, new, effect):
    minute = fresh("1 min")
    found = between(
        declared(refresh_mode=old, freshness=minute), declared(refresh_mode=new, freshness=minute)
    )
    expected = [("refresh_mode", effect)] if effect else []
    assert [(c.subject, c.effect) for c in found] == expected


def start(text, instant=None, mode=CONTINUOUS):
    """A definition with a start mode; which of them can be asked for is another module's rule."""
    start_mode = text and parse_start_mode(text)
    base = resolve(declared(refresh_mode=mode))
    return changed(
        base,
        declared=replace(base.declared, start_mode=start_mode),
        start_mode=ResolvedStartMode(start_mode or parse_start_mode("FROM_BEGINNING"), instant),
    )


@pytest.mark.parametrize(
    ("old", "new", "effect"),
    [
        ((None,), (None,), None),
        ((None,), ("FROM_BEGINNING",), Effect.TEXT),
        (("FROM_NOW", 1), ("FROM_NOW", 2), None),
        (("FROM_NOW(INTERVAL '7' DAY)", 1), ("FROM_NOW(INTERVAL '1' WEEK)", 2), None),
        (("FROM_NOW(INTERVAL '12' MONTH)", 1), ("FROM_NOW(INTERVAL '1' YEAR)", 2), None),
        (("FROM_NOW(INTERVAL '60' SECOND)", 1), ("FROM_NOW(INTERVAL '1' MINUTE)", 2), None),
        (("FROM_NOW(INTERVAL '24' HOUR)", 1), ("FROM_NOW(INTERVAL '1' DAY)", 1), Effect.CONTENT),
        (("FROM_NOW(INTERVAL '7' DAY)", 1), ("FROM_NOW(INTERVAL '8' DAY)", 1), Effect.CONTENT),
        (
            ("FROM_TIMESTAMP(TIMESTAMP '2025-01-01')", 1),
            ("FROM_TIMESTAMP(TIMESTAMP '2025-01-01 00:00:00')", 1),
            None,
        ),
        (
            ("FROM_TIMESTAMP(TIMESTAMP '2025-01-01')", 1),
            ("FROM_TIMESTAMP(TIMESTAMP '2025-01-02')", 2),
            Effect.CONTENT,
        ),
        ((None,), ("RESUME_OR_FROM_BEGINNING",), Effect.TEXT),
        (("FROM_NOW", 1), ("RESUME_OR_FROM_NOW", 1), Effect.TEXT),
        (("RESUME_OR_FROM_NOW", 1), ("FROM_NOW", 1), Effect.CONTENT),
        (("FROM_NOW", 1), ("FROM_BEGINNING",), Effect.CONTENT),
    ],
)
def test_start_modes_are_compared_by_interval_or_instant(old, new, effect):
    found = diff(start(*old), start(*new))
    assert [(c.subject, c.effect) for c in found] == ([("start_mode", effect)] if effect else [])


def test_a_start_mode_has_no_effect_in_full_mode():
    (change,) = diff(start(None, mode=FULL), start("FROM_NOW", 1, mode=FULL))
    assert change.effect is Effect.TEXT


ALL, PTF = StateRetentionType.ALL, StateRetentionType.PTF_ONLY


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        (None, None, True),
        (None, StateRetention(StateRetentionType.NONE), False),
        (StateRetention(ALL), StateRetention(PTF), False),
        (StateRetention(PTF), StateRetention(PTF, ("a",)), False),
        (StateRetention(PTF, ("a", "b")), StateRetention(PTF, ("b", "a")), True),
    ],
)
def test_state_retention_is_stored_for_the_next_change_of_the_query(old, new, same):
    before, after = (
        declared(state_retention=r, start_mode=parse_start_mode("FROM_BEGINNING"))
        for r in (old, new)
    )
    found = between(before, after)
    expected = [] if same else [("state_retention", Effect.TEXT)]
    assert [(c.subject, c.effect) for c in found] == expected


# everything else


def test_options_are_compared_key_by_key():
    before = declared(options=(("delta.x", "1"), ("note", "a"), ("gone", "x")))
    after = declared(
        options=(("note", "b"), ("delta.x", "1"), ("continuous.trigger-interval", "1 s"))
    )
    found = between(before, after)
    assert found == (
        Change(Changed.OPTION, Effect.REFRESH, "continuous.trigger-interval", None, "1 s"),
        Change(Changed.OPTION, Effect.STORAGE, "note", "a", "b"),
        Change(Changed.OPTION, Effect.STORAGE, "gone", "x"),
    )


@pytest.mark.parametrize(
    ("key", "effect"),
    [
        ("delta.x", Effect.STORAGE),
        ("schema.type-widening", Effect.STORAGE),
        ("partition.fields.ds.date-formatter", Effect.REFRESH),
    ],
)
def test_an_option_has_an_effect_by_its_name(key, effect):
    after = resolve(declared())
    before = changed(after, declared=declared(options=((key, "1"),)))
    (change,) = diff(before, after)
    assert change == Change(Changed.OPTION, effect, key, "1")


def test_secrets_are_not_described():
    for new in ("hush2", None):
        change = Change(Changed.OPTION, Effect.STORAGE, "kafka.password", "hush", new)
        assert "hush" not in change.describe()


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        (
            {"comment": "a"},
            {"comment": "b"},
            (Change(Changed.CLAUSE, Effect.TEXT, "comment", "'a'", "'b'"),),
        ),
        (
            {},
            {"comment": "it's"},
            (Change(Changed.CLAUSE, Effect.TEXT, "comment", None, r"'it\'s'"),),
        ),
        ({}, {"comment": ""}, ()),
        (
            {"partitioned_by": ("user_id",)},
            {},
            (Change(Changed.CLAUSE, Effect.IMPOSSIBLE, "partitioned_by", "(`user_id`)", None),),
        ),
        ({"partitioned_by": ("user_id",)}, {"partitioned_by": ("USER_ID",)}, ()),
        (
            {"partitioned_by": ("user_id", "price")},
            {"partitioned_by": ("price", "user_id")},
            (
                Change(
                    Changed.CLAUSE,
                    Effect.IMPOSSIBLE,
                    "partitioned_by",
                    "(`user_id`, `price`)",
                    "(`price`, `user_id`)",
                ),
            ),
        ),
        ({"clustered_by": ("user_id",)}, {"clustered_by": ("USER_ID",)}, ()),
        (
            {},
            {"clustered_by": ("price",)},
            (Change(Changed.CLAUSE, Effect.STORAGE, "clustered_by", None, "(`price`)"),),
        ),
    ],
)
def test_comment_and_layout(before, after, changes):
    assert between(declared(**before), declared(**after)) == changes


KEY = PrimaryKey(("user_id", "price"))


@pytest.mark.parametrize(
    ("old", "new", "effect"),
    [
        (None, KEY, Effect.REFRESH),
        (KEY, None, Effect.REFRESH),
        (KEY, PrimaryKey(("user_id",)), Effect.REFRESH),
        (KEY, PrimaryKey(("USER_ID", "price")), None),
        (KEY, PrimaryKey(("price", "user_id")), Effect.TEXT),
        (KEY, PrimaryKey(("user_id", "price"), "pk"), Effect.TEXT),
    ],
)
def test_a_key_changes_by_its_columns(old, new, effect):
    before, after = (declared(constraints=(key,) if key else ()) for key in (old, new))
    found = between(before, after)
    assert [(c.kind, c.effect) for c in found] == (
        [(Changed.PRIMARY_KEY, effect)] if effect else []
    )


def test_checks_are_compared_by_name_and_tokens():
    before = declared(constraints=(Check("price > 0", "positive"), Check("user_id > 0")))
    after = declared(constraints=(Check("user_id  > 0 /* x */"), Check("price > 1", "positive")))
    assert between(before, after) == (
        Change(Changed.CHECK_DROPPED, Effect.STORAGE, " `positive` CHECK (price > 0)"),
        Change(Changed.CHECK_ADDED, Effect.STORAGE, " `positive` CHECK (price > 1)"),
    )


EXAMPLES = [
    (Change(Changed.QUERY, Effect.CONTENT), "The query changed."),
    (Change(Changed.QUERY_TEXT, Effect.TEXT), "The query's text changed, its meaning did not."),
    (
        Change(Changed.COLUMNS_APPENDED, Effect.CONTENT, new=columns("a INT")),
        "Column appended: `a` INT.",
    ),
    (
        Change(Changed.TYPE_WIDENED, Effect.CONTENT, "a", "INT", "BIGINT"),
        "Column `a` widened from INT to BIGINT.",
    ),
    (Change(Changed.NULL_FORBIDDEN, Effect.STORAGE, "a"), "Column `a` no longer allows NULL."),
    (Change(Changed.CLAUSE, Effect.TEXT, "comment", None, "'x'"), "Comment set to 'x'."),
    (
        Change(Changed.COLUMN_COMMENT, Effect.TEXT, "a", "x", None),
        "Comment of column `a` removed, it was 'x'.",
    ),
    (Change(Changed.OPTION, Effect.STORAGE, "k", "1", "2"), "Option 'k' changed from '1' to '2'."),
    (
        Change(Changed.PRIMARY_KEY, Effect.REFRESH, "", None, "(`user_id`, `price`)"),
        "Primary key set to (`user_id`, `price`).",
    ),
    (
        Change(Changed.CHECK_ADDED, Effect.STORAGE, " `c` CHECK (a > 0)"),
        "Constraint `c` CHECK (a > 0) added.",
    ),
    (
        Change(Changed.CHECK_DROPPED, Effect.STORAGE, " CHECK (a > 0)"),
        "Constraint CHECK (a > 0) dropped.",
    ),
    (
        Change(Changed.CLAUSE, Effect.IMPOSSIBLE, "partitioned_by", "(`a`)", None),
        "Partitioning removed, it was (`a`).",
    ),
    (
        Change(Changed.CONF, Effect.CONTENT, "spark.x", "1", "2"),
        "SQL conf spark.x changed from 1 to 2.",
    ),
]


@pytest.mark.parametrize(("change", "sentence"), EXAMPLES)
def test_every_change_is_one_sentence_with_old_and_new(change, sentence):
    assert change.describe() == sentence


names = st.sampled_from(["user_id", "product_id", "price"])
texts = st.text(max_size=8)
definitions = st.builds(
    DeclaredDefinition,
    query=st.sampled_from([QUERY, "SELECT 2", "broken ((", "SELECT 'x"]),
    columns=st.sampled_from(
        [
            (),
            tuple(ColumnSpec(n) for n in "xyz"),
            (
                ColumnSpec("price", "DECIMAL(12,2)", comment="c"),
                ColumnSpec("user_id", "BIGINT", not_null=True),
                ColumnSpec("product_id", "INT"),
            ),
        ]
    ),
    constraints=st.lists(st.builds(Check, texts, st.none() | texts), max_size=2).map(tuple),
    comment=st.none() | texts,
    options=st.dictionaries(texts.filter(lambda k: "." not in k), texts, max_size=3).map(
        lambda d: tuple(sorted(d.items()))
    ),
    freshness=st.none() | st.builds(Freshness, st.integers(1, 100), st.sampled_from(TimeUnit)),
    refresh_mode=st.none() | st.sampled_from(LogicalRefreshMode),
    start_mode=st.none() | st.just(parse_start_mode("RESUME_OR_FROM_BEGINNING")),
    state_retention=st.none() | st.sampled_from(StateRetentionType).map(StateRetention),
)


@given(definitions)
def test_any_definition_equals_itself(definition):
    before = resolve(definition)
    again = changed(before, derived_from=(("enricher", "another"),))
    assert diff(before, before) == ()
    assert diff(before, again) == ()


@given(definitions, definitions)
def test_differing_definitions_have_changes_that_can_be_described(one, other):
    before, after = resolve(one), resolve(other)
    found = diff(before, after)
    assert all(change.describe().endswith(".") for change in found)
    if not found:
        assert diff(after, before) == ()
        assert before.freshness.seconds == after.freshness.seconds
        assert dict(one.options) == dict(other.options)
        assert before.refresh_mode is after.refresh_mode


@given(st.integers(1, 10_000), st.sampled_from(TimeUnit), st.sampled_from(TimeUnit))
def test_a_freshness_in_another_unit_is_the_same(count, unit, other):
    if count * unit.value % other.value == 0:
        converted = Freshness(count * unit.value // other.value, other)
        assert (
            between(declared(freshness=Freshness(count, unit)), declared(freshness=converted)) == ()
        )


def test_a_column_without_name_or_type_change_is_no_mismatch():
    before = resolve(declared())
    assert (
        diff(before, changed(before, columns=tuple(Column(*_lower(c)) for c in before.columns)))
        == ()
    )


def _lower(column):
    return column.name.upper(), column.type.lower()
