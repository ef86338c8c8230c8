from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.spark.formats import iceberg as iceberg_format
from dbt.adapters.spark_mt.spark.iceberg import outcomes
from tests.support.errors import raises
from tests.unit.spark.iceberg import tables_of_snapshots as made

errors = pytest.importorskip("pyspark.errors")
NAME = made.TABLE.name
BEFORE = made.metadata(made.snapshot(1))
OURS = made.metadata(made.snapshot(1), made.snapshot(2))
OTHER = made.metadata(made.snapshot(1), made.snapshot(3))
AFTER_OURS = made.metadata(made.snapshot(1), made.snapshot(2), made.snapshot(3))
UNKNOWN, AWAY = "ICEBERG_COMMIT_STATE_UNKNOWN", "ICEBERG_REST"
CONFLICT, REFUSED = "ICEBERG_COMMIT_FAILED", "BadRequestException"


def failure(condition):
    return errors.PySparkException("text", errorClass=condition, messageParameters={})


class Catalog:
    """A catalog that gives answers in turn; None is none."""

    def __init__(self, *answers):
        self.answers, self.waited = list(answers), []
        self.asked = outcomes.Asked(NAME, "ice", self.read, self.waited.append)

    def read(self):
        found = self.answers.pop(0)
        if found is None:
            raise conditions.CATALOG_UNAVAILABLE(catalog="ice", asked="", problem="away")
        return found


def publish(catalog, condition):
    with outcomes.settled(catalog.asked, lambda: (BEFORE, OURS)):
        raise failure(condition)


@pytest.mark.parametrize("condition", [UNKNOWN, AWAY, CONFLICT, REFUSED])
@pytest.mark.parametrize("found", [OURS, AFTER_OURS])
def test_a_commit_that_the_table_has_is_made_whatever_was_reported(condition, found):
    publish(Catalog(found), condition)


@pytest.mark.parametrize(
    ("condition", "found", "expected"),
    [
        (UNKNOWN, BEFORE, conditions.COMMIT_NOT_MADE),
        (AWAY, OTHER, conditions.COMMIT_NOT_MADE),
        (REFUSED, OTHER, conditions.CONCURRENT_CHANGE),
    ],
)
def test_a_commit_that_the_table_lacks_is_planned_again(condition, found, expected):
    with raises(expected) as failed:
        publish(Catalog(found), condition)
    assert failed.value.parameters["table"] == str(NAME)


@pytest.mark.parametrize(
    ("condition", "found"), [(REFUSED, BEFORE), (CONFLICT, BEFORE), (CONFLICT, OTHER)]
)
def test_what_the_catalog_reports_of_a_commit_that_the_table_lacks_passes(condition, found):
    with pytest.raises(errors.PySparkException) as failed:
        publish(Catalog(found), condition)
    assert failed.value.getCondition() == condition


def test_a_catalog_that_is_away_for_a_moment_is_asked_again():
    catalog = Catalog(None, None, OURS)
    publish(catalog, UNKNOWN)
    assert catalog.waited == [0.0, 0.5, 1.0]


def test_a_catalog_that_never_answers_leaves_the_outcome_unknown():
    catalog = Catalog(*[None] * 9)
    with raises(conditions.OUTCOME_UNKNOWN) as failed:
        publish(catalog, UNKNOWN)
    assert failed.value.parameters["gone"] == "The catalog ice"
    assert len(catalog.waited) == 5


@pytest.mark.parametrize("condition", ["SPARK_JOB_CANCELLED", "UNAVAILABLE"])
def test_no_catalog_is_asked_where_the_statement_or_spark_ended(condition):
    with pytest.raises(errors.PySparkException):
        publish(Catalog(), condition)


def test_a_commit_of_properties_is_made_where_the_table_has_them():
    wanted = made.metadata(made.snapshot(1), properties={"a": "1"})
    assert outcomes.is_made(wanted, BEFORE, wanted)
    assert not outcomes.is_made(BEFORE, BEFORE, wanted)
    later = made.metadata(made.snapshot(1), made.snapshot(2), properties={"a": "1"})
    assert not outcomes.is_made(later, BEFORE, wanted)
    assert not outcomes.is_made(None, BEFORE, wanted)


MINE = made.metadata(made.snapshot(1, {**made.APPEND, iceberg_format.COMMIT: "mine"}))


def create(catalog, condition):
    with outcomes.settled_creation(catalog.asked, "mine"):
        raise failure(condition)


@pytest.mark.parametrize("condition", [UNKNOWN, AWAY, "TABLE_OR_VIEW_ALREADY_EXISTS"])
def test_a_table_with_our_metadata_was_created(condition):
    create(Catalog(MINE), condition)


@pytest.mark.parametrize("condition", [UNKNOWN, AWAY])
def test_a_table_that_was_not_created_is_created_again(condition):
    with raises(conditions.COMMIT_NOT_MADE):
        create(Catalog(OTHER), condition)


@pytest.mark.parametrize("condition", ["TABLE_OR_VIEW_ALREADY_EXISTS", "DIVIDE_BY_ZERO"])
def test_other_failures_of_a_creation_stay_what_they_are(condition):
    with pytest.raises(errors.PySparkException) as failed:
        create(Catalog(OTHER), condition)
    assert failed.value.getCondition() == condition


@pytest.mark.parametrize(("condition", "times"), [(UNKNOWN, 3), (AWAY, 3), (CONFLICT, 1)])
def test_a_write_that_may_be_made_twice_is_made_again(condition, times):
    seen, waited = [], []

    def write():
        seen.append(1)
        if len(seen) < 3:
            raise failure(condition)

    if times == 1:
        with pytest.raises(errors.PySparkException):
            outcomes.repeated(write, waited.append)
    else:
        outcomes.repeated(write, waited.append)
    assert (len(seen), waited) == (times, [0.5, 1.0][: times - 1])


def test_a_write_fails_after_five_attempts():
    seen = []

    def write():
        seen.append(1)
        raise failure(UNKNOWN)

    with pytest.raises(errors.PySparkException):
        outcomes.repeated(write, lambda _: None)
    assert len(seen) == 5
