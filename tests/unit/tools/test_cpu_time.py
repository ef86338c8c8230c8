"""CPU time of tests in a report of pytest."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tools.run_suites import PROPERTY, timed_tests

ROOT = Path(__file__).parents[3]
TESTS = """
import subprocess, sys, time

BUSY = "import time; ends = time.process_time() + 0.3\\nwhile time.process_time() < ends: pass"

def test_idle():
    time.sleep(0.3)

def test_busy():
    exec(BUSY)

def test_a_process_that_ended():
    subprocess.run([sys.executable, "-c", BUSY], check=True)

def test_a_process_that_still_runs():
    code = BUSY + "\\nprint(flush=True); time.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    process.stdout.readline()

def test_that_fails():
    exec(BUSY)
    assert False
"""


def test_each_test_has_its_cpu_time_and_that_of_its_processes(tmp_path):
    (tmp_path / "test_some.py").write_text(TESTS, encoding="utf-8")
    report = tmp_path / "report.xml"
    options = ("-q", "-p", "tools.cpu_time", f"--junitxml={report}", "-p", "no:cacheprovider")
    subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "pytest", *options, f"--rootdir={tmp_path}", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    assert PROPERTY in report.read_text(encoding="utf-8")
    found = {test.name: test.cpu for test in timed_tests([report])}
    assert len(found) == 5
    assert found.pop("test_idle") < 0.2
    assert all(0.25 < cpu < 2 for cpu in found.values()), found
