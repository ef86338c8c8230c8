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
    _run(-signal.SIGKILL if plan else 0, module, str(directory), plan, f"{chance.random()}")


def finish(module: str, *arguments: str) -> None:
    """Run a module that must end without a failure."""
    _run(0, module, *arguments)


def _run(expected: int, module: str, *arguments: str) -> None:
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    assert done.returncode == expected, (done.stdout, done.stderr[-4000:])
