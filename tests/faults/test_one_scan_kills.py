"""Drivers are killed between the steps of the transaction that replaces rows by one scan.

`ONE_SCAN_KILLS` says how often; 200 take more than an hour.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from itertools import cycle, islice

from tests.faults.one_scan import STAGES
from tests.faults.server import ROOT

_KILLS = int(os.environ.get("ONE_SCAN_KILLS", "8"))
_TIMEOUT_S = 300


def test_drivers_are_killed_in_the_transaction(tmp_path, chance, kills):
    for stage in (*islice(cycle(STAGES), _KILLS), ""):
        command = [sys.executable, "-m", "tests.faults.one_scan", str(tmp_path), stage]
        done = subprocess.run(  # noqa: S603 - our own command
            [*command, f"{chance.random()}"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
        assert done.returncode == (-signal.SIGKILL if stage else 0), done.stderr[-4000:]
        if stage:
            kills["one scan", f"driver at {stage}"] += 1
