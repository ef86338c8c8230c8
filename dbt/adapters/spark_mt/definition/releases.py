"""Releases of Python, dbt-core and Java that this package is tested with, and their checks.

`make matrix` runs the tests with them, and docs/compatibility.md has the results. The releases of
Spark and of the table format are listed in the format's own package.
"""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions

if TYPE_CHECKING:
    from collections.abc import Sequence

PYTHON = ("3.10", "3.11", "3.12", "3.13")
"""Minor versions; `requires-python` of pyproject.toml is the same range."""

DBT = ("1.11", "1.12")
"""Minor versions of dbt-core; the dependency in pyproject.toml is the same range."""

JAVA = {"4.1": ("17", "21"), "4.2": ("17", "25")}
"""The oldest and the newest major version for each Spark, as Spark's documentation has them."""

UNTESTED = "SPARK_MT_UNTESTED_RELEASES"
"""The variable of the environment that allows all other releases."""

_MINOR = re.compile(r"\d+\.\d+")
_MAJOR = re.compile(r"(?:1\.)?(?P<major>\d+)")


def minor_of(version: str) -> str:
    """Return `4.2` of versions such as `4.2.0`, `4.2.1-amzn-0` and `4.2.0.dev1`."""
    found = _MINOR.match(version)
    return found[0] if found else version


def is_untested_allowed() -> bool:
    """Whether the user has asked for releases that no test runs with."""
    return os.environ.get(UNTESTED, "").lower() in {"true", "1"}


def listed(versions: Sequence[str]) -> str:
    """Return versions as a text such as `1.11 and 1.12`."""
    *first, last = versions
    return f"{', '.join(first)} and {last}" if first else last


def check_python(version: tuple[int, ...] = sys.version_info[:2]) -> None:
    """Make sure that the package is tested with this interpreter.

    Raises:
        MaterializedTableError: It is not.
    """
    python = ".".join(map(str, version))
    if python not in PYTHON and not is_untested_allowed():
        raise conditions.UNSUPPORTED_PYTHON(
            python=python, supported=listed(PYTHON), newest=PYTHON[-1], variable=UNTESTED
        )


def check_dbt(version: str) -> None:
    """Make sure that the package is tested with a version of dbt-core.

    Raises:
        UnsupportedDbtError: It is not.
    """
    if minor_of(version) not in DBT and not is_untested_allowed():
        raise conditions.UNSUPPORTED_DBT(
            dbt=version, supported=listed(DBT), newest=DBT[-1], variable=UNTESTED
        )


def check_java(version: str, home: object, spark: str) -> None:
    """Make sure that a Spark runs in a Java.

    Args:
        version: Such as `17.0.15`, or `1.8.0_392` as Java wrote it before version 9. Empty where
            it did not say: Spark's start shows why.
        home: Where it is.
        spark: The version of Spark; of one that is not supported, the Java is not checked.

    Raises:
        MaterializedTableError: It does not.
    """
    if not version or minor_of(spark) not in JAVA or is_untested_allowed():
        return
    oldest, newest = JAVA[minor_of(spark)]
    found = _MAJOR.match(version)
    if found is None or not int(oldest) <= int(found["major"]) <= int(newest):
        raise conditions.UNSUPPORTED_JAVA(
            java=version, home=home, spark=spark, oldest=oldest, newest=newest, variable=UNTESTED
        )
