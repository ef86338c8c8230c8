from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import CommitConflictError
from dbt.adapters.spark_mt.spark.formats import iceberg as iceberg_format
from dbt.adapters.spark_mt.spark.iceberg import outcomes
from dbt.adapters.spark_mt.spark.iceberg.branch_transactions import (
    BranchTransaction,
    before_move,
    unpublishable,
)
from tests.support.errors import raises
from tests.unit.spark.iceberg import tables_of_snapshots as made

T = made.TABLE.name


def branches(**ids):
    known = {name: {"snapshot-id": id_, "type": "branch"} for name, id_ in ids.items()}
    return {"refs": {**known, "a_tag": {"snapshot-id": 10, "type": "tag"}}}


class Catalog:
    """A table whose `main` is at a snapshot, and the branch of a write."""

    def __init__(self, previous=20, **properties):
        self.statements, self.previous, self.head, self.tip = [], previous, 2, None
        self.properties = properties
        self.schemas = [made.SCHEMA]

    def read(self, _):
        refs = {} if self.tip is None else branches(**{self.branch: self.tip * 10})
        snapshots = [made.snapshot(n) for n in (1, 2, 3)]
        return made.metadata(
            *snapshots, head=self.head, properties=self.properties, schemas=self.schemas, **refs
        )

    def sql(self, statement):
        self.statements.append(statement)
        if "CREATE BRANCH" in statement:
            self.branch = statement.split("`")[-2]
        if statement.startswith("INSERT"):
            self.tip = 3
        if "fast_forward" in statement:
            self.head = self.tip
        return self

    def collect(self):
        return [{"previous_ref": self.previous}]


def begin(catalog):
    return BranchTransaction.begin(catalog.read, catalog, T)


def written(catalog):
    begun = begin(catalog)
    begun.execute(lambda table: f"INSERT INTO {table} SELECT 1")
    begun.change_properties({"fence": "7"})
    return begun


def test_a_write_goes_to_a_branch_of_the_newest_snapshot_and_main_moves_there():
    catalog = Catalog()
    assert written(catalog).publish() == 3
    made_branch, insert, move, fence, dropped = catalog.statements
    assert made_branch.startswith(f"ALTER TABLE {T.sql} CREATE BRANCH `{iceberg_format.BRANCH}")
    assert made_branch.endswith("AS OF VERSION 20")
    assert insert == f"INSERT INTO {T.sql}.`branch_{catalog.branch}` SELECT 1"
    assert move == (
        "CALL `ice`.system.fast_forward(table => '`s`.`t`', branch => 'main', "
        f"to => '{catalog.branch}')"
    )
    assert fence == f"ALTER TABLE {T.sql} SET TBLPROPERTIES ('fence' = '7')"
    assert dropped == f"ALTER TABLE {T.sql} DROP BRANCH IF EXISTS `{catalog.branch}`"


def test_a_rollback_that_was_undone_is_an_error_after_everything_is_done():
    catalog = Catalog(previous=10)
    with raises(iceberg_format.ROLLBACK_UNDONE) as raised:
        written(catalog).publish()
    known = raised.value.parameters
    assert (known["expected"], known["previous"], known["ours"]) == ("20", "10", "30")
    assert known["statement"] == "CALL `ice`.system.rollback_to_snapshot('`s`.`t`', 10)"
    assert "DROP BRANCH" in catalog.statements[-1]


def test_a_moved_main_and_other_columns_are_conflicts_before_it_moves():
    other = {"schema-id": 0, "fields": made.SCHEMA["fields"][:1]}
    for changes in ({"head": 1}, {"schemas": [other]}):
        catalog = Catalog()
        begun = written(catalog)
        vars(catalog).update(changes)
        with pytest.raises(CommitConflictError):
            begun.publish()
        begun.abandon()
        assert not [each for each in catalog.statements if "fast_forward" in each]
        assert "DROP BRANCH" in catalog.statements[-1]


OTHER = {"schema-id": 0, "fields": made.SCHEMA["fields"][:1]}


class SparkError(Exception):
    """What Spark raises, by its module."""

    __module__ = "pyspark.errors"


class Failing(Catalog):
    """A table that another program changes before a statement, which fails."""

    def __init__(self, phrase, **changes):
        super().__init__()
        self._phrase, self._changes = phrase, changes

    def sql(self, statement):
        if self._phrase in statement:
            vars(self).update(self._changes)
            raise SparkError
        return super().sql(statement)


