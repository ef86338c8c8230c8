"""Lanes of the matrix: the sets of releases that the core of the tests runs against."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.spark.delta.releases import delta_package

if TYPE_CHECKING:
    from collections.abc import Mapping


class Resolution(Enum):
    """Which release each package has that a lane does not name."""

    PINNED = "constraints.txt"
    LOWEST = "lowest"
    NEWEST = "newest"


@dataclass(frozen=True, slots=True)
class Lane:
    """A set of releases.

    Args:
        name: The name of its environment.
        python: Minor version of the interpreter.
        dbt: Release of dbt-core.
        pyspark: Release of PySpark.
        delta: Maven coordinates of Delta Lake.
        about: What the lane is for.
        resolution: Which release all other packages have.
        java: Major version of Java; None for the one that Spark finds.
        has_iceberg: Whether the tests of Apache Iceberg run, too.
        excluded: Why these releases are outside the ranges of pyproject.toml; None where they are
            inside. A lane that is excluded may fail.
    """

    name: str
    python: str
    dbt: str
    pyspark: str
    delta: str
    about: str
    resolution: Resolution = Resolution.PINNED
    java: str | None = None
    has_iceberg: bool = False
    excluded: str | None = None

    @property
    def delta_version(self) -> str:
        """The release of Delta Lake."""
        return self.delta.rpartition(":")[2]

    @property
    def suites(self) -> Mapping[str, tuple[str, ...]]:
        """The tests of each suite that it runs."""
        return {**CORE, **ICEBERG} if self.has_iceberg else CORE


_DELTA_4_1 = delta_package("4.1")
_DELTA_4_2 = delta_package("4.2")

LANES = (
    Lane(
        "newest-dbt",
        python="3.11",
        dbt="1.12.6",
        pyspark="4.1.4",
        delta=_DELTA_4_1,
        about="the newest dbt, and Apache Iceberg; CI runs the part of Iceberg, dbt 1.12 included",
        has_iceberg=True,
    ),
    Lane(
        "oldest",
        python="3.10",
        dbt="1.11.2",
        pyspark="4.1.0",
        delta="io.delta:delta-spark_4.1_2.13:4.2.0",
        about="the oldest release of each package; Amazon EMR 8.1 has this Delta Lake",
        resolution=Resolution.LOWEST,
    ),
    Lane(
        "newest",
        python="3.13",
        dbt="1.12.6",
        pyspark="4.2.1",
        delta=_DELTA_4_2,
        about="the newest release of each package",
        resolution=Resolution.NEWEST,
    ),
    Lane(
        "spark-4.1",
        python="3.12",
        dbt="1.11.16",
        pyspark="4.1.4",
        delta=_DELTA_4_1,
        about="the newest Spark 4.1",
    ),
    Lane(
        "delta-4.3",
        python="3.10",
        dbt="1.12.6",
        pyspark="4.1.4",
        delta="io.delta:delta-spark_4.1_2.13:4.3.1",
        about="the Delta Lake in between",
    ),
    Lane(
        "java-25",
        python="3.12",
        dbt="1.12.6",
        pyspark="4.2.1",
        delta=_DELTA_4_2,
        about="the newest Java",
        java="25",
    ),
    Lane(
        "spark-4.3",
        python="3.13",
        dbt="1.12.6",
        pyspark="4.3.0",
        delta=_DELTA_4_2,
        about="the next Spark, with the Delta Lake for Spark 4.2",
        excluded="a Delta Lake that is made for Spark 4.3",
    ),
    Lane(
        "python-3.14",
        python="3.14",
        dbt="1.12.6",
        pyspark="4.2.1",
        delta=_DELTA_4_2,
        about="the next Python, which PySpark 4.2 names in its classifiers",
        resolution=Resolution.NEWEST,
        excluded="an interpreter to run it with",
    ),
)
"""Lanes in the order in which they run. The releases of constraints.txt have no lane: CI runs all
tests with them."""

NOT_NEEDED = ("dbt-core-experimental-parser",)
"""Packages that others require and that are left out: dbt's new parser is used on request only, and
downloads a program when it is installed."""

TOOLS = ("dbt-tests-adapter==1.20.0", "httpx", "hypothesis", "pytest>=8")
"""What the tests need besides the package."""

CORE = {
    "tests/matrix/": ("test_releases.py", "test_update.py"),
    "tests/functional/adapter/": (
        "test_basic.py::TestSimpleMaterializations",
        "test_dbt_1_12.py",
        "test_followed_relations.py::TestSnapshot",
        "test_materialized_table.py::TestLife",
        "test_materialized_table.py::TestContract",
        "test_plan.py::TestPlan::test_what_changed_and_what_drifted",
        "test_python_model.py::TestPythonIncremental",
        "test_session.py::TestDebug::test_a_sound_session",
    ),
    "tests/functional/engine/": (
        "test_create.py::test_the_first_commit_holds_rows_and_definition",
        "test_create_or_alter.py::test_appended_columns_and_a_changed_query_fill_the_table_in_one_commit",
        "test_create_or_alter.py::test_all_violations_at_once_and_nothing_touched",
        "test_enabled_sql.py",
        "test_failures.py::test_the_second_of_two_fenced_writers_conflicts",
        *(
            f"test_operator_trees.py::test_queries_of_tpch[{query}]"
            for query in ("q01", "q03", "q05", "q09", "q13", "q17", "q18", "q21")
        ),
        "test_releases.py",
        "test_show_and_describe.py::test_desc",
        "test_show_and_describe.py::test_show_create_is_a_statement_that_changes_nothing",
    ),
    "tests/functional/refreshes/": (
        "test_incremental.py::test_rows_are_those_of_the_query_after_any_change",
        "test_incremental.py::test_partial_sums_follow_the_sources",
        "test_incremental.py::test_only_changed_rows_are_written",
        "test_refresh.py::test_it_runs_when_a_source_has_moved",
        "test_refresh.py::test_cascading_tables",
        "test_source_changes.py::test_appended_rows_are_read_from_their_files_alone",
    ),
    "tests/functional/streams/": (
        "test_hosting.py::TestHosting",
        "test_stateful.py::test_groups_are_kept_by_state",
    ),
    "tests/functional/processes/": (
        "test_plain_sql.py::test_the_life_of_a_table",
        "test_plain_sql.py::test_an_error_over_connect",
        "test_serving.py::test_dbt_works_in_the_spark_of_the_manager",
    ),
    "tests/unit/spark/parser/": ("test_hook.py",),
}
"""The tests of each suite that a lane runs."""

ICEBERG = {
    "tests/iceberg/": (
        "test_connect_tables.py::test_columns_are_appended",
        "test_dbt.py::TestMaterializedTable",
        "test_dbt_1_12.py",
        "test_sources.py::test_changes_of_both_formats_meet_in_a_join",
        "test_sources.py::test_a_merge_on_read_source_is_compared_only_where_the_option_is_strict",
        "test_table_format.py::test_a_commit_of_another_program_before_the_publication_is_a_conflict",
        "test_tables.py::test_each_kind_of_change_is_applied[iceberg-ice]",
        "test_tables.py::test_what_iceberg_cannot_do_is_refused",
    ),
}
"""The same for Apache Iceberg, which few lanes have; `make iceberg` runs all of its tests."""
