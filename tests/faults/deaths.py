"""Processes that must kill themselves, and the processes after them, which must not."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.faults.server import ROOT

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

_TIMEOUT_S = 300


def run(module: str, directory: Path, plan: str, chance: Random) -> None:
    """Run a module that kills its process as planned; without a plan it must end without a failure.

    Args:
        module: The name of the module.
        directory: Where it works, and finds what the process before left.
        plan: What it does, and at which moment it dies; empty for a process that only settles.
        chance: Seeds it.
    """
    command = [sys.executable, "-m", module, str(directory), plan]
    done = subprocess.run(  # noqa: S603 - our own command
        [*command, f"{chance.random()}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    assert done.returncode == (-signal.SIGKILL if plan else 0), done.stderr[-4000:]
