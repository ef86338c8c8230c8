"""Whole JVMs are killed; the next one, on the same metastore and files, settles what is left."""

from __future__ import annotations

import signal
import subprocess
import sys

from tests.faults.jvm import KILLED
from tests.faults.plans import PLANS
from tests.faults.server import ROOT

_TIMEOUT_S = 300


def test_jvms_are_killed(tmp_path, chance, kills):
    for plan in (*PLANS, ""):
        command = [sys.executable, "-m", "tests.faults.jvm", str(tmp_path), plan]
        done = subprocess.run(  # noqa: S603 - our own command
            [*command, f"{chance.random()}"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
        assert done.returncode == (-signal.SIGKILL if plan else 0), done.stderr[-4000:]
        if plan:
            kills[plan, f"JVM {(tmp_path / KILLED).read_text()}"] += 1
