"""Rows that a refresh by changes keeps in its session."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from dbt.adapters.spark_mt.spark.session import kept_rows, private_session
from dbt.adapters.spark_mt.spark.session.kept_rows import KeptRows, Wanted

EXCLUDED = "spark.sql.optimizer.excludedRules"
ACTIVE = object()
"""The session to which PySpark assigns what a Connect server keeps."""


class Conf(dict):
    """Confs of a session."""

    def set(self, key, value):
        self[key] = value


class Frame:
    """A frame of one row, `(3, 7)`."""

    def __init__(self, session):
        self.session = session
        self._session, self._plan = ACTIVE, SimpleNamespace(_spark_session=ACTIVE)

    def coalesce(self, number):
        assert number > 10_000, "no partition may be merged"
        return self

    def localCheckpoint(self, eager, storageLevel):  # noqa: N802, N803 - of PySpark
        assert not eager
        assert storageLevel.useMemory
        return self

    def persist(self, level):
        assert level.useMemory
        assert self._session is self._plan._spark_session is self.session
        self.session.log.append("persist")
        return self

    def unpersist(self):
        self.session.log.append("unpersist")

    def hint(self, name):
        self.session.log.append(name)
        return self

    def selectExpr(self, *columns):  # noqa: N802
        self.session.log.append((*columns, self.session.conf[ADAPTIVE]))
        return self

    def collect(self):
        width = len(self.session.log[-1]) - 1
        return [(3, 7)[:width]]

    def createOrReplaceTempView(self, name):  # noqa: N802
        self.session.views.append(name)


class Session:
    """A session that writes down what is asked of it."""

    def __init__(self):
        self.conf = Conf({ADAPTIVE: "yes", THRESHOLD: "10485760b"})
        self.views, self.log = [], []

    def sql(self, _):
        return Frame(self)


ADAPTIVE, THRESHOLD = "spark.sql.adaptive.enabled", "spark.sql.autoBroadcastJoinThreshold"


@pytest.fixture
def session(monkeypatch):
    monkeypatch.setattr(private_session, "is_connect", lambda _: True)
    return Session()


def test_rows_that_a_write_keeps_replace_none_that_it_reads(session):
    outer, inner = KeptRows(session), KeptRows(session)
    views = [outer.keep("SELECT 1").view, inner.keep("SELECT 2").view, outer.keep("SELECT 3").view]
    assert len(set(views)) == 3
    assert session.views == views


def test_over_connect_results_are_kept_one_by_one(session):
    kept = KeptRows(session)
    one, named, other = (kept.new_view() for _ in range(3))
    found = kept.keep_all(
        [
            Wanted(("SELECT 1",), one, ("max(w)",)),
            Wanted((f"SELECT * FROM {one}",), named, reads=frozenset({one}), is_named_only=True),
            Wanted((f"SELECT * FROM {named}",), other, reads=frozenset({named})),
        ]
    )
    assert session.views == [one, named, other]
    assert {view: (each.rows, each.measures) for view, each in found.items()} == {
        one: (3, (7,)),
        other: (3, ()),
    }


def test_kept_rows_are_counted_in_one_job_and_released(session):
    kept = KeptRows(session)
    found = kept.keep("SELECT 1", "max(w)")
    assert (found.rows, found.measures) == (3, (7,))
    assert session.log == ["persist", ("count(*)", "max(w)", "false")]
    assert session.conf[ADAPTIVE] == "yes"
    kept.release()
    assert session.log[-1] == "unpersist"


def test_the_source_of_a_merge_is_broadcast_unless_it_is_large_and_never_cached(
    session, monkeypatch
):
    KeptRows(session).keep_source("SELECT 1")
    assert session.log == [("count(*)", "false"), "broadcast"]
    monkeypatch.setattr(kept_rows, "MOST_BROADCAST", 2)
    session.log.clear()
    KeptRows(session).keep_source("SELECT 1")
    assert session.log == [("count(*)", "false")]


@pytest.mark.parametrize(("before", "after"), [("10485760b", "20971520"), ("-1", "-1")])
def test_a_setting_of_the_user_for_broadcasts_stays(session, before, after):
    session.conf[THRESHOLD] = before
    KeptRows(session)
    assert session.conf[THRESHOLD] == after


class BrokenPlanError(Exception):
    """An optimizer's failure by a rule."""

    def __init__(self, rule):
        self.broken_rule = rule


def test_a_rule_that_makes_an_invalid_plan_is_left_out(session, monkeypatch):
    """Only for the one query, and not a rule twice: then the failure has another reason."""
    monkeypatch.setattr(
        kept_rows, "is_spark_error", lambda error: isinstance(error, BrokenPlanError)
    )
    monkeypatch.setattr(kept_rows, "failure_of", lambda error: error)
    tried = []
    session.conf[EXCLUDED] = "mine"

    def sql(query):
        tried.append((query, session.conf[EXCLUDED]))
        rules = {"broken otherwise": "", "broken again": "mine"}
        if query == "broken twice" and len(tried) < 3:
            rules = {query: f"rule {len(tried)}"}
        if query in rules:
            raise BrokenPlanError(rules[query])
        return Frame(session)

    monkeypatch.setattr(session, "sql", sql)
    KeptRows(session).keep("broken twice")
    assert [rules for _, rules in tried] == ["mine", "mine,rule 1", "mine,rule 1,rule 2"]
    assert session.conf[EXCLUDED] == "mine"
    for query in "broken otherwise", "broken again":
        tried.clear()
        with pytest.raises(BrokenPlanError):
            KeptRows(session).keep(query)
        assert tried == [(query, "mine")]
    assert session.conf[EXCLUDED] == "mine"
