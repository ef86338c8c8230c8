"""What goes wrong in words for people."""

import pytest

from dbt.adapters.spark_mt.execution.errors import TableNotFoundError, problem_of


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        (OSError("[TASK_WRITE_FAILED] disk full\n\nJVM stacktrace:\n\tat java.io"), "disk full"),
        (OSError("\n  first line\nsecond line"), "first line"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (TableNotFoundError(table="t"), "SHOW MATERIALIZED TABLES"),
    ],
)
def test_the_problem_has_no_stack(error, problem):
    said = problem_of(error)
    assert problem in said
    assert "at java.io" not in said
    assert "second line" not in said
