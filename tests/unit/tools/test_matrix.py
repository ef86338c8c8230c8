"""The lanes of the matrix: they cover what is supported, their tests exist, and all of them ran."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from dbt.adapters.spark_mt.definition.releases import DBT, JAVA, PYTHON, minor_of
from dbt.adapters.spark_mt.spark.delta.releases import PAIRS
from tools.matrix import environments, results
from tools.matrix.__main__ import Ended, main
from tools.matrix.environments import AbsentError
from tools.matrix.lanes import CORE, ICEBERG, LANES, Lane, Resolution
from tools.matrix.results import Outcomes, Result

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
SUPPORTED = [lane for lane in LANES if lane.excluded is None]
RECORDED = results.read()
RESULT = Result("oldest", "2026-11-27", {"python": "3.10.1"}, Outcomes(3), 10, 2)


def range_of(name: str) -> SpecifierSet:
    """The versions of a package that pyproject.toml allows."""
    found = [Requirement(each) for each in PROJECT["dependencies"]]
    (requirement,) = [each for each in found if each.name == name]
    return requirement.specifier


def after(minor: str) -> str:
    """The minor version after one."""
    major, _, number = minor.partition(".")
    return f"{major}.{int(number) + 1}"


def test_lanes_run_with_each_python_dbt_java_and_delta_that_is_supported():
    assert {lane.python for lane in SUPPORTED} == set(PYTHON)
    assert {minor_of(lane.dbt) for lane in SUPPORTED} == set(DBT)
    tested = {(minor_of(lane.pyspark), minor_of(lane.delta_version)) for lane in SUPPORTED}
    assert tested == {(pair.spark, delta) for pair in PAIRS for delta in pair.deltas}
    assert {pair.package for pair in PAIRS} <= {lane.delta for lane in SUPPORTED}
    newest = {java for _, java in JAVA.values()}
    assert {lane.java for lane in LANES} - {None} <= newest
    assert {lane.resolution for lane in SUPPORTED} == set(Resolution)


@pytest.mark.parametrize(
    ("name", "minors"),
    [("dbt-core", DBT), ("pyspark", tuple(pair.spark for pair in PAIRS))],
)
def test_the_ranges_of_packages_are_those_of_the_lanes(name, minors):
    assert range_of(name) == SpecifierSet(f">={minors[0]},<{after(minors[-1])}")
    field = {"dbt-core": "dbt", "pyspark": "pyspark"}[name]
    for lane in LANES:
        is_inside = range_of(name).contains(getattr(lane, field))
        assert is_inside or lane.excluded is not None


def test_the_range_of_python_is_that_of_the_lanes():
    assert PROJECT["requires-python"] == f">={PYTHON[0]},<{after(PYTHON[-1])}"
    prefix = "Programming Language :: Python :: "
    named = [each.removeprefix(prefix) for each in PROJECT["classifiers"] if prefix in each]
    assert named == ["3", *PYTHON]


def test_sqlglot_has_no_release_outside_of_those_that_ran():
    """Its minor releases read SQL in other ways, which changes the tree of a query."""
    for result in RECORDED.values():
        assert range_of("sqlglot").contains(result.installed["sqlglot"]), result.lane


def test_the_oldest_lane_has_the_oldest_package_that_is_allowed():
    (oldest,) = [lane for lane in LANES if lane.resolution is Resolution.LOWEST]
    assert oldest.python == PYTHON[0]
    assert minor_of(oldest.dbt) == DBT[0]
    assert oldest.pyspark == f"{PAIRS[0].spark}.0"


def functions(path: Path) -> set[str]:
    """The tests of a module, with and without the names of their classes."""
    tree = ast.parse(path.read_text("utf-8"))
    found = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            found |= {
                f"{node.name}::{each.name}"
                for each in node.body
                if isinstance(each, ast.FunctionDef)
            }
    return found


@pytest.mark.parametrize(("suite", "tests"), [*CORE.items(), *ICEBERG.items()])
def test_the_tests_of_a_suite_exist(suite, tests):
    for chosen in tests:
        module, _, name = chosen.partition("::")
        found = functions(ROOT / suite / module)
        assert not name or name.partition("[")[0] in found


@pytest.mark.parametrize("lane", SUPPORTED, ids=lambda lane: lane.name)
def test_each_lane_that_is_supported_has_passed(lane):
    assert lane.name in RECORDED, f"run make matrix MATRIX_LANES={lane.name}"
    result = RECORDED[lane.name]
    assert result.outcomes.is_sound, result.outcomes.failures
    assert 30 <= result.outcomes.passed <= 130
    installed = result.installed
    assert minor_of(installed["python"]) == lane.python
    assert (installed["dbt-core"], installed["pyspark"]) == (lane.dbt, lane.pyspark)
    assert installed["delta"] == lane.delta_version


def test_a_result_takes_the_place_of_the_former_one_of_its_lane(tmp_path):
    record = tmp_path / "results.json"
    results.add(replace(RESULT, lane="newest"), record)
    results.add(replace(RESULT, lane="gone"), record)
    results.add(replace(RESULT, outcomes=Outcomes(1, 2, ("a",))), record)
    results.add(RESULT, record)
    assert list(results.read(record).items()) == [
        ("oldest", RESULT),
        ("newest", replace(RESULT, lane="newest")),
    ]


_REPORT = """<testsuites><testsuite>
<testcase classname="a" name="one"/><testcase classname="a" name="two"><skipped/></testcase>
<testcase classname="a" name="three"><failure/></testcase>
<testcase classname="a" name="four"><error/></testcase>
</testsuite></testsuites>"""


def test_the_report_of_a_suite_is_counted(tmp_path):
    report = tmp_path / "report.xml"
    report.write_text(_REPORT, encoding="utf-8")
    found = results.of_report(report, "suite", 1)
    assert found == Outcomes(1, 1, ("a::three", "a::four"))
    assert str(found + Outcomes(2)) == "3 passed, 2 failed, 1 skipped"


@pytest.mark.parametrize("code", [0, 2, 3, 4, 5, -9])
def test_a_suite_that_did_not_run_to_its_end_failed(tmp_path, code):
    report = tmp_path / "report.xml"
    if code:
        report.write_text(_REPORT, encoding="utf-8")
    assert not results.of_report(report, "suite", code).is_sound


def test_a_lane_fails_unless_it_is_excluded_or_its_interpreter_is_absent():
    lane = SUPPORTED[0]
    odd = replace(lane, excluded="a reason")
    bad = replace(RESULT, outcomes=Outcomes(3, 0, ("a",)))
    assert Ended(lane, bad).failed
    assert Ended(lane, replace(RESULT, outcomes=Outcomes())).failed
    assert Ended(lane, problem="no such package").failed
    assert not Ended(lane, RESULT).failed
    assert not Ended(odd, bad).failed
    absent = Ended(lane, problem="no Python 2.5", is_absent=True)
    assert not absent.failed
    assert "NOT RUN: no Python 2.5" in str(absent)


def test_a_missing_interpreter_is_reported():
    lane = Lane("odd", "2.5", "1.11.2", "4.1.0", "io.delta:delta-spark_4.1_2.13:4.4.0", "a test")
    with pytest.raises(AbsentError, match=r"no Python 2\.5"):
        environments.Environments().of(lane, {})
    with pytest.raises(AbsentError, match="no Java 7"):
        environments.Environments().of(replace(lane, python="3.11", java="7"), {})


def test_a_lane_that_is_misspelt_is_an_error(capsys):
    with pytest.raises(SystemExit):
        main(["newest-dtb"])
    assert "no lane newest-dtb; the lanes are newest-dbt, oldest" in capsys.readouterr().err
