"""What the runner of suites runs in parallel, shows and returns."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tools import run_suites
from tools.run_suites import Ended, Lanes

ROOT = Path(__file__).parents[3]
SUITE = """
import os, pathlib, sys, time
kind, folder = sys.argv[2], pathlib.Path(sys.argv[1])
print(f"output of {kind}", flush=True)
if kind.startswith("meet"):
    (folder / kind).touch()
    other = folder / ("meet2" if kind == "meet1" else "meet1")
    ends = time.monotonic() + 60
    while not other.exists():
        if time.monotonic() > ends:
            sys.exit(9)
        time.sleep(0.01)
if kind == "alone":
    others = list(folder.glob("running*"))
    (folder / "running").touch()
    time.sleep(0.05)
    (folder / "running").unlink()
    sys.exit(9 if others else 0)
if kind == "waits":
    (folder / "waits").touch()
    time.sleep(60)
print(f"closing line of {kind}")
print()
sys.exit({"fails": 1, "empty": 5}.get(kind, 0))
"""
"""A suite that ends with 9 where it did not find what it expected."""


@pytest.fixture
def lanes(tmp_path):
    command = (sys.executable, "-c", SUITE, str(tmp_path))
    return lambda count: Lanes(count, command, tmp_path / "outputs")


def test_suites_of_two_lanes_run_in_parallel(lanes):
    assert [each.code for each in lanes(2).run(["meet1", "meet2"])] == [0, 0]


def test_suites_of_one_lane_run_one_after_another(lanes):
    assert [each.code for each in lanes(1).run(["alone", "alone"])] == [0, 0]


@pytest.fixture
def reports(tmp_path):
    """Reports of two suites, as pytest writes them; a third suite was killed."""
    for name, cases in {
        "a": [("t.a", "x", 0.5, 0.25), ("t.a", "y", 2.0, 3)],
        "b": [("t.b", "z", 1, 0)],
    }.items():
        of = (
            f'<testcase classname="{c}" name="{n}" time="{s}"><properties>'
            f'<property name="cpu" value="{cpu}"/><property name="other" value="x"/>'
            "</properties></testcase>"
            for c, n, s, cpu in cases
        )
        report = f"<testsuites><testsuite>{''.join(of)}</testsuite></testsuites>"
        (tmp_path / f"{name}.xml").write_text(report, encoding="utf-8")
    return [tmp_path / f"{name}.xml" for name in ("a", "b", "killed")]


def test_durations_are_those_of_tests_and_of_their_files(reports):
    assert run_suites.durations(reports, most=2).split("\n") == [
        "    3.5 s     3.2 s CPU  3 tests",
        "",
        "    2.5 s     3.2 s CPU  t.a",
        "    1.0 s     0.0 s CPU  t.b",
        "",
        "    2.0 s     3.0 s CPU  t.a::y",
        "    1.0 s     0.0 s CPU  t.b::z",
        "",
    ]


@pytest.fixture
def record(tmp_path, monkeypatch):
    """The recorded durations, in a file of this test."""
    file = tmp_path / "durations.json"
    file.write_text("{}", encoding="utf-8")
    monkeypatch.setattr(run_suites, "RECORD", file)
    monkeypatch.setattr(run_suites, "OUTPUTS", tmp_path)
    return file


def test_the_longest_jobs_of_the_recorded_run_start_first(record):
    figures = {"short": 9, "long": 70, "middle": 30}
    record.write_text(json.dumps({name: {"seconds": s} for name, s in figures.items()}))
    named = ["short", "new", "middle", "long"]
    assert run_suites.longest_first(named) == ["new", "long", "middle", "short"]


def test_the_figures_of_the_last_run_can_be_recorded(reports, record, tmp_path):
    lanes = Lanes(2, (), tmp_path)
    run_suites.note([Ended("other", 0, "2 passed", 3.6)], lanes)
    ended = [Ended("a", 0, "2 passed", 3.6), Ended("b", 0, "1 passed", 9.1)]
    run_suites.note([*ended, Ended("make:lint", 0, "", 4.0)], lanes)
    assert reports
    assert json.loads(record.read_text()) == {}
    assert run_suites.main(["--record"]) == 0
    assert json.loads(record.read_text()) == {
        "b": {"seconds": 9, "cpu": 0, "tests": 1},
        "a": {"seconds": 4, "cpu": 3, "tests": 2},
        "make:lint": {"seconds": 4, "cpu": 0, "tests": 0},
    }
    assert list(json.loads(record.read_text())) == ["b", "a", "make:lint"]


def test_targets_of_make_are_jobs_too(lanes, tmp_path, monkeypatch):
    text = "one:\n\t@echo made one\ntwo:\n\t@echo made two\nbad:\n\t@false\n"
    (tmp_path / "Makefile").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    both, bad = lanes(2).run(["make:one,two", "make:bad"])
    assert (both.code, both.closing, both.failed) == (0, "made two", False)
    assert bad.failed


def test_a_suite_leaves_its_durations(tmp_path, monkeypatch, capfdbinary):
    suite = tmp_path / "test_one.py"
    suite.write_text("def test_nothing(): pass\n", encoding="utf-8")
    monkeypatch.setattr(run_suites, "PYTEST", (sys.executable, "-m", "pytest", "-q"))
    monkeypatch.setattr(run_suites, "OUTPUTS", tmp_path / "outputs")
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    assert run_suites.main(["--lanes", "2", "--", str(suite)]) == 0
    assert b"test_one::test_nothing" in capfdbinary.readouterr().out
    assert run_suites.main(["--durations"]) == 0
    assert b"test_one::test_nothing" in capfdbinary.readouterr().out


@pytest.mark.parametrize("count", [1, 2])
def test_a_failure_ends_no_other_suite(lanes, count, capfdbinary):
    fails, passes, empty = lanes(count).run(["fails", "passes", "empty"])
    assert [fails.failed, passes.failed, empty.failed] == [True, False, False]
    assert [fails.closing, passes.closing] == ["closing line of fails", "closing line of passes"]
    shown = capfdbinary.readouterr().out.decode()
    for suite in ("fails", "passes", "empty"):
        assert f"== {suite}\noutput of {suite}\nclosing line of {suite}\n" in shown


def test_the_last_lines_name_each_suite_with_its_duration():
    line = str(Ended("tests/unit", 0, "3 passed", 61.4))
    assert line.split() == ["tests/unit", "61", "s", "3", "passed"]


def test_the_exit_code_reports_a_failure(monkeypatch, tmp_path):
    monkeypatch.setattr(run_suites, "PYTEST", (sys.executable, "-c", SUITE, str(tmp_path)))
    monkeypatch.setattr(run_suites, "OUTPUTS", tmp_path / "outputs")
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    assert run_suites.main(["--lanes", "2", "--", "passes", "empty"]) == 0
    assert run_suites.main(["--", "passes", "fails"]) == 1


def test_a_signal_ends_the_suites_and_shows_what_they_wrote(tmp_path):
    code = f"""
import signal
from pathlib import Path
from tools.run_suites import Lanes
command = {(sys.executable, "-c", SUITE, str(tmp_path))!r}
lanes = Lanes(2, command, Path({str(tmp_path)!r}))
signal.signal(signal.SIGTERM, lambda number, _: lanes.stop(number))
lanes.run(["waits"])
"""
    command = [sys.executable, "-c", code]
    runner = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)  # noqa: S603 - as above
    while not (tmp_path / "waits").exists():
        assert runner.poll() is None
    os.kill(runner.pid, signal.SIGTERM)
    shown, _ = runner.communicate(timeout=30)
    assert runner.returncode == -signal.SIGTERM
    assert shown == b"== waits\noutput of waits\n"
