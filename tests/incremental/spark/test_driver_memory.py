"""Refreshes by changes of many rows in a driver with 1 GB of memory."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.faults.server import ROOT

_TIMEOUT_S = 1_200


def test_half_of_the_rows_change_in_a_small_driver(tmp_path):
    command = [sys.executable, "-m", "tests.incremental.spark.small_driver", str(tmp_path)]
    done = subprocess.run(  # noqa: S603 - our own command
        command, cwd=ROOT, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["strategies"] == {"a quarter": "differential", "a half": "differential"}
    assert found["heap"] <= 1024**3
