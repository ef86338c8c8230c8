"""What goes wrong in words for people."""

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.execution.errors import problem_of


class OfJavaError(Exception):
    """As py4j's: its text says which call failed, and then what was thrown."""

    java_exception = object()

    def __str__(self):
        return f"An error occurred while calling o7261.sql.\n: {self.args[0]}\n\tat java.io"


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        (
            OfJavaError("java.io.IOException: disk full\nsecond line"),
            "java.io.IOException: disk full",
        ),
        (OfJavaError("java.lang.InterruptedException"), "java.lang.InterruptedException"),
        (OSError("[TASK_WRITE_FAILED] disk full\n\nJVM stacktrace:\n\tat java.io"), "disk full"),
        (OSError("\n  first line\nsecond line"), "first line"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (conditions.NOT_FOUND(table="t"), "SHOW MATERIALIZED TABLES"),
    ],
)
def test_the_problem_has_no_stack(error, problem):
    said = problem_of(error)
    assert problem in said
    assert "at java.io" not in said
    assert "second line" not in said
    assert "o7261" not in said
