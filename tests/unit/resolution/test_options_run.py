import pytest

from dbt.adapters.spark_mt.resolution.options import (
    InvalidRunOptionsError,
    check_run_options,
    session_confs,
)

GOOD = (
    ("continuous.trigger-interval", "30 s"),
    ("maxFilesPerTrigger", "10"),
    ("spark.sql.shuffle.partitions", "4"),
)


def test_run_options_that_say_how():
    check_run_options("t", GOOD)
    assert session_confs(GOOD) == {"spark.sql.shuffle.partitions": "4"}


@pytest.mark.parametrize(
    "option",
    [
        ("spark.sql.ansi.enabled", "true"),
        ("spark.sql.legacy.timeParserPolicy", "LEGACY"),
        ("spark.sql.session.timeZone", "UTC"),
        ("continuous.trigger-interval", "0 s"),
        ("continuous.trigger-interval", "soon"),
        ("maxFilesPerTrigger", "0"),
        ("maxFilesPerTrigger", "-1"),
        ("maxfilespertrigger", "1"),
        ("schema.type-widening", "true"),
        ("spark.executor.memory", "1g"),
    ],
)
def test_what_is_no_run_option(option):
    with pytest.raises(InvalidRunOptionsError) as error:
        check_run_options("s.t", (option,))
    assert (len(error.value.violations), error.value.parameters["table"]) == (1, "s.t")


def test_every_violation_is_named():
    with pytest.raises(InvalidRunOptionsError) as error:
        check_run_options("t", (("a", "1"), ("b", "2"), GOOD[0], GOOD[0]))
    assert len(error.value.violations) == 3
