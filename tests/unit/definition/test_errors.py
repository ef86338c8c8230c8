import pytest

from dbt.adapters.spark_mt.definition.conditions import made_again
from dbt.adapters.spark_mt.definition.errors import Condition, Group, MaterializedTableError


class OddTableError(MaterializedTableError):
    """A class that tests catch."""


ODD = Condition(
    OddTableError,
    Group.EXECUTION,
    "TABLE_IS_ODD",
    "A table is odd.",
    text="{table} is odd.",
    remedy="Make {table} even.",
)


def test_holds_the_facts_and_prints_condition_violations_and_remedy():
    error = ODD(table="db.t", violations=["one", "two {braces}"])
    assert error.condition == "TABLE_IS_ODD"
    assert error.parameters == {"table": "db.t"}
    assert error.violations == ("one", "two {braces}")
    assert str(error).splitlines() == [
        "[TABLE_IS_ODD] db.t is odd.",
        "  - one",
        "  - two {braces}",
        "Make db.t even.",
    ]


def test_an_error_has_the_class_of_its_condition():
    with pytest.raises(OddTableError):
        raise ODD(table="db.t")


def test_facts_may_hold_braces():
    assert "{x} is odd" in str(ODD(table="{x}"))


def test_an_error_of_another_process_is_raised_again():
    error = ODD(table="db.t", violations=["one"])
    again = made_again(error.condition, error.parameters, list(error.violations))
    assert type(again) is OddTableError
    assert str(again) == str(error)


def test_an_error_of_an_unknown_condition_is_not_raised_again():
    assert made_again("OTHER", {}, ()) is None
    assert made_again("TABLE_IS_ODD", {"name": "db.t"}, ()) is None
