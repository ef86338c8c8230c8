"""Kills of processes that host tables; each table continues where its last commit says."""

from __future__ import annotations

import signal
import subprocess
import sys

from tests.faults.hosts import KILLED, PHASES
from tests.faults.server import ROOT

_DEATHS = 10
_TIMEOUT_S = 400


def test_hosts_are_killed(tmp_path, chance, kills):
    for number in range(_DEATHS + 1):
        is_last = number == _DEATHS
        command = [sys.executable, "-m", "tests.faults.hosts", str(tmp_path)]
        done = subprocess.run(  # noqa: S603 - our own command
            [*command, "" if is_last else f"{chance.random()}"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
        assert done.returncode == (0 if is_last else -signal.SIGKILL), done.stderr[-4000:]
        if not is_last:
            phases = (tmp_path / KILLED).read_text().splitlines()
            assert sorted(phases) == sorted(PHASES)
            for phase in phases:
                kills["hosted batch", phase] += 1