@pytest.mark.parametrize(
    ("phrase", "changes", "is_conflict"),
    [
        ("CREATE BRANCH", {"head": 1}, True),
        ("CREATE BRANCH", {}, False),
        ("INSERT", {"tip": None}, True),
        ("INSERT", {"tip": 2}, False),
        ("INSERT", {"tip": 2, "schemas": [OTHER]}, True),
        ("fast_forward", {"head": 1}, True),
        ("fast_forward", {}, False),
    ],
)
def test_a_statement_that_another_program_lets_fail_is_a_conflict(phrase, changes, is_conflict):
    with pytest.raises(CommitConflictError if is_conflict else SparkError):
        written(Failing(phrase, **changes)).publish()


def test_a_publication_whose_answer_is_lost_is_found():
    class Lost(Catalog):
        def collect(self):
            raise SparkError

    assert written(Lost()).publish() == 3


class CommitFailedError(SparkError):
    """What Iceberg's CommitFailedException becomes."""

    __module__ = "pyspark.errors"

    def getCondition(self):  # noqa: N802 - of PySpark
        return "ICEBERG_COMMIT_FAILED"

    def getSqlState(self):  # noqa: N802 - of PySpark
        return ""

    def getQueryContext(self):  # noqa: N802 - of PySpark
        return ()


class AwayError(CommitFailedError):
    """What a REST catalog's error becomes that does not answer."""

    __module__ = "pyspark.errors"

    def getCondition(self):  # noqa: N802 - of PySpark
        return "ICEBERG_REST"


class Away(Catalog):
    """A catalog that is away when `main` is to move, and that later answers or does not."""

    def __init__(self, *, is_made, answers):
        super().__init__()
        self.is_made, self.answers, self.is_away = is_made, answers, False

    def read(self, name):
        if self.is_away and not self.answers:
            raise conditions.CATALOG_UNAVAILABLE(catalog="ice", asked="", problem="away")
        return super().read(name)

    def sql(self, statement):
        if "fast_forward" in statement:
            self.is_away = True
            if self.is_made:
                super().sql(statement)
            raise AwayError
        return super().sql(statement)


@pytest.mark.parametrize("is_made", [True, False])
@pytest.mark.parametrize("answers", [True, False])
def test_a_catalog_that_is_away_is_asked_whether_main_has_moved(is_made, answers, monkeypatch):
    monkeypatch.setattr(outcomes, "_PAUSES_S", (0.0,))
    begun = written(Away(is_made=is_made, answers=answers))
    if answers and is_made:
        assert begun.publish() == 3
        return
    with raises(conditions.COMMIT_NOT_MADE if answers else conditions.OUTCOME_UNKNOWN):
        begun.publish()


@pytest.mark.parametrize("phrase", ["CREATE BRANCH", "fast_forward", "SET TBLPROPERTIES"])
def test_a_change_of_other_metadata_lets_a_statement_run_again(phrase, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda _: None)

    class Contended(Catalog):
        failures = 0

        def sql(self, statement):
            if phrase in statement and self.failures < 2:
                self.failures += 1
                raise CommitFailedError
            return super().sql(statement)

    catalog = Contended()
    assert written(catalog).publish() == 3
    assert catalog.failures == 2


def test_properties_alone_need_no_branch():
    catalog = Catalog()
    begun = begin(catalog)
    begun.change_properties({"a": "1"}, ["b"])
    assert begun.publish() == 2
    begun.abandon()
    assert [each.split(" ", 3)[3] for each in catalog.statements] == [
        "SET TBLPROPERTIES ('a' = '1')",
        "UNSET TBLPROPERTIES IF EXISTS ('b')",
    ]


def test_a_table_with_a_strict_fence_is_refused_before_a_statement():
    catalog = Catalog(**{"strict-fence": "True"})
    with raises(conditions.FORMAT_FEATURE):
        begin(catalog)
    assert catalog.statements == []


def test_a_column_cannot_be_made_not_null():
    begun = begin(Catalog())
    with raises(conditions.FORMAT_FEATURE):
        begun.change_nullability("k", is_nullable=False)


def test_branches_of_ours_that_main_has_left_cannot_be_published():
    snapshots = [made.snapshot(1), made.snapshot(2), made.snapshot(3, parent=1)]
    at_head, before, aside = (f"{iceberg_format.BRANCH}{digit * 32}" for digit in "123")
    names = branches(
        main=20,
        **{at_head: 20, before: 10, aside: 30, f"{iceberg_format.BRANCH}of_user": 10, "other": 10},
    )
    found = made.metadata(*snapshots, head=2, **names)
    assert unpublishable(found, found.head) == [before, aside]
    assert unpublishable(found, None) == []


def test_where_main_was_before_it_moved_to_a_snapshot_is_in_its_log():
    found = made.metadata(made.snapshot(1), made.snapshot(2))
    assert before_move(found, found.at(2)) == 10
    assert before_move(found, found.at(1)) == 0
